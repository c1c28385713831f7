"""The parent's side of observation in children, however those were started: their messages, their limits, their end.

A child observes the scenarios of its batch one after the other and sends every observation as soon as it is made. A
child that dies, or outlasts the real-time limit, or is left with a run that would not end, is replaced: the next
child goes on with the next scenario.

The loop is in the same process as what sends. So each message begins with a seal, and behind what each scenario prints
comes that seal too: bytes that the parent draws anew for each child. And no child is waited for without an end.
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

from looptck.processes import has_arrived, kill, reap, tell
from looptck.profile import Profile, profile_of

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

OUTPUT_KEPT = 2_000
"""Characters of a child's output that an observation keeps: the last ones."""
CHILD_FAILED, CUT_OFF = 246, 247
"""Exit codes of a child in which something of the kit raised, and of one whose way to the parent the loop has closed.

They are none that a program gives itself.
"""
STARTED, LOADED, FINISHED = b"started", b"loaded", b""
"""What a child sends beside observations: its kit is up, its target is there, it has nothing more to say."""
_SEAL = 16
_HEADER = _SEAL + 8
_MAX_MESSAGE = 64 * 1024 * 1024
_REASON = 200
_PART, _PARTS = 65_536, 1_024
"""Bytes of a read, and reads in a row of what is printed: it is more than fits in a pipe, and not without end."""

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


now = time.monotonic
"""The clock of all deadlines."""


def new_seal() -> bytes:
    """What the messages of one child begin with."""
    return os.urandom(_SEAL)


@dataclass(slots=True)
class Child:
    """A running child and what it still has to do.

    `messages` and `output` are the descriptors that read what it sends and what it prints, `leash` one that ends it
    when it is closed, `deadline` the time of `now` at which it is given up.
    """

    batch: Batch
    place: int
    pid: int
    messages: int
    output: int
    seal: bytes
    deadline: float
    stage: Stage = "observing"
    leash: int | None = None
    received: bytearray = field(default_factory=bytearray)
    printed: list[bytes] = field(default_factory=lambda: [b""])
    oversized: bool = False
    unsealed: bool = False
    timed_out: bool = False
    closed: bool = False
    finished: bool = False

    def __post_init__(self) -> None:
        os.set_blocking(self.output, False)

    def listen(self) -> bool:
        """Take what it has printed by now, and keep the end of it, of each scenario apart. False when all is read."""
        for _ in range(_PARTS):
            try:
                data = os.read(self.output, _PART)
            except BlockingIOError:
                break
            if not data:
                return False
            parts = (self.printed[-1] + data).split(self.seal)
            self.printed[-1:] = [part[-OUTPUT_KEPT:] for part in parts]
        return True

    def said(self) -> str:
        """What it printed in the scenario that is over."""
        part = self.printed.pop(0)
        self.printed = self.printed or [b""]
        return part.decode("utf-8", "replace")

    def said_last(self) -> str:
        """What it printed in all that is left."""
        return b"".join(self.printed)[-OUTPUT_KEPT:].decode("utf-8", "replace")

    def close(self) -> int | None:
        """Wait for its end, which ends what it started as well. Returns what `reap` does."""
        code = reap(self.pid)  # first: it may yet print, and nobody but the loop must seem to close its way out
        for name in ("messages", "output", "leash"):
            self._close(name)
        return code

    def _close(self, name: str) -> None:
        """Close a descriptor once, whatever interrupts: the number may be somebody else's by then."""
        descriptor: int | None = getattr(self, name)
        setattr(self, name, None)
        if descriptor is not None:
            os.close(descriptor)


def observe_in_children(
    batches: Sequence[Batch], start: Callable[[Batch, int], Child], *, jobs: int, seconds: float
) -> Generator[tuple[Batch, int, Any]]:
    """Observe every scenario of every batch, `jobs` children at a time; yields each observation when it is there.

    With it come its batch and the scenario's place in that. `start` starts a child on a batch from a place on; between
    two of its messages it has `seconds`. Exactly one observation comes for each scenario, also where `start` raises
    `OSError` and no other child is there whose end could make room.
    """
    waiting = deque((batch, 0) for batch in batches)
    with selectors.DefaultSelector() as selector:
        children: dict[int, Child] = {}
        try:
            while waiting or children:
                while waiting and len(children) < jobs:
                    try:
                        child = start(*waiting[0])
                    except OSError as error:
                        if not children:
                            yield from _not_started(error, waiting)
                        break
                    children[child.pid] = child
                    waiting.popleft()
                    selector.register(child.messages, selectors.EVENT_READ, child)
                    selector.register(child.output, selectors.EVENT_READ, child)
                yield from _collect(selector, children, waiting, seconds)
        finally:
            for child in children.values():
                kill(child.pid)
            for child in children.values():
                with contextlib.suppress(ChildProcessError):  # what interrupted may have come when it was waited for
                    child.close()


def _not_started(error: OSError, waiting: deque[tuple[Batch, int]]) -> Iterator[tuple[Batch, int, Any]]:
    """No process can be had for the scenario that is next."""
    batch, place = waiting.popleft()
    if place + 1 < len(batch.scenarios):
        waiting.append((batch, place + 1))
    why = f"a process of the kit's own could not be started: {error.strerror or error}"
    yield batch, place, batch.profile.observation(batch.scenarios[place].name, died=why, blame="kit")


