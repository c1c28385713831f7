"""The parent's side of observation in children, however those were started: their messages, their limits, their end.

A child observes the scenarios of its batch one after the other and sends every observation as soon as it is made. A
child that dies, or outlasts the real-time limit, or is left with a run that would not end, is replaced: the next
child goes on with the next scenario.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import time
from collections import deque
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from pydantic import ValidationError

from looptck.profile import Profile, profile_of

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

OUTPUT_KEPT = 2_000
"""Characters of a child's output that an observation keeps: the last ones."""
MARK = b"\0looptck\x1e\0"
"""What a child prints behind each observed scenario: what comes next belongs to the next one."""
STARTED, LOADED, FINISHED = b"started", b"loaded", b""
"""What a child sends beside observations: its kit is up, its target is there, it has nothing more to say."""
_HEADER = 8
_MAX_MESSAGE = 64 * 1024 * 1024
_REASON = 200

Stage = Literal["starting", "loading", "observing"]
"""What a child is at. Until it observes, nothing that happens is a loop's doing."""
_NEXT: dict[tuple[Stage, bytes], Stage] = {("starting", STARTED): "loading", ("loading", LOADED): "observing"}


@dataclass(slots=True)
class Batch:
    """Scenarios that one child observes in turn. `load` runs in the child; `key` is the caller's."""

    key: int
    load: Callable[[], Any]
    scenarios: Sequence[Any]
    profile: Profile = field(default_factory=lambda: profile_of("ag03"))


@dataclass(slots=True)
class Child:
    """A running child and what it still has to do.

    `messages` and `output` are the descriptors that read what it sends and what it prints, `leash` one that ends it
    when it is closed, `deadline` the time of `time.monotonic` at which it is given up.
    """

    batch: Batch
    place: int
    pid: int
    messages: int
    output: int
    deadline: float
    stage: Stage = "observing"
    leash: int | None = None
    began: int = field(init=False)
    received: bytearray = field(default_factory=bytearray)
    printed: list[bytes] = field(default_factory=lambda: [b""])
    oversized: bool = False
    timed_out: bool = False
    closed: bool = False
    finished: bool = False

    def __post_init__(self) -> None:
        self.began = self.place

    def hear(self, data: bytes) -> None:
        """Keep the end of what it prints, of each scenario apart."""
        parts = (self.printed[-1] + data).split(MARK)
        self.printed[-1:] = [part[-OUTPUT_KEPT:] for part in parts]

    def said(self) -> str:
        """What it printed in the scenario that is over, or in all that is left."""
        part = self.printed.pop(0) if len(self.printed) > 1 else self.printed[0]
        return part.decode("utf-8", "replace")

    def close(self) -> int:
        """Wait for its end, which ends what it started as well. Returns what `reap` does."""
        os.close(self.messages)
        os.close(self.output)
        code = reap(self.pid)
        if self.leash is not None:
            os.close(self.leash)
        return code


def observe_in_children(
    batches: Sequence[Batch], start: Callable[[Batch, int], Child], *, jobs: int, seconds: float
) -> Generator[tuple[Batch, int, Any]]:
    """Observe every scenario of every batch, `jobs` children at a time; yields each observation when it is there.

    With it come its batch and the scenario's place in that. `start` starts a child on a batch from a place on; between
    two of its messages it has `seconds`. Exactly one observation comes for each scenario.
    """
    waiting = deque((batch, 0) for batch in batches)
    with selectors.DefaultSelector() as selector:
        children: dict[int, Child] = {}
        try:
            while waiting or children:
                while waiting and len(children) < jobs:
                    child = start(*waiting.popleft())
                    children[child.pid] = child
                    selector.register(child.messages, selectors.EVENT_READ, child)
                    selector.register(child.output, selectors.EVENT_READ, child)
                yield from _collect(selector, children, waiting, seconds)
        finally:
            for child in children.values():
                kill(child.pid)
            for child in children.values():
                child.close()


def _collect(
    selector: selectors.BaseSelector, children: dict[int, Child], waiting: deque[tuple[Batch, int]], seconds: float
) -> Iterator[tuple[Batch, int, Any]]:
    """Take what arrives next; replace children that are over before their batch is."""
    nearest = min(child.deadline for child in children.values())
    ready = selector.select(max(nearest - time.monotonic(), 0.0))
    # What was printed before an observation was sent belongs to it: outputs are read first.
    for key, _ in sorted(ready, key=lambda item: item[0].fd == item[0].data.messages):
        child: Child = key.data
        data = os.read(key.fd, 65_536)
        if key.fd == child.output:
            child.hear(data)
            if not data:
                selector.unregister(child.output)
        elif data:
            child.received += data
            for observation in _observations(child, seconds):
                yield child.batch, child.place, observation
                child.place += 1
        else:
            child.closed = True
    for child in [child for child in children.values() if child.closed or time.monotonic() >= child.deadline]:
        child.timed_out = not child.closed
        selector.unregister(child.messages)
        with contextlib.suppress(KeyError):
            selector.unregister(child.output)
        del children[child.pid]
        yield from _over(child, waiting, seconds)


