"""Observation in fresh interpreters, each of which imports the target once and observes many scenarios.

For targets that take seconds to import, or start threads when they are. A worker (`looptck.worker`) is a child like a
forked one (`looptck.children`), with three differences: it is told as JSON what to load and to observe, it says when
its kit is up and when its target is there, and it is kept on a leash, a pipe whose closing ends its process group.
"""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

from looptck import children, isolate
from looptck.children import Batch, Child, new_seal, observe_in_children
from looptck.observe import LIMIT
from looptck.processes import pipe
from looptck.target import Loader, Target

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

STARTING = 60.0
"""Seconds that a worker has to import the kit: no target is to blame for those."""


@dataclass(frozen=True, slots=True)
class Job:
    """What a worker is told.

    It is what to load, scenarios as JSON, the limit in seconds, the seal of its messages, and the parent's path and
    words.
    """

    load: Loader
    scenarios: tuple[str, ...]
    limit: float
    seal: bytes
    path: tuple[str, ...]
    argv: tuple[str, ...]


def job_to_json(job: Job) -> bytes:
    """The job as JSON in ASCII: names of files need be no Unicode, and what stands for their bytes has no UTF-8."""
    return json.dumps({**asdict(job), "seal": job.seal.hex()}, default=str).encode("ascii")


def job_from_json(data: bytes) -> Job:
    """The job that `job_to_json` has written."""
    told = json.loads(data)
    target, profile = told["load"]["target"], told["load"]["profile"]
    file = None if target["file"] is None else Path(target["file"])
    return Job(
        Loader(Target(**{**target, "file": file}), profile),
        tuple(told["scenarios"]),
        told["limit"],
        bytes.fromhex(told["seal"]),
        tuple(told["path"]),
        tuple(told["argv"]),
    )


def observe_spawned(batches: Sequence[Batch], *, jobs: int, limit: float = LIMIT) -> Generator[tuple[Batch, int, Any]]:
    """Observe as `looptck.isolate.observe_forked` does, in workers.

    Raises `TypeError` for a batch that is not loaded by a `Loader`: nothing else can be told to another process.
    """
    seconds = limit + isolate.GRACE
    return observe_in_children(batches, lambda batch, place: _start(batch, place, limit), jobs=jobs, seconds=seconds)


def _start(batch: Batch, place: int, limit: float) -> Child:
    seal = new_seal()
    job = _job(batch, place, limit, seal)
    with ExitStack() as ours, ExitStack() as childs:
        read, write = pipe(ours, childs)
        out_read, out_write = pipe(ours, childs)
        leash, hold = pipe(childs, ours)
        told = childs.enter_context(TemporaryFile())  # a pipe would hold only a part of it until somebody reads
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
        ours.pop_all()
    return Child(batch, place, process.pid, read, out_read, seal, children.now() + STARTING, "starting", hold)


def _job(batch: Batch, place: int, limit: float, seal: bytes) -> Job:
    if not isinstance(batch.load, Loader):
        msg = f"another process cannot be told to load {batch.load!r}: give the Loader of a target"
        raise TypeError(msg)
    scenarios = tuple(batch.profile.scenario_to_json(scenario) for scenario in batch.scenarios[place:])
    return Job(batch.load, scenarios, limit, seal, tuple(sys.path), tuple(sys.argv))
