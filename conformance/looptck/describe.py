"""What a target is, learnt in a forked child, so that the parent never imports it."""

from __future__ import annotations

import json
import os
import select
import threading
import time
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Literal

from looptck import isolate
from looptck.adapter import NoInterfaceError
from looptck.children import kill, late_import, reap
from looptck.observe import LIMIT
from looptck.observe.quiescence import strangers, threads_now
from looptck.target import BrokenTargetError

if TYPE_CHECKING:
    from collections.abc import Callable

    from looptck.adapter import Adapter

_LARGEST = 1024 * 1024
_END = b"\n"


@dataclass(frozen=True, slots=True)
class Description:
    """An adapter's name, version and declared lacks (feature to reason); or why there is none, in one line.

    `isolation` is the one that suits it where nobody asked for another: a process of its own for an adapter that says
    so, and for a target whose import leaves threads running.
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
    pid, read, output = isolate.fork_child(lambda write: _serve(write, load, limit))
    seconds, timed_out = limit + isolate.GRACE, True
    try:
        data, timed_out = _read(read, output, time.monotonic() + seconds)
    finally:  # also where somebody has had enough of waiting
        os.close(read)
        os.close(output)
        if timed_out:
            kill(pid)
        code = reap(pid)
    if timed_out:
        return Description(refused=late_import(seconds))
    try:
        return Description(**json.loads(data))
    except (ValueError, TypeError):
        return Description(refused=f"importing the target ended the process with exit code {code}")


def _describe(load: Callable[[], Adapter]) -> Description:
    try:
        adapter = load()
    except (BrokenTargetError, NoInterfaceError) as error:
        return Description(refused=" ".join(str(error).split()))
    lacks = {str(feature): str(reason) for feature, reason in adapter.lacks.items()}
    alone = getattr(adapter, "isolation", "fork") == "process" or _threads()
    return Description(adapter.name, adapter.version, lacks, isolation="process" if alone else "fork")


def _threads() -> bool:
    """Whether the import has left threads running beside this one."""
    return bool(threads_now() - strangers() - {str(threading.get_native_id())})


def _serve(write: int, load: Callable[[], Adapter], limit: float) -> None:
    isolate.end_alone(limit)
    _send(write, _describe(load))


def _send(write: int, description: Description) -> None:
    view = memoryview(json.dumps(asdict(description)).encode() + _END)
    while view:
        view = view[os.write(write, view) :]


def _read(read: int, output: int, deadline: float) -> tuple[bytes, bool]:
    """What the child sends, and whether the deadline came first. What it prints is thrown away.

    The end of it is marked: a process that the target has started may hold the pipe open.
    """
    data, open_ends = b"", [read, output]
    while read in open_ends and not data.endswith(_END):
        ready, _, _ = select.select(open_ends, [], [], max(deadline - time.monotonic(), 0.0))
        if not ready:
            return data, True
        for end in ready:
            part = os.read(end, 65_536)
            if not part:
                open_ends.remove(end)
            elif end == read:
                data = (data + part)[:_LARGEST]
    return data, False