def _observations(child: Child, seconds: float) -> Iterator[Any]:
    """The whole observations that have arrived. Bytes that are none end the child, which is then said to have died."""
    for data in _messages(child):
        child.deadline = time.monotonic() + seconds
        if (child.stage, data) in _NEXT:
            child.stage = _NEXT[child.stage, data]
        elif data == FINISHED or child.place == len(child.batch.scenarios):
            child.finished = child.closed = True
            return
        else:
            profile, scenario = child.batch.profile, child.batch.scenarios[child.place]
            try:
                observation = profile.decode(data)
            except ValueError as error:
                observation = unrecordable(profile, scenario, error)
            yield replace(observation, output=child.said())


def _messages(child: Child) -> Iterator[bytes]:
    """The whole messages that have arrived."""
    while len(child.received) >= _HEADER:
        size = int.from_bytes(child.received[:_HEADER], "big")
        if size > _MAX_MESSAGE:
            child.oversized = child.closed = True
            return
        if len(child.received) < _HEADER + size:
            return
        data = bytes(child.received[_HEADER : _HEADER + size])
        del child.received[: _HEADER + size]
        yield data


def send(write: int, data: bytes) -> None:
    """The child's side of `_messages`: write it all."""
    view = memoryview(len(data).to_bytes(_HEADER, "big") + data)
    while view:
        view = view[os.write(write, view) :]


def _over(child: Child, waiting: deque[tuple[Batch, int]], seconds: float) -> Iterator[tuple[Batch, int, Any]]:
    """A child has ended. Where it had not finished, its scenario is observed to have ended it, and the rest goes on."""
    if not child.finished:
        kill(child.pid)
    code = child.close()
    rest = child.batch.scenarios[child.place :]
    if not rest:
        return
    if child.finished and child.place > child.began:  # it stopped on purpose behind a run that would not end
        waiting.append((child.batch, child.place))
        return
    ended = _ended(child, code, rest[0]) if child.stage == "observing" else _unready(child, code, rest[0], seconds)
    yield child.batch, child.place, replace(ended, output=child.said())
    if len(rest) > 1:
        waiting.append((child.batch, child.place + 1))


def _ended(child: Child, code: int, scenario: Any) -> Any:
    """What is said of a scenario whose child ended before it was observed."""
    seen = child.batch.profile.observation
    if child.timed_out:
        return seen(scenario.name, died=child.batch.profile.over_limit, blame="limit")
    if child.oversized:
        why = f"what was seen of the loop fills more than {_MAX_MESSAGE >> 20} MB"
        return seen(scenario.name, died=why, blame="limit")
    if child.finished:
        died = "the loop wrote to a descriptor of the kit's"
        return seen(scenario.name, died=died, blame="loop")
    if code < 0:
        return seen(scenario.name, died=f"the process was ended by signal {_signal(code)}", blame="limit")
    return seen(scenario.name, died=f"the loop ended the process with exit code {code}", blame="loop")


def _unready(child: Child, code: int, scenario: Any, seconds: float) -> Any:
    """What is said of a scenario whose child ended before its target was there."""
    loading = child.stage == "loading"
    if child.timed_out:
        why = late_import(seconds) if loading else "a process of the kit's own did not start in time"
    else:
        how = f"was ended by signal {_signal(code)}" if code < 0 else f"ended with exit code {code}"
        why = f"the process {how} while it imported the target" if loading else f"a process of the kit's own {how}"
    return child.batch.profile.observation(scenario.name, died=why, blame="target" if loading else "kit")


def late_import(seconds: float) -> str:
    """What is said of a target whose import was given up after so many seconds."""
    return f"importing the target took longer than {seconds:g} s"


def _signal(code: int) -> str:
    return signal.Signals(-code).name if -code in set(signal.Signals) else str(-code)


def unrecordable(profile: Profile, scenario: Any, error: ValueError) -> Any:
    """Correct loops hand over values of the contract; those always have a form in JSON."""
    why = str(error.errors()[0]["msg"] if isinstance(error, ValidationError) else error)[:_REASON]
    died = f"the loop handed over a value that has no form in JSON: {why}"
    return profile.observation(scenario.name, died=died, blame="loop")


def kill(pid: int) -> None:
    """End a child and whatever it started that stayed in its process group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):  # the latter where only a zombie is left of it
        os.killpg(pid, signal.SIGKILL)


def reap(pid: int) -> int:
    """Wait for a child that leads a process group; then end what it left behind in that.

    Returns its exit code, or minus the signal that ended it.
    """
    status = os.waitpid(pid, 0)[1]
    kill(pid)
    return os.waitstatus_to_exitcode(status)
