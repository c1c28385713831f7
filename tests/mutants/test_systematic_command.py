"""`looptck mutants --systematic` as a user meets it: its errors, and mutmut really run on loops of a few lines."""

from __future__ import annotations

import json
import os
import re
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from looptck import cli
from looptck_mutants.schemas import mutants_schema
from looptck_mutants.systematic import running
from looptck_mutants.systematic.running import MutmutError, run_mutmut

FARES = """\
def total(rides, cap=3):
    if rides > cap:
        return cap * 2
    return rides * 2


def label(rides):
    return f"{total(rides)} coins"
"""
TESTS = """\
from fares import label, total


def test_capped():
    assert total(5) == 6


def test_free():
    assert total(2) == 4


def test_label():
    assert label(1) == "2 coins"
"""
LOOP = """\
from looptck_reference.metered import Agent as Reference, Budget

__all__ = ["Agent", "Budget"]


class Agent(Reference):
    def run(self, task, history=None):
        return super().run(task, history)
"""
EXPLAINED = """\
[[entry]]
function = "fares.total"
why = "equivalent"
argument = "at the cap both say the same"
changes = ['''
- if rides > cap:
+ if rides >= cap:
''']

[[entry]]
function = "fares.total"
why = "outside"
argument = "the cap is left open"
changes = ['''
- def total(rides, cap=3):
+ def total(rides, cap=4):
''']
"""


def looptck(*arguments: object) -> int:
    return cli.run(["mutants", "--systematic", "--jobs", "2", *map(str, arguments)])


def refusal(capsys: pytest.CaptureFixture[str]) -> str:
    """The one line of an error; nothing else is printed on standard error."""
    (line,) = capsys.readouterr().err.splitlines()
    return line.removeprefix("looptck: ").removesuffix(" (looptck --help)")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a file, its tests, and a loop."""
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    for name, text in (("fares.py", FARES), ("test_fares.py", TESTS), ("loop.py", LOOP), ("known.toml", EXPLAINED)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


# --------------------------------------------------------------------------------------------------------------- errors


def test_without_mutmut_a_line_says_how_to_install_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(running, "version", missing)
    assert looptck() == 4
    assert refusal(capsys) == '--systematic needs mutmut: python -m pip install "mutmut>=3.8.1,<3.9"'


@pytest.mark.parametrize("found", ["3.8.0", "3.9.0", "2.5", "4.0"])
def test_another_mutmut_is_refused_for_its_results_have_another_form(
    found: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "version", lambda _: found)
    assert looptck() == 4
    assert refusal(capsys).startswith(f"--systematic cannot read the results of mutmut {found}: python -m pip install")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--source", "nowhere.py"), "--source nowhere.py: there is no such file or folder"),
        (("--loop", "a:B"), "--loop needs --source: the reference has its own"),
        (("--triage", "known.toml"), "--triage needs --source: the reference has its own"),
        (("--tests", "tests"), "--tests needs --source: the reference has its own"),
        (("--profile", "ag04"), "there is no profile 'ag04'; there are ag03 and lesson4"),
    ],
)
def test_options_that_do_not_hold_are_told_in_a_line(
    arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert looptck(*arguments) == 4
    assert refusal(capsys) == message


@pytest.mark.parametrize("option", ["--source", "--loop", "--stage", "--triage"])
def test_its_options_are_refused_without_it(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["mutants", option, "x"]) == 4
    assert refusal(capsys) == f"{option} belongs to --systematic"


def test_a_triage_file_or_tests_or_a_stage_that_cannot_be_used_are_told_in_a_line(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = ("--source", folder / "fares.py")
    assert looptck(*source, "--triage", folder / "none.toml") == 4
    assert refusal(capsys) == "none.toml: No such file or directory"
    assert looptck(*source, "--tests", folder / "none") == 4
    assert refusal(capsys) == f"--tests {folder / 'none'}: there is no such file or folder"
    assert looptck(*source, "--stage", folder) == 4
    assert refusal(capsys).startswith(f"--stage {folder} is no stage of an earlier run")


def test_where_mutmut_fails_its_last_words_are_told(tmp_path: Path) -> None:
    """Takes a second: mutmut is started in a folder that is no stage."""
    with pytest.raises(MutmutError, match=r"^mutmut ended with 1: .*Could not figure out where the code to mutate is"):
        run_mutmut(tmp_path, None, 1, lambda *_: None)


OUTLIVES = """
import os, signal, sys
def tell(*_):
    os.write(door, b"outlived")
    os._exit(0)
