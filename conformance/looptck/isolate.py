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
import traceback
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn

from looptck import children
from looptck.adapter import NoInterfaceError
from looptck.children import (
    CHILD_FAILED,
    CUT_OFF,
    FINISHED,
    LOADED,
    Batch,
    Child,
    new_seal,
    observe_in_children,
    send,
    unrecordable,
)
from looptck.observe import LIMIT
from looptck.processes import CutOffError, pipe, tell, write_all
from looptck.profile import Profile, profile_of
from looptck.target import BrokenTargetError
from looptck.wire import sayable

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

__all__ = [
    "GRACE",
    "Batch",
    "end_alone",
    "exit_code",
    "fork_child",
    "observe_forked",
    "observe_safely",
    "own_streams",
    "serve",
]

GRACE = 5.0
"""Seconds that a child has beyond a scenario's limit, and to import its target."""


def observe_forked(batches: Sequence[Batch], *, jobs: int, limit: float = LIMIT) -> Generator[tuple[Batch, int, Any]]:
    """Observe every scenario of every batch, `jobs` children at a time; yields each observation when it is there.

    With it come its batch and the scenario's place in that. `limit` is in seconds of real time for one scenario.
    Exactly one observation comes for each scenario.
    """
    seconds = limit + GRACE

    def start(batch: Batch, place: int) -> Child:
        seal = new_seal()
        fork = fork_child(lambda write: serve(write, seal, batch, place, limit))
        return Child(batch, place, *fork, seal, children.now() + seconds)

    return observe_in_children(batches, start, jobs=jobs, seconds=seconds)


def fork_child(serve: Callable[[int], None]) -> tuple[int, int, int]:
    """Fork a child that runs `serve` with the descriptor it may write to, and then exits.

    Returns the child's id, and the descriptors that read what it sends and what it prints. The child leads a process
    group of its own. It exits with `exit_code` where `serve` raises. Raises `OSError` where there can be no child.
    """
    with ExitStack() as ours, ExitStack() as childs:
        read, write = pipe(ours, childs)
        out_read, out_write = pipe(ours, childs)
        pid = os.fork()
        if pid == 0:
            _be_child(serve, write, out_write, ours)
        with contextlib.suppress(OSError):  # both sides do it, so that neither can be too early to kill the group
            os.setpgid(pid, pid)
        ours.pop_all()
    return pid, read, out_read


def _be_child(serve: Callable[[int], None], write: int, out_write: int, parents: ExitStack) -> NoReturn:
    code = CHILD_FAILED
    try:
        parents.close()
        _redirect(out_write)
        serve(write)
        code = 0
    except BaseException as error:  # noqa: BLE001 - told by the exit code, and by what is printed
        code = exit_code(error)
        write_all(2, traceback.format_exc().encode("utf-8", "backslashreplace"))
    finally:
        os._exit(code)


def exit_code(error: BaseException) -> int:
    """What a child exits with in which an error came out of `serve`: the loop has cut it off, or it is a bug."""
    return CUT_OFF if isinstance(error, CutOffError | BrokenPipeError) else CHILD_FAILED


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


def serve(write: int, seal: bytes, batch: Batch, place: int, limit: float, *, say_loaded: bool = False) -> None:
    """The child: import the target, observe the batch from `place` on, send under the seal.

    With `say_loaded` it also sends word that the target is there. Raises what `tell` does.
    """
    profile, refused, pid, out = batch.profile, None, os.getpid(), os.dup(1)
    end_alone(limit)
    try:
        with _depth():
            adapter = batch.load()
    except (BrokenTargetError, NoInterfaceError) as error:
        refused = profile.observation("", died=sayable(str(error)), blame="target")
    except BaseException:  # noqa: BLE001 - everything else that load raises is a bug of the kit
        refused = profile.observation("", died=sayable(traceback.format_exc()), blame="kit")
    _only(pid)
    if say_loaded:
        send(write, seal, LOADED)
    for scenario in batch.scenarios[place:]:
        if refused is not None:
            observation = replace(refused, scenario=scenario.name)
        else:
            end_alone(limit)
            observation = _observe_in_child(adapter, scenario, limit, profile)
        _only(pid)
        tell(out, seal)
        send(write, seal, _encoded(profile, observation, scenario))
        if profile.spoiled(observation):
            break  # what that run left behind must not disturb the next
    send(write, seal, FINISHED)


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
        with _depth():
            return profile.observe(adapter, scenario, limit)
    except NoInterfaceError as error:
        return profile.observation(scenario.name, died=sayable(str(error)), blame="target")
    except KeyboardInterrupt:  # somebody at the keyboard
        raise
    except _TooShallowError:
        died = "the loop set a recursion limit that is too small to run with"
        return profile.observation(scenario.name, died=died, blame="loop")
    except Exception:  # noqa: BLE001 - the driver itself failed
        return profile.observation(scenario.name, died=sayable(traceback.format_exc()), blame="kit")
    except BaseException as error:  # noqa: BLE001 - the driver raises none of these: asyncio lets a loop's through
        return _raised(profile, scenario, error)


class _TooShallowError(RecursionError):
    """The loop has left nobody enough depth to recurse."""


@contextlib.contextmanager
def _depth() -> Iterator[None]:
    """Whatever the loop makes of the recursion limit, behind it the kit has its own.

    Raises `_TooShallowError` where the limit that the loop set was too small for what goes on within.
    """
    limit = sys.getrecursionlimit()
    try:
        yield
    except RecursionError:
        if sys.getrecursionlimit() < limit:
            raise _TooShallowError from None
        raise
    finally:
        sys.setrecursionlimit(limit)


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
