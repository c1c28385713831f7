"""What a target is, learnt in a forked child, so that the parent never imports it."""

from __future__ import annotations

import json
import os
import select
import signal
import threading
import time
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Literal

from looptck import isolate
from looptck.adapter import NoInterfaceError
from looptck.children import CUT_OFF, late_import
from looptck.observe import LIMIT
from looptck.observe.quiescence import strangers, threads_now
from looptck.processes import kill, reap, tell
from looptck.target import BrokenTargetError
from looptck.wire import sayable

if TYPE_CHECKING:
    from collections.abc import Callable

    from looptck.adapter import Adapter

_LARGEST = 1024 * 1024
_END = b"\n"
SLOW_IMPORT = 0.5
"""Seconds of processor time that an import may take in every child anew; where it takes more, few processes suit it.

It is no real time: how a loop is run must not depend on who else uses the machine.
"""
_GONE = 0.5
"""Seconds in which a thread that has ended disappears from the system's list, however busy the machine is."""


@dataclass(frozen=True, slots=True)
class Description:
    """An adapter's name, version and declared lacks (feature to reason); or why there is none, in one line.

    `isolation` is the one that suits it where nobody asked for another: a process of its own for an adapter that says
    so, and for a target whose import leaves threads running or takes long.
    """

    name: str = ""
    version: str = ""
    lacks: dict[str, str] = field(default_factory=dict)
    refused: str = ""
    isolation: Literal["fork", "process"] = "fork"


def describe(load: Callable[[], Adapter], *, isolated: bool = True, limit: float = LIMIT) -> Description:
    """Load the target and describe it, in a child unless `isolated` is false.

    The child has the time that one scenario has: `limit`, in seconds, and the grace beyond it.
    """
    if not isolated:
        return _describe(load)
    try:
        pid, read, output = isolate.fork_child(lambda write: _serve(write, load, limit))
    except OSError as error:
        return Description(refused=f"no process can be had to import the target in: {error.strerror or error}")
    seconds, timed_out = limit + isolate.GRACE, True
    try:
        data, timed_out = _read(read, output, time.monotonic() + seconds)
    finally:  # also where somebody has had enough of waiting
        if timed_out:
            kill(pid)
        code = reap(pid)
        os.close(read)
        os.close(output)
    if timed_out or code == -signal.SIGALRM:  # its own alarm was first: this process was busy
        return Description(refused=late_import(seconds))
    try:
        return Description(**json.loads(data))
    except (ValueError, TypeError):
        return Description(refused=f"importing the target {_instead(data, code)}")


def _instead(data: bytes, code: int | None) -> str:
    """What the import did, where no description came of it."""
    if data.endswith(_END):
        return "wrote to a descriptor of the kit's"
    if code is None or code == CUT_OFF:
        return "closed a descriptor of the kit's"
    return f"ended the process with exit code {code}"


def _describe(load: Callable[[], Adapter]) -> Description:
    begun = time.process_time()
    try:
        adapter = load()
    except (BrokenTargetError, NoInterfaceError) as error:
        return Description(refused=sayable(" ".join(str(error).split())))
    slow = time.process_time() - begun > SLOW_IMPORT
    lacks = {sayable(str(feature)): sayable(str(reason)) for feature, reason in adapter.lacks.items()}
    alone = getattr(adapter, "isolation", "fork") == "process" or slow or _threads()
    return Description(sayable(adapter.name), sayable(adapter.version), lacks, isolation="process" if alone else "fork")


def _threads() -> bool:
    """Whether the import has left threads running beside this one."""
    until = time.monotonic() + _GONE
    while left := threads_now() - strangers() - {str(threading.get_native_id())}:
        if left & {str(thread.native_id) for thread in threading.enumerate()} or time.monotonic() >= until:
            return True
        time.sleep(_GONE / 100)
    return False


def _serve(write: int, load: Callable[[], Adapter], limit: float) -> None:
    isolate.end_alone(limit)
    tell(write, json.dumps(asdict(_describe(load))).encode() + _END)


def _read(read: int, output: int, deadline: float) -> tuple[bytes, bool]:
    """What the child sends, and whether the deadline came first. What it prints is thrown away.

    The end of it is marked: a process that the target has started may hold the pipe open.
    """
    data, open_ends = b"", [read, output]
    while read in open_ends and not data.endswith(_END):
        ready, _, _ = select.select(open_ends, [], [], max(deadline - time.monotonic(), 0.0))
        if read not in ready and time.monotonic() >= deadline:  # it may print without an end
            return data, True
        for end in ready:
            part = os.read(end, 65_536)
            if not part:
                open_ends.remove(end)
            elif end == read:
                data = (data + part)[:_LARGEST]
    return data, False
