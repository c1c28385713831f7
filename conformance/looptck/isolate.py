"""Observation in forked children: a loop that spins, exits or floods its output costs its own scenario and no other.

The parent never imports a target. Each child imports it, observes its scenarios one after the other and sends every
observation as soon as it is made. A child that dies, or outlasts the real-time limit, or is left with a run that
would not end, is replaced: the next child goes on with the next scenario.
"""

from __future__ import annotations

import contextlib
import io
import os
import selectors
import signal
import sys
import time
import traceback
from collections import deque
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from looptck.adapter import NoInterfaceError
from looptck.observe import LIMIT
from looptck.profile import Profile, profile_of
from looptck.target import BrokenTargetError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


GRACE = 5.0
"""Seconds that a child has beyond a scenario's limit, and to import its target."""
OUTPUT_KEPT = 2_000
"""Characters of a child's output that an observation keeps: the last ones."""
CHILD_FAILED = 70
"""Exit code of a child in which something of the kit raised."""
_HEADER = 8
_MAX_MESSAGE = 64 * 1024 * 1024
_REASON = 200


@dataclass(slots=True)
class Batch:
    """Scenarios that one child observes in turn. `load` runs in the child; `key` is the caller's."""

    key: int
    load: Callable[[], Any]
    scenarios: Sequence[Any]
    profile: Profile = field(default_factory=lambda: profile_of("ag03"))


@dataclass(slots=True)
class _Child:
    """A running child and what it still has to do."""

    batch: Batch
    place: int
    began: int
    pid: int
    messages: int
    output: int
    deadline: float
    received: bytearray = field(default_factory=bytearray)
    printed: bytes = b""
    oversized: bool = False
    timed_out: bool = False
    closed: bool = False
    finished: bool = False


def observe_forked(batches: Sequence[Batch], *, jobs: int, limit: float = LIMIT) -> Iterator[tuple[Batch, int, Any]]:
    """Observe every scenario of every batch, `jobs` children at a time; yields each observation when it is there.

    With it come its batch and the scenario's place in that. `limit` is in seconds of real time for one scenario.
    Exactly one observation comes for each scenario.
    """
    waiting = deque((batch, 0) for batch in batches)
    with selectors.DefaultSelector() as selector:
        children: dict[int, _Child] = {}
        try:
            while waiting or children:
                while waiting and len(children) < jobs:
                    child = _start(*waiting.popleft(), limit)
                    children[child.pid] = child
                    selector.register(child.messages, selectors.EVENT_READ, child)
                    selector.register(child.output, selectors.EVENT_READ, child)
                yield from _collect(selector, children, waiting, limit)
        finally:
            for child in children.values():
                _kill(child.pid)
                _close(child)


def _collect(
    selector: selectors.BaseSelector,
    children: dict[int, _Child],
    waiting: deque[tuple[Batch, int]],
    limit: float,
) -> Iterator[tuple[Batch, int, Any]]:
    """Take what arrives next; replace children that are over before their batch is."""
    nearest = min(child.deadline for child in children.values())
    ready = selector.select(max(nearest - time.monotonic(), 0.0))
    # What was printed before an observation was sent belongs to it: outputs are read first.
    for key, _ in sorted(ready, key=lambda item: item[0].fd == item[0].data.messages):
        child: _Child = key.data
        data = os.read(key.fd, 65_536)
        if key.fd == child.output:
            child.printed = (child.printed + data)[-OUTPUT_KEPT:]
            if not data:
                selector.unregister(child.output)
        elif data:
            child.received += data
            for observation in _messages(child):
                yield child.batch, child.place, observation
                child.place += 1
                child.deadline = time.monotonic() + limit + GRACE
        else:
            child.closed = True
    for child in [child for child in children.values() if child.closed or time.monotonic() >= child.deadline]:
        child.timed_out = not child.closed
        selector.unregister(child.messages)
        with contextlib.suppress(KeyError):
            selector.unregister(child.output)
        del children[child.pid]
        yield from _over(child, waiting)


def _messages(child: _Child) -> Iterator[Any]:
    """The whole messages that have arrived. Bytes that are none end the child, which is then said to have died."""
    while len(child.received) >= _HEADER:
        size = int.from_bytes(child.received[:_HEADER], "big")
        if size > _MAX_MESSAGE:
            child.oversized = child.closed = True
            return
        if len(child.received) < _HEADER + size:
            return
        data = bytes(child.received[_HEADER : _HEADER + size])
        del child.received[: _HEADER + size]
        if not data:
            child.finished = child.closed = True
            return
        try:
            observation = child.batch.profile.decode(data)
        except ValueError as error:
            observation = _unrecordable(child.batch.profile, child.batch.scenarios[child.place], error)
        yield replace(observation, output=child.printed.decode("utf-8", "replace"))


def _over(child: _Child, waiting: deque[tuple[Batch, int]]) -> Iterator[tuple[Batch, int, Any]]:
    """A child has ended. Where it had not finished, its scenario is observed to have ended it, and the rest goes on."""
    if not child.finished:
        _kill(child.pid)
    code = _close(child)
    rest = child.batch.scenarios[child.place :]
    if not rest:
        return
    if child.finished and child.place > child.began:  # it stopped on purpose behind a run that would not end
        waiting.append((child.batch, child.place))
        return
    printed = child.printed.decode("utf-8", "replace")
    yield child.batch, child.place, replace(_ended(child, code, rest[0]), output=printed)
    if len(rest) > 1:
        waiting.append((child.batch, child.place + 1))


def _ended(child: _Child, code: int, scenario: Any) -> Any:
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
        name = signal.Signals(-code).name if -code in set(signal.Signals) else str(-code)
        return seen(scenario.name, died=f"the process was ended by signal {name}", blame="limit")
    return seen(scenario.name, died=f"the loop ended the process with exit code {code}", blame="loop")


