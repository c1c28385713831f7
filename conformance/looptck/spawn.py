"""Observation in fresh interpreters, each of which imports the target once and observes many scenarios.

For targets that take seconds to import, or start threads when they are. A worker (`looptck.worker`) is a child like a
forked one (`looptck.children`), with three differences: it is told as JSON what to load and to observe, it says when
its kit is up and when its target is there, and it is kept on a leash, a pipe whose closing ends its process group.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

from looptck import isolate
from looptck.children import Batch, Child, observe_in_children
from looptck.observe import LIMIT
from looptck.target import Loader
from looptck.wire import json_of

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

STARTING = 60.0
"""Seconds that a worker has to import the kit: no target is to blame for those."""


@dataclass(frozen=True, slots=True)
class Job:
    """What a worker is told: what to load, scenarios as JSON, the limit in seconds, and the parent's path and words."""

    load: Loader
    scenarios: tuple[str, ...]
    limit: float
    path: tuple[str, ...]
    argv: tuple[str, ...]


job_to_json, job_from_json = json_of(Job)


def observe_spawned(batches: Sequence[Batch], *, jobs: int, limit: float = LIMIT) -> Generator[tuple[Batch, int, Any]]:
    """Observe as `looptck.isolate.observe_forked` does, in workers.

    Raises `TypeError` for a batch that is not loaded by a `Loader`: nothing else can be told to another process.
    """
    seconds = limit + isolate.GRACE
    return observe_in_children(batches, lambda batch, place: _start(batch, place, limit), jobs=jobs, seconds=seconds)


def _start(batch: Batch, place: int, limit: float) -> Child:
    job = _job(batch, place, limit)
    read, write = os.pipe()
    out_read, out_write = os.pipe()
    leash, hold = os.pipe()
    with TemporaryFile() as told:  # a pipe would hold only a part of it until somebody reads
        told.write(job_to_json(job))
        told.seek(0)
        # -P: what lies in the current folder is the target's, and must not stand in for what the kit imports.
        process = subprocess.Popen(  # noqa: S603 - this interpreter, and a module of our own
            [sys.executable, "-P", "-m", "looptck.worker", str(write), str(leash)],
            stdin=told,
            stdout=out_write,
            stderr=out_write,
            pass_fds=(write, leash),
            process_group=0,
        )
    process.returncode = 0  # it is waited for by its id, like every other child
    for descriptor in (write, out_write, leash):
        os.close(descriptor)
    return Child(batch, place, process.pid, read, out_read, time.monotonic() + STARTING, "starting", hold)


def _job(batch: Batch, place: int, limit: float) -> Job:
    if not isinstance(batch.load, Loader):
        msg = f"another process cannot be told to load {batch.load!r}: give the Loader of a target"
        raise TypeError(msg)
    scenarios = tuple(batch.profile.scenario_to_json(scenario) for scenario in batch.scenarios[place:])
    return Job(batch.load, scenarios, limit, tuple(sys.path), tuple(sys.argv))
