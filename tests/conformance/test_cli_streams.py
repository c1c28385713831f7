"""`looptck` with standard streams that are closed or take nothing: the work is done, and it says what is not.

Each test starts a process, since the streams of this one are pytest's.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conformance.commands import PACKAGES, ROOT

CHECK = ("check", "reference", "-k", "hand/answer")
GONE, FULL = "Bad file descriptor", "No space left on device"


def shell(redirected: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command as a shell starts it, with streams as the shell redirects them."""
    line = f"{shlex.join([sys.executable, '-m', 'looptck', *arguments])} {redirected}"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(str(ROOT / name) for name in PACKAGES)}
    return subprocess.run(["sh", "-c", line], capture_output=True, text=True, env=environment, check=False)


def test_without_standard_input_a_loop_is_checked_as_ever() -> None:
    ran = shell("<&-", *CHECK)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "1 pass" in ran.stdout


@pytest.mark.parametrize(("redirected", "why"), [(">&-", GONE), (">/dev/full", FULL)])
def test_reports_are_written_though_standard_output_is_not(tmp_path: Path, redirected: str, why: str) -> None:
    file = tmp_path / "report.json"
    ran = shell(redirected, *CHECK, "--json", str(file))
    assert (ran.returncode, ran.stderr) == (4, f"looptck: standard output cannot be written: {why}\n")
    assert json.loads(file.read_text(encoding="utf-8"))["verdict"] == "pass"


def test_without_any_stream_there_is_still_the_exit_code(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    assert shell("<&- >&- 2>&-", *CHECK, "--json", str(file)).returncode == 4
    assert json.loads(file.read_text(encoding="utf-8"))["verdict"] == "pass"
    assert shell("2>&-", "check", "no.py").returncode == 4


def test_two_reports_to_standard_output_are_refused() -> None:
    ran = shell("", *CHECK, "--json", "-", "--html", "/dev/stdout")
    assert (ran.returncode, ran.stdout) == (4, "")
    assert "--html /dev/stdout: --json goes to the same file" in ran.stderr


def test_an_encoding_that_lacks_a_character_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    ran = shell("", "check", "examples/broken_loop.py", "-k", "budget/calls-none-run")
    assert ran.returncode == 1
    assert "\\u2260" in ran.stdout


def test_a_reader_who_has_the_address_has_no_say_in_the_verdict_of_a_served_scenario(tmp_path: Path) -> None:
    """The command of the client comes back when the reader of standard output is gone."""
    read = tmp_path / "read"
    os.mkfifo(read)
    client = f"{shlex.quote(sys.executable)} -c \"open('{read}').read()\""
    script = f"| {{ head -n 1; exec <&-; echo . > {read}; }}"
    hand = str(ROOT / "examples" / "scenarios" / "hand.json")
    ran = shell(script, "serve-model", hand, "--", *shlex.split(client))
    assert json.loads(ran.stdout)["type"] == "serving"
    assert ran.stderr.splitlines()[-1].startswith("INCOMPLETE hand: 0 requests")
