"""`looptck check` in a process of its own: what reaches which stream, and who is left when it ends."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.conformance.commands import PARALLEL, bad, command, started

# in a process of its own


def test_the_command_passes_the_reference_and_is_silent_on_the_other_stream() -> None:
    ran = command("check", "reference", "-k", "hand/answer")
    assert (ran.code, ran.err) == (0, "")
    assert ran.last.startswith("PASS reference against ag03: ")


def test_what_a_loop_prints_reaches_nobody_unless_it_matters() -> None:
    ran = command("check", bad("floods_stdout"), "-k", PARALLEL)
    assert (ran.code, ran.err) == (0, "")
    assert "debug:" not in ran.out


def test_what_a_failing_loop_printed_last_is_shown(tmp_path: Path) -> None:
    (tmp_path / "loop.py").write_text(
        "import sys\n"
        "class Agent:\n"
        "    def __init__(self, **options):\n"
        "        print('hello from the loop')\n"
        "        print('and its other stream', file=sys.stderr)\n"
        "    def invoke(self, messages):\n"
        "        raise LookupError\n",
        encoding="utf-8",
    )
    ran = command("check", "loop.py", "-k", "hand/answer", folder=tmp_path)
    assert (ran.code, ran.err) == (1, "")
    assert "the loop printed, at the end: 'hello from the loop\\nand its other stream\\n'" in ran.out


def test_without_isolation_what_a_loop_prints_does_not_mix_with_json() -> None:
    ran = command("check", bad("floods_stdout"), "-k", PARALLEL, "--isolation", "none", "--json", "-")
    assert ran.code == 0
    assert json.loads(ran.out)["verdict"] == "pass"
    assert "debug:" in ran.err


@pytest.mark.parametrize("name", ["raises_base_exception", "hangs", "exits_in_a_run"])
def test_without_isolation_a_loop_that_misbehaves_costs_its_scenario_only(
    looptck: Any, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    forked, here = (
        looptck("check", bad(name), "-k", PARALLEL, "--seed", "4", "--isolation", mode) for mode in ("fork", "none")
    )
    assert (here.code, here.err, here.last) == (forked.code, forked.err, forked.last)


def test_without_isolation_a_loop_that_exits_leaves_no_trace_on_the_other_stream() -> None:
    ran = command("check", bad("exits_in_a_run"), "-k", "parallel/one-slot", "--isolation", "none")
    assert (ran.code, ran.err) == (1, "")


def test_a_reader_who_has_enough_is_no_error() -> None:
    with started("check", "--list") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        err = process.stderr.read()
    assert (process.returncode, err) == (130, "")


def test_ctrl_c_is_one_line_and_leaves_nobody_behind(tmp_path: Path) -> None:
    (tmp_path / "loop.py").write_text(
        "import signal\nready = open('ready', 'w')\nready.write('.')\nready.flush()\nsignal.pause()\n", encoding="utf-8"
    )
    os.mkfifo(tmp_path / "ready")
    with (
        started("check", "loop.py", folder=tmp_path) as process,
        (tmp_path / "ready").open(encoding="utf-8") as ready,
    ):
        assert ready.read(1) == "."
        process.send_signal(signal.SIGINT)
        assert ready.read() == "", "the child that imports the target is gone"
        assert process.stderr is not None
        assert process.stderr.read() == "looptck: interrupted\n"
    assert process.returncode == 130
