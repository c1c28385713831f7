"""What a target is, learnt in a forked child, so that the parent never imports it."""

from __future__ import annotations

import json
import os
import select
import signal
import time
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from looptck.adapter import NoInterfaceError
from looptck.isolate import GRACE, fork_child
from looptck.observe import LIMIT
from looptck.target import BrokenTargetError

if TYPE_CHECKING:
    from collections.abc import Callable

    from looptck.adapter import Adapter

_LARGEST = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Description:
    """An adapter's name, version and declared lacks (feature to reason); or why there is none, in one line."""

    name: str = ""
    version: str = ""
    lacks: dict[str, str] = field(default_factory=dict)
    refused: str = ""


def describe(load: Callable[[], Adapter], *, isolated: bool = True) -> Description:
    """Load the target and describe it, in a child unless `isolated` is false."""
    if not isolated:
        return _describe(load)
    pid, read, output = fork_child(lambda write: _send(write, _describe(load)))
    limit = LIMIT + GRACE
    data, timed_out = _read(read, output, time.monotonic() + limit)
    if timed_out:
        os.killpg(pid, signal.SIGKILL)
    os.close(read)
    os.close(output)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if timed_out:
        return Description(refused=f"importing it took longer than {limit:.0f} s")
    try:
        return Description(**json.loads(data))
    except (ValueError, TypeError):
        return Description(refused=f"importing it ended the process (exit code {code})")


def _describe(load: Callable[[], Adapter]) -> Description:
    try:
        adapter = load()
    except (BrokenTargetError, NoInterfaceError) as error:
        return Description(refused=" ".join(str(error).split()))
    lacks = {str(feature): str(reason) for feature, reason in adapter.lacks.items()}
    return Description(adapter.name, adapter.version, lacks)


def _send(write: int, description: Description) -> None:
    view = memoryview(json.dumps(asdict(description)).encode())
    while view:
        view = view[os.write(write, view) :]
    os.close(write)


def _read(read: int, output: int, deadline: float) -> tuple[bytes, bool]:
    """Everything that the child sends, and whether the deadline came first. What it prints is thrown away."""
    data, open_ends = b"", [read, output]
    while read in open_ends:
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