door = os.open(sys.argv[1], os.O_WRONLY)
signal.signal(signal.SIGALRM, tell)
signal.alarm(5)
signal.pause()
"""


def test_what_a_test_left_running_ends_with_mutmut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process in mutmut's group holds a pipe open, and would write to it after five seconds."""
    door, script = tmp_path / "door", tmp_path / "outlives.py"
    os.mkfifo(door)
    script.write_text(OUTLIVES, encoding="utf-8")
    start = f"""
import subprocess, sys
nowhere = subprocess.DEVNULL
subprocess.Popen([sys.executable, {str(script)!r}, {str(door)!r}], stdin=nowhere, stdout=nowhere, stderr=nowhere)
open({str(door)!r}, "rb").close()
"""
    monkeypatch.setattr(running, "_START", start)
    with os.fdopen(os.open(door, os.O_RDONLY | os.O_NONBLOCK), "rb") as pipe:
        run_mutmut(tmp_path, None, 1, lambda *_: None)
        os.set_blocking(pipe.fileno(), True)
        assert pipe.read() == b""


# -------------------------------------------------------------------------------------------------------- mutmut is run
# Each of these takes seconds: mutmut starts, runs the tests three times on the unmutated code, and then on the mutants.


def test_mutants_are_killed_by_tests_and_after_an_edit_only_those_of_the_function_run_again(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = ("--source", folder / "fares.py", "--tests", folder / "test_fares.py", "--stage", folder / "stage")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert looptck(*own, "--json", folder / "first.json", "--html", folder / "first.html") == 1
    first = report(folder / "first.json")
    assert first["systematic"]["redone"] == len(first["mutants"])
    survived = {mutant["title"]: mutant["message"] for mutant in first["mutants"] if mutant["verdict"] == "survived"}
    error = "ended with an error, which is no assertion: TypeError: '>' not supported between instances of"
    assert survived.pop('return f"{total(None)} coins"').startswith(f"tests/test_fares.py::test_label {error}")
    assert survived == {"if rides >= cap:": "nothing failed"}
    (half,) = (mutant for mutant in first["mutants"] if mutant["title"] == "return cap / 2")
    assert (half["verdict"], half["killed_by"]) == ("killed", ["tests/test_fares.py::test_capped"])
    printed = capsys.readouterr().out
    assert re.search(r"survived m-total-\d+ if rides >= cap:\n  nothing failed\n", printed)
    assert "These kills were seen once" in printed
    assert {test["id"]: test["kills"] > 0 for test in first["suite"]["tests"]} == {
        f"tests/test_fares.py::test_{name}": True for name in ("capped", "free", "label")
    }
    page = (folder / "first.html").read_text(encoding="utf-8")
    assert "return cap / 2" in page
    assert f"looptck mutants --systematic --source {folder / 'fares.py'} --profile ag03" in page
    written = {"stage", "first.json", "first.html"}
    assert {path.name: path.read_bytes() for path in folder.iterdir() if path.name not in written} == before

    (folder / "fares.py").write_text(FARES.replace("rides)} coins", "rides + 0)} coins"), encoding="utf-8")
    assert looptck(*own, "--triage", folder / "known.toml", "--json", folder / "second.json") == 1
    second = report(folder / "second.json")
    of_label = [mutant for mutant in second["mutants"] if mutant["id"].startswith("m-label-")]
    assert second["systematic"]["redone"] == len(of_label) < len(second["mutants"])
    (known,) = (mutant for mutant in second["mutants"] if mutant["title"] == "if rides >= cap:")
    assert (known["verdict"], known["message"]) == ("equivalent", "equivalent: at the cap both say the same")
    (stale,) = second["systematic"]["stale"]
    assert stale.startswith("fares.total: no mutant gets away by - def total(rides, cap=3):")
    assert f"stale entry: {stale}" in " ".join(capsys.readouterr().out.split())


def test_the_suite_judges_a_loop_whose_tests_are_not_given(folder: Path) -> None:
    source = ("--source", folder / "loop.py", "--profile", "lesson4")
    assert looptck(*source, "--seed", 7, "--json", folder / "loop.json", "--html", folder / "loop.html") == 0
    seen = report(folder / "loop.json")
    assert (seen["loop"], seen["seed"], seen["counts"]["killed"]) == ("loop:Agent", 7, len(seen["mutants"]))
    (without_history,) = (m for m in seen["mutants"] if m["title"] == "return super().run(task, None)")
    assert "history/of-run" in without_history["killed_by"]


def test_where_the_loop_itself_fails_no_kill_would_mean_anything(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "loop.py").write_text(LOOP.replace("run(task, history)\n", "run(task)\n"), encoding="utf-8")
    assert looptck("--source", folder / "loop.py", "--profile", "lesson4", "--seed", 7) == 2
    assert re.match(r"the tests do not pass on the unmutated loop: .* \(and \d+ more\): fails", refusal(capsys))


def report(file: Path) -> dict[str, Any]:
    """A report of a run, which has the form that its schema says."""
    written: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    jsonschema.validate(written, mutants_schema())
    return written
