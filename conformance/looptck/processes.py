"""Child processes, whatever they are for: pipes that do not leak, writes that are whole, an end that surely comes."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import ExitStack

LEAVING = 5.0
"""Seconds that a child has to be gone once it has nothing more to say: time to leave, and none to stay."""
_SHORTEST, _LONGEST = 0.0005, 0.05


def for_others(environment: Mapping[str, str]) -> dict[str, str]:
    """An environment for somebody's tests: without what is meant for the pytest around them, or for the kit itself."""
    return {name: value for name, value in environment.items() if not name.startswith(("PYTEST_", "LOOPTCK_"))}


def pipe(reader: ExitStack, writer: ExitStack) -> tuple[int, int]:
    """A pipe, each end of which is closed with its stack."""
    read, write = os.pipe()
    reader.callback(os.close, read)
    writer.callback(os.close, write)
    return read, write


def write_all(write: int, data: bytes) -> None:
    """Write all of it, also where a loop has made the descriptor one that does not wait."""
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(write, view) :]
        except BlockingIOError:
            room = select.poll()
            room.register(write, select.POLLOUT)
            room.poll()


def has_arrived(read: int) -> bool:
    """Whether there is something to read by now, the end of it included."""
    ready = select.poll()
    ready.register(read, select.POLLIN)
    return bool(ready.poll(0))


class CutOffError(Exception):
    """A child's way to its parent is closed, or something else has its number by now: the loop's doing."""


def tell(write: int, data: bytes) -> None:
    """Write all of it to the parent. Raises `CutOffError`, or `BrokenPipeError` where the parent is gone."""
    try:
        write_all(write, data)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise CutOffError from error


def kill_group(pid: int) -> None:
    """End a process and whatever it started, as far as that stayed in the group that it leads; it may be gone."""
    with contextlib.suppress(ProcessLookupError, PermissionError):  # the latter where only a zombie is left of it
        os.killpg(pid, signal.SIGKILL)


def kill(pid: int) -> None:
    """End a child that has not been waited for, and whatever it started that stayed in the group that it leads."""
    kill_group(pid)
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)  # it may have joined another group


def reap(pid: int) -> int | None:
    """Wait for a child that leads a process group; then end what it left behind in that.

    Returns its exit code, or minus the signal that ended it; None where it stayed and had to be ended here.
    """
    status, stayed = _left(pid), False
    if status is None:
        kill(pid)
        status, stayed = os.waitpid(pid, 0)[1], True
    kill_group(pid)
    code = os.waitstatus_to_exitcode(status)
    return None if stayed and code == -signal.SIGKILL else code


def _left(pid: int) -> int | None:
    """The status of a child that goes by itself before long."""
    latest, pause = time.monotonic() + LEAVING, _SHORTEST
    while True:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            return status
        if time.monotonic() >= latest:
            return None
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST)
