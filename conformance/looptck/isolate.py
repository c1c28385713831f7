"""Observation in forked children: a loop that spins, exits or floods its output costs its own scenario and no other.

The parent never imports a target. Each child imports it, observes its scenarios one after the other and sends every
observation as soon as it is made. How children that are not forked differ is told in `looptck.spawn`.
"""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
import time
import traceback
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from looptck.adapter import NoInterfaceError
from looptck.children import FINISHED, LOADED, MARK, Batch, Child, observe_in_children, send, unrecordable
from looptck.observe import LIMIT
from looptck.profile import Profile, profile_of
from looptck.target import BrokenTargetError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

__all__ = ["GRACE", "Batch", "end_alone", "fork_child", "observe_forked", "observe_safely", "own_streams", "serve"]

GRACE = 5.0
"""Seconds that a child has beyond a scenario's limit, and to import its target."""
CHILD_FAILED = 70
"""Exit code of a child in which something of the kit raised."""


def observe_forked(batches: Sequence[Batch], *, jobs: int, limit: float = LIMIT) -> Generator[tuple[Batch, int, Any]]:
    """Observe every scenario of every batch, `jobs` children at a time; yields each observation when it is there.

    With it come its batch and the scenario's place in that. `limit` is in seconds of real time for one scenario.
    Exactly one observation comes for each scenario.
    """
    seconds = limit + GRACE

    def start(batch: Batch, place: int) -> Child:
        fork = fork_child(lambda write: serve(write, batch, place, limit))
        return Child(batch, place, *fork, time.monotonic() + seconds)

    return observe_in_children(batches, start, jobs=jobs, seconds=seconds)


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
    os.dup2(out_write, 1)
    os.dup2(out_write, 2)
    own_streams()


def own_streams() -> None:
    """A child's own streams: no input, and what it prints is there at once, for it leaves without a flush.

    What the parent's own streams hold back, or decorate, is not the loop's.
    """
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0, closefd=False)))
    sys.stdout, sys.stderr = (
        io.TextIOWrapper(io.FileIO(end, "w", closefd=False), "utf-8", "backslashreplace", write_through=True)
        for end in (1, 2)
    )


def serve(write: int, batch: Batch, place: int, limit: float, *, tell: bool = False) -> None:
    """The child: import the target, observe the batch from `place` on, send.

    With `tell` it also sends word that the target is there.
    """
    profile, refused, pid, out = batch.profile, None, os.getpid(), os.dup(1)
    end_alone(limit)
    try:
        adapter = batch.load()
    except (BrokenTargetError, NoInterfaceError) as error:
        refused = profile.observation("", died=str(error), blame="target")
    except BaseException:  # noqa: BLE001 - everything else that load raises is a bug of the kit
        refused = profile.observation("", died=traceback.format_exc(), blame="kit")
    _only(pid)
    if tell:
        send(write, LOADED)
    for scenario in batch.scenarios[place:]:
        if refused is not None:
            observation = replace(refused, scenario=scenario.name)
        else:
            end_alone(limit)
            observation = _observe_in_child(adapter, scenario, limit, profile)
        _only(pid)
        os.write(out, MARK)
        send(write, _encoded(profile, observation, scenario))
        if profile.spoiled(observation):
            break  # what that run left behind must not disturb the next
    send(write, FINISHED)


def end_alone(limit: float) -> None:
    """Should the parent be gone by then, so is the child: two graces after the limit, one after it would be ended."""
    signal.setitimer(signal.ITIMER_REAL, limit + 2 * GRACE)


def _only(pid: int) -> None:
    """A copy of the child that the loop forked off and came back from is not there to answer: it ends."""
    if os.getpid() != pid:
        os._exit(CHILD_FAILED)


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
        return profile.encode(unrecordable(profile, scenario, error))
