"""The patches of ag03: small, exact, each killed by its own check; and every check of the suite has one to fail on."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from looptck.cli.options import REFERENCES
from looptck_mutants.harness import Harness
from looptck_mutants.mutated_import import installed_sources
from looptck_mutants.patchfile import PACKAGE, Patch, apply, load
from looptck_mutants.profiles import known_checks, mutants_of, patches_of

if TYPE_CHECKING:
    from looptck_mutants.manifest import Mutant
    from looptck_mutants.outcome import MutantsReport

PROFILE = "ag03"
SEED = 1
MUTANTS = mutants_of(PROFILE)
SOURCES = installed_sources(PACKAGE)

MOST_HUNKS, MOST_FILES, MOST_LINES = 3, 2, 20

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


def _name(mutant: Mutant) -> str:
    return mutant.id


def _patch(mutant: Mutant) -> Patch:
    return load(patches_of(PROFILE) / mutant.patch)


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
    loops = {tuple(sorted(apply(_patch(mutant), SOURCES).items())) for mutant in MUTANTS}
    assert len(loops) == len(MUTANTS)


@pytest.mark.parametrize("mutant", MUTANTS, ids=_name)
def test_a_patch_is_small_and_fits_the_installed_reference(mutant: Mutant) -> None:
    patch = _patch(mutant)
    hunks = [hunk for file in patch.files for hunk in file.hunks]
    changed = [line for hunk in hunks for line in hunk.body if not line.is_context]
    assert len(patch.files) <= MOST_FILES
    assert len(hunks) <= MOST_HUNKS
    assert len(changed) <= MOST_LINES
    for module, text in apply(patch, SOURCES).items():
        compile(text, module, "exec")


# --------------------------------------------------------------------------------------------------------- what it does


@pytest.fixture(scope="module")
def report() -> MutantsReport:
    """Every mutant against every check, once for all tests of this file, with the reference imported nowhere."""
    with pytest.MonkeyPatch.context() as patched:
        for module in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
            patched.delitem(sys.modules, module)
        harness = Harness(PROFILE, REFERENCES[PROFILE], SEED)
        return harness.run(MUTANTS, harness.baseline(), lambda: None)


def test_every_mutant_is_killed_by_its_own_check(report: MutantsReport) -> None:
    away = {mutant.id: mutant for mutant in report.mutants if mutant.verdict != "killed"}
    assert away == {}
    assert report.counts.killed == len(MUTANTS)


def test_every_check_fails_on_at_least_one_mutant(report: MutantsReport) -> None:
    failed = {check for mutant in report.mutants for check in mutant.killed_by}
    assert failed == set(known_checks(PROFILE))


def test_the_baseline_judges_every_check(report: MutantsReport) -> None:
    assert (report.baseline.verdict, report.baseline.checks) == ("pass", len(known_checks(PROFILE)))
