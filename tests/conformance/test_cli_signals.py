"""How `looptck check` ends by a signal: in one line, and with every process that it or a loop has started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.conformance.commands import started

LOOP = """
import os, signal

class Agent:
    def __init__(self, **options): ...
    def invoke(self, messages):
        {stay}

{work}
"""
STAY = "held = os.open('held', os.O_WRONLY); os.fork(); os.write(held, b'.'); signal.pause()"
ISOLATED = pytest.mark.parametrize("isolation", ["fork", "process"])


@contextmanager
def holding(folder: Path, loop: str, *options: str) -> Iterator[subprocess.Popen[str]]:
    """A command whose loop waits for ever in two processes, both of which hold a pipe open until they are gone."""
    (folder / "loop.py").write_text(loop, encoding="utf-8")
    os.mkfifo(folder / "held")
    with (
        started("check", "loop.py", "-k", "hand/answer", "--jobs", "1", *options, folder=folder) as process,
        (folder / "held").open("rb") as held,
    ):
        assert held.read(2) == b".."
        yield process
        assert held.read() == b"", "nobody is left who holds it"


@ISOLATED
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_children_and_what_they_started(tmp_path: Path, number: int, isolation: str) -> None:
    with holding(tmp_path, LOOP.format(stay=STAY, work=""), "--isolation", isolation) as process:
        process.send_signal(number)
        assert process.stderr is not None
        assert process.stderr.read() == "looptck: terminated\n"
    assert process.returncode == 143


def test_a_signal_ends_an_import_and_what_it_started(tmp_path: Path) -> None:
    with holding(tmp_path, LOOP.format(stay="...", work=STAY)) as process:
        process.send_signal(signal.SIGTERM)
        assert process.stderr is not None
        assert process.stderr.read() == "looptck: terminated\n"
    assert process.returncode == 143


def test_ctrl_c_ends_workers_and_what_they_started(tmp_path: Path) -> None:
    with holding(tmp_path, LOOP.format(stay=STAY, work=""), "--isolation", "process") as process:
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        assert process.stderr.read() == "looptck: interrupted\n"
    assert process.returncode == 130


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a worker ends by its alarm, later")
def test_workers_and_what_they_started_end_with_a_command_that_is_killed(tmp_path: Path) -> None:
    with holding(tmp_path, LOOP.format(stay=STAY, work=""), "--isolation", "process") as process:
        process.kill()
    assert process.returncode == -signal.SIGKILL


STAYS = "import os; os.write(os.open('held', os.O_WRONLY), b'.'); signal.pause()"
"""Not by a file object: the signal might come while that is closed, where nothing can be raised."""
SWALLOWS = f"""
        try:
            {STAYS}
        except BaseException:
            raise ValueError('mine')
"""
ADAPTER = f"""
import signal
class Loop:
    name, version, lacks = "loop", "1", {{}}
    async def run(self, run):
        from looptck.adapter import Outcome
        try:
            {STAYS}
        except BaseException as error:
            return Outcome(error=error)
"""
LESSON4 = f"""
import signal
class Agent:
    def __init__(self, **options): ...
    def run(self, task, history=None):
        {STAYS}
class Budget: ...
"""
TASK = f"""
import asyncio, signal
class Agent:
    def __init__(self, **options): ...
    def invoke(self, messages):
        return self
    async def result(self):
        await asyncio.gather(asyncio.create_task(self.work()), return_exceptions=True)
        raise LookupError
    async def work(self):
        {STAYS}
    events = transcript = usage = None
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize(
    ("loop", "options"),
    [
        (LOOP.format(stay=STAYS, work=""), ["loop.py", "-k", "TestHandExample"]),
        (LOOP.format(stay=SWALLOWS, work=""), ["loop.py", "-k", "hand/answer"]),
        (ADAPTER, ["loop.py:Loop", "-k", "hand/answer"]),
        (TASK, ["loop.py", "-k", "TestHandExample"]),
        (LESSON4, ["loop.py", "-k", "single/answered", "--profile", "lesson4"]),
    ],
    ids=["stays", "swallows", "adapter", "task", "lesson4"],
)
def test_a_signal_ends_a_loop_in_this_process(tmp_path: Path, number: int, loop: str, options: list[str]) -> None:
    (tmp_path / "loop.py").write_text(loop, encoding="utf-8")
    os.mkfifo(tmp_path / "held")
    with started("check", *options, "--isolation", "none", "--json", "report.json", folder=tmp_path) as process:
        with (tmp_path / "held").open("rb") as held:
            assert held.read(1) == b"."
        process.send_signal(number)
        out, err = process.communicate()
    assert (process.returncode, out, err) == (143, "", "looptck: terminated\n")
    assert not (tmp_path / "report.json").exists()
