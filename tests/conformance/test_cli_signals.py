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
