"""The harness on small sets of mutants: each fate, and what makes a run worthless."""

from __future__ import annotations

import dataclasses
import importlib
import sys
from typing import TYPE_CHECKING, Any

import pytest
from tests.mutants.shelf import (
    ANSWER,
    CALLS,
    CAP,
    HAND,
    ONE_MORE,
    PROFILE,
    SAME,
    SEED,
    STALE,
    Shelf,
    patch,
    shelf_in,
    when_invoked,
    wrong_loop,
)

from looptck import isolate
from looptck.suite.model import equal
from looptck_mutants import harness
from looptck_mutants.harness import Harness, KitFaultError, RedBaselineError
from looptck_mutants.patchfile import PACKAGE
from looptck_mutants.profiles import mutants_of
from looptck_mutants.project import Project, reference_project

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from looptck.session import ChosenTest
    from looptck.suite.evidence import Evidence
    from looptck.suite.model import Finding
    from looptck_mutants.outcome import MutantReport, MutantsReport

AS_ARGUED = "the list is never looked at"
STALE_LINE = (
    "stale.patch:4: looptck_reference line 3: expected 'from looptck_reference.loop import Agents\\n', "
    "there is 'from looptck_reference.loop import Agent\\n'"
)
SOON = 0.2
"""Seconds that a mutant has in the tests of those that never end."""

FATES: dict[str, tuple[str, dict[str, Any], str, str]] = {
    "killed": (patch(ONE_MORE), {}, "killed", ""),
    # A crash says nothing of the killer's fact: it is not evaluated, so it kills nothing.
    "ends-process": (
        patch(when_invoked("import os; os._exit(0)")),
        {},
        "timeout",
        "the loop ended the process with exit code 0",
    ),
    "exits": (patch(when_invoked("raise SystemExit(0)")), {}, "timeout", "the loop raised SystemExit: 0"),
    "crashes": (
        patch(when_invoked("raise RuntimeError('typo')")),
        {},
        "timeout",
        "the loop could not be invoked: RuntimeError: typo",
    ),
    "others": (patch(ONE_MORE), {"killer": ANSWER}, "by_others", "hand/answer passed"),
    "survivor": (patch(SAME), {}, "survived", "max-iter/model-calls passed, as did every other check"),
    "same": (patch(SAME), {"equivalent": AS_ARGUED}, "equivalent", ""),
    "told": (
        patch(ONE_MORE),
        {"equivalent": AS_ARGUED},
        "by_others",
        "said to be equivalent, and yet told from the original",
    ),
    "signal": (
        patch(when_invoked("import os; os.kill(os.getpid(), 9)")),
        {},
        "timeout",
        "the process was ended by signal SIGKILL",
    ),
    "not-imported": (
        patch("raise RuntimeError('not today')"),
        {},
        "broken",
        "looptck_reference:Agent cannot be imported: RuntimeError: not today",
    ),
    "no-syntax": (
        patch("def"),
        {},
        "broken",
        "looptck_reference:Agent cannot be imported: SyntaxError: invalid syntax (__init__.py, line 8)",
    ),
    "no-class": (
        patch("Agent = None"),
        {},
        "broken",
        "looptck_reference has no Agent; name one with looptck_reference:Name",
    ),
    "never-run": (
        patch(SAME, "looptck_reference.docstrings"),
        {},
        "broken",
        "patched and never run: looptck_reference.docstrings",
    ),
    "stale": (
        STALE,
        {},
        "stale",
        STALE_LINE,
    ),
}
"""A mutant of each fate: its patch, what its entry says, the fate, the remark."""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> tuple[MutantsReport, int]:
    """All of them in one run, and how often it said that one is done."""
    advanced: list[MutantReport] = []
    with shelf_in(tmp_path_factory.mktemp("fates"), HAND, CAP) as shelf:
        for name, (text, entry, _, _) in FATES.items():
            shelf.put(name, text, **entry)
        return shelf.run(advanced.append), len(advanced)


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Shelf]:
    with shelf_in(tmp_path, HAND, CAP) as shelf:
        yield shelf


def only(report: MutantsReport) -> MutantReport:
    (mutant,) = report.mutants
    return mutant


# --------------------------------------------------------------------------------------------------------------- fates


@pytest.mark.parametrize("name", FATES)
def test_a_mutant_meets_its_fate(report: tuple[MutantsReport, int], name: str) -> None:
    (mutant,) = (mutant for mutant in report[0].mutants if mutant.id == name)
    assert (mutant.verdict, mutant.message) == FATES[name][2:]


def test_mutants_are_reported_in_the_order_of_the_manifest_and_counted(report: tuple[MutantsReport, int]) -> None:
    assert [mutant.id for mutant in report[0].mutants] == list(FATES)
    fates = [fate for _, _, fate, _ in FATES.values()]
    assert report[0].counts.model_dump() == {name: fates.count(name) for name in report[0].counts.model_dump()}
    assert sum(report[0].counts.model_dump().values()) == len(FATES)


def test_progress_is_told_once_for_each_mutant(report: tuple[MutantsReport, int]) -> None:
    assert report[1] == len(FATES)


def test_every_check_that_failed_is_named(report: tuple[MutantsReport, int]) -> None:
    killed_by = {mutant.id: mutant.killed_by for mutant in report[0].mutants}
    assert killed_by["killed"] == killed_by["others"] == killed_by["told"]
    assert set(killed_by["killed"]) >= {"max-iter/model-calls", "max-iter/tool-runs"}
    assert "hand/answer" not in killed_by["killed"]
    nothing = ("survivor", "same", "signal", "not-imported", "stale", "ends-process", "exits", "crashes")
    assert [killed_by[name] for name in nothing] == [[]] * len(nothing)


