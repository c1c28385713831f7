"""The patches of lesson4: small, exact, each killed by its own check; every check of the suite has one to fail on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.mutants.patch_sets import LARGEST, PatchSet, id_of

if TYPE_CHECKING:
    from looptck_mutants.manifest import Mutant
    from looptck_mutants.outcome import MutantsReport

LESSON4 = PatchSet("lesson4")
MUTANTS = LESSON4.mutants

REMOVED = {64}
"""Numbers whose mutants are no more. Ids are permanent: such a number is not given to another mistake."""


# ------------------------------------------------------------------------------------------------------ what is written


def test_they_are_numbered_in_order_and_removed_ones_leave_a_gap() -> None:
    numbers = [number for number in range(1, len(MUTANTS) + len(REMOVED) + 1) if number not in REMOVED]
    assert [mutant.id for mutant in MUTANTS] == [f"l{number:02}" for number in numbers]


def test_none_names_a_pitfall_for_the_lesson_numbers_none() -> None:
    assert [mutant.id for mutant in MUTANTS if mutant.pitfall is not None] == []


def test_a_patch_file_is_called_after_its_mutant() -> None:
    assert [m.patch for m in MUTANTS if not m.patch.startswith(f"{m.id}-")] == []


def test_every_mutant_has_a_title_of_its_own() -> None:
    assert len({mutant.title for mutant in MUTANTS}) == len(MUTANTS)


def test_no_two_mutants_are_the_same_loop() -> None:
    loops = {tuple(sorted(LESSON4.loop(mutant).items())) for mutant in MUTANTS}
    assert len(loops) == len(MUTANTS)


@pytest.mark.parametrize("mutant", MUTANTS, ids=id_of)
def test_a_patch_is_small_and_fits_the_installed_reference(mutant: Mutant) -> None:
    size = LESSON4.size(mutant)
    assert size.files <= LARGEST.files
    assert size.hunks <= LARGEST.hunks
    assert size.lines <= LARGEST.lines
    for module, text in LESSON4.loop(mutant).items():
        compile(text, module, "exec")


# --------------------------------------------------------------------------------------------------------- what it does


@pytest.fixture(scope="module")
def report() -> MutantsReport:
    """Every mutant against every check, once for all tests of this file."""
    return LESSON4.report()


def test_every_mutant_is_killed_by_its_own_check(report: MutantsReport) -> None:
    away = {mutant.id: mutant for mutant in report.mutants if mutant.verdict != "killed"}
    assert away == {}
    assert report.counts.killed == len(MUTANTS)


def test_every_check_fails_on_at_least_one_mutant(report: MutantsReport) -> None:
    failed = {check for mutant in report.mutants for check in mutant.killed_by}
    assert failed == set(LESSON4.checks)


def test_the_baseline_judges_every_check(report: MutantsReport) -> None:
    assert (report.baseline.verdict, report.baseline.checks) == ("pass", len(LESSON4.checks))
