"""The patches that ship: small, exact, each killed by its own check; and every check of a suite has one to fail on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.mutants.patch_sets import LARGEST, PatchSet, report_of

from looptck_mutants.matrix import matrix_of, out_of_date

if TYPE_CHECKING:
    from tests.lean import Lean

    from looptck_mutants.manifest import Mutant
    from looptck_mutants.outcome import MutantsReport

AG03, LESSON4 = PatchSet("ag03"), PatchSet("lesson4")
PATCH_SETS = (AG03, LESSON4)

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
"""The mutants that ag03's specification names: the pitfall of section 5 that each stands for, and the test for it."""

REMOVED = {64}
"""Numbers of lesson4 whose mutants are no more. Ids are permanent: such a number is not given to another mistake."""

each_set = pytest.mark.parametrize("patches", PATCH_SETS, ids=lambda patches: patches.profile)
each_mutant = pytest.mark.parametrize(
    ("patches", "mutant"),
    [
        pytest.param(patches, mutant, id=f"{patches.profile}-{mutant.id}")
        for patches in PATCH_SETS
        for mutant in patches.mutants
    ],
)


# ------------------------------------------------------------------------------------------------- how they are called


def test_the_specifications_own_mutants_come_first_each_with_its_pitfall_and_test() -> None:
    own = [(m.id, m.pitfall, m.killer.test if m.killer is not None else "") for m in AG03.mutants[: len(SPECIFIED)]]
    assert own == [(name, *record) for name, record in SPECIFIED.items()]


def test_the_others_of_ag03_are_numbered_in_order() -> None:
    others = [mutant.id for mutant in AG03.mutants[len(SPECIFIED) :]]
    assert others == [f"x{number:03}" for number in range(1, len(others) + 1)]


def test_those_of_lesson4_are_numbered_in_order_and_removed_ones_leave_a_gap() -> None:
    numbers = [number for number in range(1, len(LESSON4.mutants) + len(REMOVED) + 1) if number not in REMOVED]
    assert [mutant.id for mutant in LESSON4.mutants] == [f"l{number:02}" for number in numbers]


def test_none_of_lesson4_names_a_pitfall_for_the_lesson_numbers_none() -> None:
    assert [mutant.id for mutant in LESSON4.mutants if mutant.pitfall is not None] == []


# ------------------------------------------------------------------------------------------------------ what is written


@each_set
def test_a_patch_file_is_called_after_its_mutant(patches: PatchSet) -> None:
    assert [m.patch for m in patches.mutants if not m.patch.startswith(f"{m.id}-")] == []


@each_set
def test_every_mutant_has_a_title_of_its_own(patches: PatchSet) -> None:
    assert len({mutant.title for mutant in patches.mutants}) == len(patches.mutants)


@each_set
def test_no_two_mutants_are_the_same_loop(patches: PatchSet) -> None:
    loops = {tuple(sorted(patches.loop(mutant).items())) for mutant in patches.mutants}
    assert len(loops) == len(patches.mutants)


@each_mutant
def test_a_patch_is_small_and_fits_the_installed_reference(patches: PatchSet, mutant: Mutant) -> None:
    size = patches.size(mutant)
    assert size.files <= LARGEST.files
    assert size.hunks <= LARGEST.hunks
    assert size.lines <= LARGEST.lines
    for module, text in patches.loop(mutant).items():
        compile(text, module, "exec")


# --------------------------------------------------------------------------------------------------------- what it does


@pytest.fixture(scope="module", params=PATCH_SETS, ids=lambda patches: patches.profile)
def tested(request: pytest.FixtureRequest, lean: Lean) -> tuple[PatchSet, MutantsReport]:
    """A third of the mutants of a profile, or all, each against every check, once for all tests of this file."""
    patches: PatchSet = request.param
    return patches, lean(report_of, patches.profile, 1 if request.config.getoption("every_mutant") else 3)


def test_every_mutant_is_killed_by_its_own_check(tested: tuple[PatchSet, MutantsReport]) -> None:
    patches, report = tested
    away = {mutant.id: mutant for mutant in report.mutants if mutant.verdict != "killed"}
    assert away == {}
    assert len(patches.mutants) <= 3 * report.counts.killed


def test_the_recorded_matrix_is_what_the_mutants_fail(tested: tuple[PatchSet, MutantsReport]) -> None:
    patches, report = tested
    ran = {mutant.id for mutant in report.mutants}
    matrix = matrix_of(patches.profile)
    of_these = matrix.model_copy(update={"mutants": [one for one in matrix.mutants if one.id in ran]})
    assert out_of_date(of_these, report) == [], "python -m looptck_mutants.matrix records it anew"


@each_set
def test_every_mutant_is_recorded(patches: PatchSet) -> None:
    assert [one.id for one in matrix_of(patches.profile).mutants] == [mutant.id for mutant in patches.mutants]


@each_set
def test_every_check_fails_on_at_least_one_mutant(patches: PatchSet) -> None:
    failed = {check for one in matrix_of(patches.profile).mutants for check in one.failed}
    assert failed == set(patches.checks)


def test_the_baseline_judges_every_check(tested: tuple[PatchSet, MutantsReport]) -> None:
    patches, report = tested
    assert (report.baseline.verdict, report.baseline.checks) == ("pass", len(patches.checks))
