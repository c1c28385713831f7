"""What is run for each mutant, with which tests and in which order: a test cannot know which run is of the mutant.

Slower than others: tests that count how often they are run are run for real.
"""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from tests.mutants.grading import HONEST, graded, mutant, project, reasons, written
from tests.mutants.shelf import ONE_MORE, SAME

from looptck_mutants.outcome import Baseline
from looptck_mutants.suites.counting import LATER
from looptck_mutants.suites.forking import Zygotes
from looptck_mutants.suites.harness import SuiteHarness
from looptck_mutants.suites.runs import Ended, Outcome, Run
from looptck_mutants.suites.suite import read_suite

NAMES = [f"m{number}" for number in range(60)]
BASELINE = Baseline(verdict="pass", checks=2, wall_s=0.0)
ORDERS = sorted(set(itertools.permutations((True, True, False, False))))
"""Where the mutant may stand among the runs behind the first."""


class Watched:
    """A harness whose runs are told here: the mutant fails `bad`, as `wrong` does whatever it is run on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, names: list[str], wrong: str = "") -> None:
        suite = read_suite(str(written(tmp_path / "suite")), tmp_path / "copy")
        zygotes = cast("Zygotes", SimpleNamespace(threads=ThreadPoolExecutor(1)))
        self.judge = SuiteHarness(project(tmp_path / "patches", **dict.fromkeys(names, "X = 1")), suite, 5, zygotes)
        self.judge.reasons = {"good": "", "bad": "", **({wrong: ""} if wrong else {})}
        self.runs: list[tuple[str, bool, list[str]]] = []
        self._wrong = wrong
        monkeypatch.setattr(self.judge._codes, "disguised", lambda _texts, run: (run, True))
        monkeypatch.setattr(self.judge._codes, "original", lambda _names, run: (run, False))
        monkeypatch.setattr(SuiteHarness, "_run", lambda _judge, *given: self._run(*given))

    def _run(self, modules: Any, _deaths: int, select: list[str]) -> Run:
        run, mutated = modules
        self.runs.append((run, mutated, select))
        return Run(tests=select, ended={test: Ended(self._outcome(test, mutated=mutated)) for test in select})

    def _outcome(self, test: str, *, mutated: bool) -> Outcome:
        return "assertion" if test == self._wrong or (test == "bad" and mutated) else "passed"

    def grade(self) -> list[list[str]]:
        report = self.judge.run(self.judge.project.mutants, BASELINE, lambda _report: None)
        self.judge.zygotes.threads.shutdown()
        return [each.killed_by for each in report.mutants]


def test_which_runs_are_of_the_mutant_is_drawn_for_each_and_comes_from_the_seed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    watched = [Watched(monkeypatch, tmp_path / name, NAMES) for name in ("a", "b")]
    killed = []
    for each in watched:
        monkeypatch.setattr(SuiteHarness, "_run", lambda _judge, *given, each=each: each._run(*given))
        killed.append(each.grade())
    assert killed == [[["bad"]] * len(NAMES)] * 2
    first, second = watched
    assert first.runs == second.runs
    drawn = [tuple(mutated for _, mutated, _ in runs) for runs in zip(*[iter(first.runs)] * 5, strict=True)]
    assert {order[0] for order in drawn} == {True}
    assert sorted({order[1:] for order in drawn}) == ORDERS


def test_the_runs_of_a_mutant_have_the_same_tests_and_disguises_of_their_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    watched = Watched(monkeypatch, tmp_path, ["m0"])
    watched.grade()
    assert [select for _, _, select in watched.runs] == [["good", "bad"], *[["bad"]] * 4]
    assert [run for run, _, _ in watched.runs] == [f"m0/{number}" for number in range(5)]


def test_every_mutant_is_run_with_the_tests_that_count_at_first(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    watched = Watched(monkeypatch, tmp_path, ["m0", "m1"], wrong="chance")
    assert watched.grade() == [["bad"]] * 2
    assert watched.judge.reasons == {"good": "", "bad": "", "chance": LATER}
    assert [select for run, _, select in watched.runs if run.endswith("/0")] == [["good", "bad", "chance"]] * 2


# ----------------------------------------------------------------------------------------------------- tests that count

COUNTS = """
import pathlib
import pytest

OUTSIDE = pathlib.Path(r"{outside}")
ORDERS = {orders}


def executions(name):
    with (OUTSIDE / name).open("a") as file:
        file.write(".")
    return (OUTSIDE / name).stat().st_size


def test_fails_on_two_of_three():
    number = executions("three") - {before}
    assert number <= 0 or number % 3 == 0


@pytest.mark.parametrize("order", range(len(ORDERS)))
def test_guesses(order):
    number = executions(str(order)) - {before} - 1
    assert number < 0 or not (True, *ORDERS[order])[number % 5]
"""
BEFORE = 4
"""How often the unmutated loop is run before the mutants."""


def test_a_test_that_only_counts_its_runs_kills_nothing(tmp_path: Path) -> None:
    """It never touches the loop, and fails wherever the mutant may be, in each order that there is."""
    (tmp_path / "outside").mkdir()
    text = COUNTS.format(outside=tmp_path / "outside", orders=ORDERS, before=BEFORE)
    suite = written(tmp_path / "suite", test_counts=text, test_honest=HONEST)
    with Zygotes([], 1) as zygotes:
        of = project(tmp_path / "patches", more=ONE_MORE, same=SAME, other="X = 1")
        report = graded(suite, of, zygotes, tmp_path / "copy")
    assert reasons(report) == {
        "test_fails_on_two_of_three": LATER,
        **{f"test_guesses[{number}]": LATER for number in range(len(ORDERS))},
        "test_the_cap": "",
    }
    assert mutant(report, "more").killed_by == ["test_honest.py::test_the_cap"]
    assert mutant(report, "same").killed_by == mutant(report, "other").killed_by == []