def test_a_report_says_what_its_mutant_is(report: tuple[MutantsReport, int]) -> None:
    first, told = report[0].mutants[0], report[0].mutants[list(FATES).index("told")]
    assert (first.title, first.patch, first.pitfall) == ("about killed", "killed.patch", None)
    assert (first.killer.test, first.killer.check) == CALLS
    assert (told.killer.test, told.killer.check) == ("", "")
    assert (report[0].profile, report[0].seed, report[0].baseline.verdict) == (PROFILE, SEED, "pass")


def test_a_mutant_that_never_yields_is_timed_out_and_not_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits: list[float | None] = []
    observe: Callable[..., Iterator[Any]] = vars(harness)["observe_forked"]

    def observed(batches: Any, **options: Any) -> Iterator[Any]:
        limits.append(options.get("limit"))
        return observe(batches, **options)

    monkeypatch.setattr(harness, "observe_forked", observed)
    monkeypatch.setattr(harness, "_LIMIT_AT_LEAST", SOON)
    monkeypatch.setattr(harness, "LIMIT", SOON)
    monkeypatch.setattr(isolate, "GRACE", SOON)
    with shelf_in(tmp_path, CALLS[1]) as shelf:
        shelf.put("spins", patch(when_invoked("while True: pass")))
        mutant = only(shelf.run())
    assert (mutant.verdict, mutant.killed_by) == ("timeout", [])
    assert mutant.message.startswith("the real-time limit passed while the event loop had no turn")
    assert limits == [None, SOON]  # the baseline, the mutants


def test_a_killer_that_fails_only_once_kills_nothing(shelf: Shelf) -> None:
    once = """
    class Once(Agent):
        built = set()

        def __init__(self, *seams, max_iter=8, **options):
            wrong = max_iter not in self.built
            self.built.add(max_iter)
            super().__init__(*seams, max_iter=max_iter + wrong, **options)


    Agent = Once
    """
    shelf.put("once", patch(once))
    mutant = only(shelf.run())
    assert (mutant.verdict, mutant.message) == ("by_others", "max-iter/model-calls failed once and not again")
    assert "max-iter/model-calls" in mutant.killed_by


# ------------------------------------------------------------------------------------------------------ worthless runs


def test_a_mutant_of_a_reference_that_is_imported_already_is_broken_and_no_survivor(shelf: Shelf) -> None:
    shelf.put("killed", patch(ONE_MORE))
    judge = Harness(reference_project(PROFILE), SEED)
    baseline = judge.baseline()
    assert PACKAGE not in sys.modules
    importlib.import_module(PACKAGE)
    mutant = only(judge.run(mutants_of(PROFILE), baseline, lambda _report: None))
    assert (mutant.verdict, mutant.killed_by) == ("broken", [])
    assert mutant.message.startswith(f"{PACKAGE} cannot be mutated, it is imported already: {PACKAGE}, ")


def test_there_is_no_baseline_of_a_reference_that_is_imported_already(shelf: Shelf) -> None:
    shelf.put("killed", patch(ONE_MORE))
    importlib.import_module(PACKAGE)
    with pytest.raises(RedBaselineError, match="cannot be mutated, it is imported already"):
        Harness(reference_project(PROFILE), SEED).baseline()


def wrong_project(folder: Path, patched: pytest.MonkeyPatch) -> Project:
    """The mutants of the shelf on a loop that is no reference."""
    return dataclasses.replace(reference_project(PROFILE), loop=wrong_loop(folder, patched))


def test_a_red_baseline_names_the_check_and_how_many_more(
    shelf: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf.put("killed", patch(ONE_MORE))
    with pytest.raises(RedBaselineError) as caught:
        Harness(wrong_project(tmp_path, monkeypatch), SEED).baseline()
    start = "the suite does not pass on the unmutated loop: max-iter/model-calls (and "
    assert str(caught.value).startswith(start)


@pytest.fixture
def faulty_check(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    """A check that raises where the model was asked once too often."""

    def faulty(e: Evidence) -> Finding:
        if len(e.requests()) > 3:
            raise LookupError("no such thing")
        return equal(0, 0)

    def chosen(profile: str, pattern: str, seed: int) -> Sequence[ChosenTest]:
        tests = choose(profile, pattern, seed)
        for test in tests:
            test.checks = [
                dataclasses.replace(check, function=faulty) if check.id == "max-iter/usage" else check
                for check in test.checks
            ]
        return tests

    choose: Callable[[str, str, int], Sequence[ChosenTest]] = vars(harness)["choose"]
    monkeypatch.setattr(harness, "choose", chosen)
    shelf.put("killed", patch(ONE_MORE))


@pytest.mark.usefixtures("faulty_check")
def test_a_check_that_raises_on_a_mutant_is_a_fault_of_the_kit_and_not_passed_over(shelf: Shelf) -> None:
    with pytest.raises(KitFaultError) as caught:
        shelf.run()
    assert str(caught.value) == "max-iter/usage on killed: LookupError: no such thing"
    assert "Traceback" in caught.value.__notes__[0]


@pytest.mark.usefixtures("faulty_check")
def test_a_check_that_raises_on_the_unmutated_loop_is_a_fault_and_no_red_baseline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(KitFaultError) as caught:
        Harness(wrong_project(tmp_path, monkeypatch), SEED).baseline()
    assert str(caught.value) == "max-iter/usage on the unmutated loop: LookupError: no such thing"
