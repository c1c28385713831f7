"""The processes that runs are forked from, and what a run finds around it.

Slower than others: each starts a process that imports pytest.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.mutants.grading import HONEST, graded, project, written

from looptck_mutants.harness import KitFaultError
from looptck_mutants.project import Project
from looptck_mutants.suites.forking import ClosedError, Zygotes
from looptck_mutants.suites.harness import SuiteHarness
from looptck_mutants.suites.suite import read_suite
from looptck_mutants.suites.warming import warmed


@pytest.fixture(scope="module")
def zygotes() -> Iterator[Zygotes]:
    with Zygotes([], 1) as zygotes:
        yield zygotes


@pytest.fixture
def of(tmp_path: Path) -> Project:
    return project(tmp_path / "patches")


def ended(suite: Path, of: Project, zygotes: Zygotes, place: Path) -> dict[str, str]:
    """The reasons of a suite's tests; no mutant is run."""
    judge = SuiteHarness(of, read_suite(str(suite), place), 5, zygotes)
    judge.baseline()
    return judge.reasons


def is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").split()[2] != "Z" if Path("/proc").exists() else True


def test_what_a_run_leaves_in_its_group_is_ended(zygotes: Zygotes, of: Project, tmp_path: Path) -> None:
    left = tmp_path / "left"
    text = f"""
    import pathlib, subprocess


    def test_leaves_something():
        process = subprocess.Popen(["sleep", "600"])
        with pathlib.Path({str(left)!r}).open("a") as file:
            print(process.pid, file=file)
    """
    assert ended(written(tmp_path / "suite", test_it=text), of, zygotes, tmp_path / "copy") == {
        "test_it.py::test_leaves_something": ""
    }
    pids = list(map(int, left.read_text(encoding="utf-8").split()))
    assert len(pids) == 4
    given_up = time.monotonic() + 30  # a signal that was sent takes a moment
    while (there := [pid for pid in pids if is_there(pid)]) and time.monotonic() < given_up:
        pass
    assert there == []


def test_a_run_has_a_folder_of_its_own_and_no_settings_of_the_user(
    of: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = """
    import os, pathlib, sys, tempfile


    def test_where_it_is():
        here = pathlib.Path(__file__).parent
        assert pathlib.Path.cwd() == here
        assert str(here) in sys.path
        assert here.parent == pathlib.Path.home().parent == pathlib.Path(tempfile.gettempdir()).parent
        assert not list(here.rglob("__pycache__"))
        assert sys.argv == ["pytest"]
        assert "PYTEST_ADDOPTS" not in os.environ
    """
    monkeypatch.setenv("PYTEST_ADDOPTS", "--no-such-option")
    with Zygotes([], 1) as fresh:
        suite = written(tmp_path / "suite", test_it=text)
        assert ended(suite, of, fresh, tmp_path / "copy") == {"test_it.py::test_where_it_is": ""}


@pytest.mark.parametrize(
    ("name", "settings", "found"),
    [
        ("pytest.ini", "[pytest]\npython_functions = check_*\n", "check_that"),
        ("pyproject.toml", '[tool.pytest.ini_options]\npython_functions = "check_*"\n', "check_that"),
        ("setup.cfg", "[tool:pytest]\npython_functions = check_*\n", "check_that"),
        ("pyproject.toml", "[project]\nname = 'suite'\n", "test_this"),
        ("tox.ini", "[tox]\n", "test_this"),
        ("pyproject.toml", "not TOML", "test_this"),
    ],
)
def test_settings_of_the_suites_own_folder_hold(
    name: str, settings: str, found: str, zygotes: Zygotes, of: Project, tmp_path: Path
) -> None:
    suite = written(tmp_path / "suite", test_it="def test_this(): pass\ndef check_that(): pass")
    (suite / name).write_text(settings, encoding="utf-8")
    judge = SuiteHarness(of, read_suite(str(suite), tmp_path / "copy"), 5, zygotes)
    assert judge._run(judge._codes.plain, 0).tests == [f"test_it.py::{found}"]


def test_what_imports_threads_is_not_imported_before_the_fork(
    of: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread = "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\n"
    (tmp_path / "threaded_at_import.py").write_text(thread, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    text = "import sys\n\n\ndef test_it():\n    assert 'threaded_at_import' not in sys.modules\n"
    suite = written(tmp_path / "suite", test_it=text)
    with Zygotes(["threaded_at_import"], 1) as fresh:
        assert ended(suite, of, fresh, tmp_path / "copy") == {"test_it.py::test_it": ""}


def test_a_loop_that_is_there_before_the_fork_is_a_fault_of_the_kit(of: Project, tmp_path: Path) -> None:
    suite = written(tmp_path / "suite", test_it=HONEST)
    with Zygotes(["looptck_reference"], 1) as fresh, pytest.raises(KitFaultError, match="is imported already"):
        ended(suite, of, fresh, tmp_path / "copy")


def test_what_is_warmed_is_installed_and_neither_the_loops_nor_the_suites(of: Project, tmp_path: Path) -> None:
    text = "import json, helpers, looptck_reference, no_such_thing\nfrom hypothesis import given\nfrom . import x\n"
    suite = written(tmp_path / "suite", test_it=text, json="", broken="def")
    names = warmed(of, read_suite(str(suite), tmp_path / "copy"))
    assert {"asyncio", "hypothesis"} <= set(names)
    assert not {"json", "helpers", "looptck_reference", "no_such_thing", "looptck.contract"} & set(names)


def test_behind_the_context_everything_is_ended_and_nothing_starts(of: Project, tmp_path: Path) -> None:
    before = threading.active_count()
    with Zygotes([], 1) as zygotes:
        judge = SuiteHarness(
            of, read_suite(str(written(tmp_path / "suite", test_it=HONEST)), tmp_path / "copy"), 5, zygotes
        )
        assert judge._run(judge._codes.plain, 0).ended
        with zygotes.one() as zygote:
            assert zygote._process is not None
            pid = zygote._process.pid
    assert not is_there(pid)
    assert threading.active_count() == before
    with pytest.raises(ClosedError):
        judge._run(judge._codes.plain, 0)


def test_mutants_that_cannot_be_run_are_told_apart(zygotes: Zygotes, tmp_path: Path) -> None:
    broken = {"raises": "raise KeyError('at import')", "syntax": "def", "stale": "AGENTS = [Agent]", "equal": "X = 1"}
    of = project(tmp_path / "patches", **broken)
    stale = (tmp_path / "patches" / "stale.patch").read_text(encoding="utf-8").replace("import Agent", "import Agents")
    (tmp_path / "patches" / "stale.patch").write_text(stale, encoding="utf-8")
    report = graded(written(tmp_path / "suite", test_it=HONEST), of, zygotes, tmp_path / "copy")
    found = {each.id: (each.verdict, each.message.partition(":")[0]) for each in report.mutants}
    assert found == {
        "raises": ("broken", "KeyError"),
        "syntax": ("broken", "SyntaxError"),
        "stale": ("stale", "stale.patch"),
        "equal": ("survived", "no test failed"),
    }
    assert report.exit_code() == 2
