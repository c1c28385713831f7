"""The patches of ag03: small, exact, each killed by its own check; and every check of the suite has one to fail on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.mutants.patch_sets import LARGEST, PatchSet, id_of

if TYPE_CHECKING:
    from looptck_mutants.manifest import Mutant
    from looptck_mutants.outcome import MutantsReport

AG03 = PatchSet("ag03")
MUTANTS = AG03.mutants

GATE, HAND = "TestGateVerdicts", "TestHandExample"
BUDGET, PARALLEL = "TestBudgetStopsBeforeDispatch", "TestParallelToolsBoundedOrderPreserved"
SPECIFIED = {
    "s01": (1, "TestMaxIterStops"),
    "s02": (2, PARALLEL),
    "s03": (2, PARALLEL),
    "s04": (3, BUDGET),
    "s05": (3, BUDGET),
    "s06": (4, GATE),
    "s07": (4, GATE),
    "s08": (4, GATE),
    "s09": (5, GATE),
    "s10": (6, "TestSystemPrompt"),
    "s11": (7, "TestStepRunnerNames"),
    "s12": (6, HAND),
    "s13": (3, HAND),
    "s14": (4, GATE),
    "s15": (7, "TestSpans"),
    "s16": (8, "TestProviderErrorEndsRun"),
    "s17": (8, "TestStepRunnerErrorEndsRun"),
}
"""The specification's own mutants: the pitfall of section 5 that each stands for, and the test that catches it."""


# ------------------------------------------------------------------------------------------------------ what is written


def test_the_specifications_own_mutants_come_first_each_with_its_pitfall_and_test() -> None:
    own = [(m.id, m.pitfall, m.killer.test if m.killer is not None else "") for m in MUTANTS[: len(SPECIFIED)]]
    assert own == [(name, *record) for name, record in SPECIFIED.items()]


def test_the_others_are_numbered_in_order() -> None:
    others = [mutant.id for mutant in MUTANTS[len(SPECIFIED) :]]
    assert others == [f"x{number:03}" for number in range(1, len(others) + 1)]


def test_a_patch_file_is_called_after_its_mutant() -> None:
    assert [m.patch for m in MUTANTS if not m.patch.startswith(f"{m.id}-")] == []


def test_every_mutant_has_a_title_of_its_own() -> None:
    assert len({mutant.title for mutant in MUTANTS}) == len(MUTANTS)


def test_no_two_mutants_are_the_same_loop() -> None:
    loops = {tuple(sorted(AG03.loop(mutant).items())) for mutant in MUTANTS}
    assert len(loops) == len(MUTANTS)


@pytest.mark.parametrize("mutant", MUTANTS, ids=id_of)
def test_a_patch_is_small_and_fits_the_installed_reference(mutant: Mutant) -> None:
    size = AG03.size(mutant)
    assert size.files <= LARGEST.files
    assert size.hunks <= LARGEST.hunks
    assert size.lines <= LARGEST.lines
    for module, text in AG03.loop(mutant).items():
        compile(text, module, "exec")


# --------------------------------------------------------------------------------------------------------- what it does


@pytest.fixture(scope="module")
def report() -> MutantsReport:
    """Every mutant against every check, once for all tests of this file."""
    return AG03.report()


def test_every_mutant_is_killed_by_its_own_check(report: MutantsReport) -> None:
    away = {mutant.id: mutant for mutant in report.mutants if mutant.verdict != "killed"}
    assert away == {}
    assert report.counts.killed == len(MUTANTS)


def test_every_check_fails_on_at_least_one_mutant(report: MutantsReport) -> None:
    failed = {check for mutant in report.mutants for check in mutant.killed_by}
    assert failed == set(AG03.checks)


def test_the_baseline_judges_every_check(report: MutantsReport) -> None:
    assert (report.baseline.verdict, report.baseline.checks) == ("pass", len(AG03.checks))