def _kill(pid: int) -> None:
    """End a child and whatever it started that stayed in its process group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):  # the latter where only a zombie is left of it
        os.killpg(pid, signal.SIGKILL)


def reap(pid: int, *, kill: bool = False) -> int:
    """Wait for a child of `fork_child`, or kill it; then end what it left behind in its process group.

    Returns its exit code, or minus the signal that ended it.
    """
    if kill:
        _kill(pid)
    status = os.waitpid(pid, 0)[1]
    _kill(pid)
    return os.waitstatus_to_exitcode(status)


def _close(child: _Child) -> int:
    os.close(child.messages)
    os.close(child.output)
    return reap(child.pid)


def _start(batch: Batch, place: int, limit: float) -> _Child:
    fork = fork_child(lambda write: _serve(write, batch, batch.scenarios[place:], limit))
    return _Child(batch, place, place, *fork, time.monotonic() + limit + GRACE)


def fork_child(serve: Callable[[int], None]) -> tuple[int, int, int]:
    """Fork a child that runs `serve` with the descriptor it may write to, and then exits.

    Returns the child's id, and the descriptors that read what it sends and what it prints. The child leads a process
    group of its own. It exits with `CHILD_FAILED` where `serve` raises.
    """
    read, write = os.pipe()
    out_read, out_write = os.pipe()
    pid = os.fork()
    if pid == 0:
        code = CHILD_FAILED
        try:
            os.close(read)
            os.close(out_read)
            _redirect(out_write)
            serve(write)
            code = 0
        finally:
            os._exit(code)
    with contextlib.suppress(OSError):  # both sides do it, so that neither can be too early to kill the group
        os.setpgid(pid, pid)
    os.close(write)
    os.close(out_write)
    return pid, read, out_read


def _redirect(out_write: int) -> None:
    """Stray prints go to the parent's pipe, reads find nothing, Ctrl-C is the parent's affair."""
    os.setpgid(0, 0)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGALRM):
        signal.signal(number, signal.SIG_DFL)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(out_write, 1)
    os.dup2(out_write, 2)
    # What the parent's own streams hold back, or decorate, is not the loop's; and a child leaves without a flush.
    sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0, closefd=False)))
    sys.stdout, sys.stderr = (
        io.TextIOWrapper(io.FileIO(end, "w", closefd=False), "utf-8", "backslashreplace", write_through=True)
        for end in (1, 2)
    )


def _serve(write: int, batch: Batch, scenarios: Sequence[Any], limit: float) -> None:
    """The child: import the target, observe, send."""
    profile, refused, pid = batch.profile, None, os.getpid()
    try:
        adapter = batch.load()
    except (BrokenTargetError, NoInterfaceError) as error:
        refused = profile.observation("", died=str(error), blame="target")
    except BaseException:  # noqa: BLE001 - everything else that load raises is a bug of the kit
        refused = profile.observation("", died=traceback.format_exc(), blame="kit")
    for scenario in scenarios:
        if refused is not None:
            observation = replace(refused, scenario=scenario.name)
        else:
            signal.setitimer(
                signal.ITIMER_REAL, limit + 2 * GRACE
            )  # should the parent be gone by then, so is the child
            observation = _observe_in_child(adapter, scenario, limit, profile)
        if os.getpid() != pid:
            os._exit(CHILD_FAILED)  # a copy that the loop forked off has come back from it: it is not ours to answer
        _send(write, _encoded(profile, observation, scenario))
        if profile.spoiled(observation):
            break  # what that run left behind must not disturb the next
    _send(write, b"")


def observe_safely(adapter: Any, scenario: Any, *, limit: float = LIMIT, profile: Profile | None = None) -> Any:
    """Observe in this process; whatever goes wrong is an observation that says whose fault it is."""
    profile = profile or profile_of("ag03")
    try:
        return profile.observe(adapter, scenario, limit)
    except NoInterfaceError as error:
        return profile.observation(scenario.name, died=str(error), blame="target")
    except KeyboardInterrupt:  # somebody at the keyboard
        raise
    except Exception:  # noqa: BLE001 - the driver itself failed
        return profile.observation(scenario.name, died=traceback.format_exc(), blame="kit")
    except BaseException as error:  # noqa: BLE001 - the driver raises none of these: asyncio lets a loop's through
        return _raised(profile, scenario, error)


def _observe_in_child(adapter: Any, scenario: Any, limit: float, profile: Profile) -> Any:
    try:
        return observe_safely(adapter, scenario, limit=limit, profile=profile)
    except KeyboardInterrupt as error:  # nobody sits at a child's keyboard: the loop raised it
        return _raised(profile, scenario, error)


def _raised(profile: Profile, scenario: Any, error: BaseException) -> Any:
    text = " ".join(f"the loop raised {type(error).__name__}: {error}".split()).removesuffix(":")
    return profile.observation(scenario.name, died=text, blame="loop")


def _encoded(profile: Profile, observation: Any, scenario: Any) -> bytes:
    try:
        return profile.encode(observation)
    except ValueError as error:  # pydantic's own errors are of this kind
        return profile.encode(_unrecordable(profile, scenario, error))


def _unrecordable(profile: Profile, scenario: Any, error: ValueError) -> Any:
    """Correct loops hand over values of the contract; those always have a form in JSON."""
    why = str(error.errors()[0]["msg"] if isinstance(error, ValidationError) else error)[:_REASON]
    died = f"the loop handed over a value that has no form in JSON: {why}"
    return profile.observation(scenario.name, died=died, blame="loop")


def _send(write: int, data: bytes) -> None:
    view = memoryview(len(data).to_bytes(_HEADER, "big") + data)
    while view:
        view = view[os.write(write, view) :]