def _collect(
    selector: selectors.BaseSelector, children: dict[int, Child], waiting: deque[tuple[Batch, int]], seconds: float
) -> Iterator[tuple[Batch, int, Any]]:
    """Take what arrives next; replace children that are over before their batch is."""
    if not children:
        return
    nearest = min(child.deadline for child in children.values())
    for key, _ in selector.select(max(nearest - now(), 0.0)):
        child: Child = key.data
        if key.fd == child.output:
            if not child.listen():
                selector.unregister(key.fd)
            continue
        data = os.read(key.fd, _PART)
        child.received += data
        child.closed = not data
        if data:
            child.deadline = now() + seconds  # a part of a message too: it may be long
        for observation in _observations(child):
            yield child.batch, child.place, observation
            child.place += 1
    for child in [child for child in children.values() if child.closed or _late(child)]:
        child.timed_out = not child.closed
        child.listen()
        for descriptor in (child.messages, child.output):
            with contextlib.suppress(KeyError):
                selector.unregister(descriptor)
        if child.timed_out or child.oversized or child.unsealed:
            kill(child.pid)
        code = child.close()
        child.timed_out |= code == -signal.SIGALRM  # its own alarm was first: this process was busy
        del children[child.pid]  # only now: until it is gone, whoever interrupts has to end it
        yield from _over(child, code, waiting, seconds)


def _late(child: Child) -> bool:
    """Whether its time is up and nothing of it is there to be read: this process may be what is late."""
    return now() >= child.deadline and not has_arrived(child.messages)


def _observations(child: Child) -> Iterator[Any]:
    """The whole observations that have arrived. Bytes that are none end the child, which is then said to have died."""
    for data in _messages(child):
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
            child.listen()  # what was printed before the message was sent is there, and may not have been read
            yield replace(observation, output=child.said())


def _messages(child: Child) -> Iterator[bytes]:
    """The whole messages that have arrived."""
    while child.received:
        seal = child.received[:_SEAL]
        if seal != child.seal[: len(seal)]:
            child.unsealed = child.closed = True
            return
        if len(child.received) < _HEADER:
            return
        size = int.from_bytes(child.received[_SEAL:_HEADER], "big")
        if size > _MAX_MESSAGE:
            child.oversized = child.closed = True
            return
        if len(child.received) < _HEADER + size:
            return
        data = bytes(child.received[_HEADER : _HEADER + size])
        del child.received[: _HEADER + size]
        yield data


def send(write: int, seal: bytes, data: bytes) -> None:
    """The child's side of `_messages`. Raises what `tell` does."""
    tell(write, seal + len(data).to_bytes(_HEADER - _SEAL, "big") + data)


def _over(
    child: Child, code: int | None, waiting: deque[tuple[Batch, int]], seconds: float
) -> Iterator[tuple[Batch, int, Any]]:
    """A child has ended. Where it had not finished, its scenario is observed to have ended it, and the rest goes on."""
    rest = child.batch.scenarios[child.place :]
    if not rest:
        return
    if child.finished:  # it stopped on purpose behind a run that would not end
        waiting.append((child.batch, child.place))
        return
    if child.stage == "observing" and code != CHILD_FAILED:
        ended = _ended(child, code, rest[0])
    else:
        ended = _unready(child, code, rest[0], seconds)
    yield child.batch, child.place, replace(ended, output=child.said_last())
    if len(rest) > 1:
        waiting.append((child.batch, child.place + 1))


def _ended(child: Child, code: int | None, scenario: Any) -> Any:
    """What is said of a scenario whose child ended before it was observed."""
    seen = child.batch.profile.observation
    if child.timed_out:
        return seen(scenario.name, died=child.batch.profile.over_limit, blame="limit")
    if child.oversized:
        why = f"what was seen of the loop fills more than {_MAX_MESSAGE >> 20} MB"
        return seen(scenario.name, died=why, blame="limit")
    how = _how(child, code)
    if child.unsealed or code is None or code == CUT_OFF:
        return seen(scenario.name, died=f"the loop {how}", blame="loop")
    if code < 0:
        return seen(scenario.name, died=f"the process {how}", blame="limit")
    return seen(scenario.name, died=f"the loop ended the process with exit code {code}", blame="loop")


def _unready(child: Child, code: int | None, scenario: Any, seconds: float) -> Any:
    """What is said of a scenario whose child ended before its target was there, or by a fault of the kit's."""
    loading = child.stage == "loading" and code != CHILD_FAILED
    if child.timed_out:
        why = late_import(seconds) if loading else "a process of the kit's own did not start in time"
    else:
        how = _how(child, code)
        why = f"the process {how} while it imported the target" if loading else f"a process of the kit's own {how}"
    return child.batch.profile.observation(scenario.name, died=why, blame="target" if loading else "kit")


def _how(child: Child, code: int | None) -> str:
    """How a child came to its end."""
    if child.unsealed:
        return "wrote to a descriptor of the kit's"
    if code is None or code == CUT_OFF:
        return "closed a descriptor of the kit's"
    return f"was ended by signal {_signal(code)}" if code < 0 else f"ended with exit code {code}"


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
