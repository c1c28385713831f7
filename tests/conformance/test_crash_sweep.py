"""The crash sweep: correct loops pass it, and nothing else sees loops that go wrong only when a run goes on."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

import pytest
from tests.conformance.implementations_harness import OTHER_SEED, ROOT, SEED, not_passed, not_passed_together, swept

from looptck.scenario import Scenario
from looptck.suite import extras_of, tests_of
from looptck.suite.ag03 import crash_sweep
from looptck.suite.labels import Labels

if TYPE_CHECKING:
    from pathlib import Path

    from tests.lean import Lean

CORRECT = [
    ROOT.parents[1] / "reference/looptck_reference/__init__.py",
    ROOT.parents[1] / "examples/my_loop.py",
    *sorted((ROOT / "correct").glob("*.py")),
]
WRONG = sorted((ROOT / "wrong_resumed").glob("*.py"))
EXPECTED = tomllib.loads((ROOT / "wrong_resumed/expected.toml").read_text(encoding="utf-8"))
(TEST,) = extras_of("ag03")


@pytest.mark.parametrize("file", CORRECT, ids=lambda file: file.parent.stem + "/" + file.stem)
def test_a_correct_loop_passes_every_check(file: Path, lean: Lean) -> None:
    # The reference has all scenarios, the others a part each, together all of them; `make sweep` gives all to each.
    place = CORRECT.index(file)
    assert lean(swept, file, OTHER_SEED, *((0, 1) if place == 0 else (place - 1, len(CORRECT) - 1))) == {}


@pytest.mark.parametrize("file", WRONG, ids=lambda file: file.stem)
def test_a_loop_that_goes_on_wrongly_fails_exactly_what_is_recorded(file: Path, lean: Lean) -> None:
    # A third of the scenarios, not always the same one, is enough to fail all that is recorded.
    assert sorted(lean(swept, file, SEED, WRONG.index(file) % 3, 3)) == EXPECTED[file.stem]


@pytest.mark.parametrize("file", WRONG, ids=lambda file: file.stem)
def test_nothing_else_sees_that(file: Path, lean: Lean) -> None:
    # One that keeps its count beside the journal would keep it from scenario to scenario too.
    observe = not_passed if file.stem == "counts_beside_the_journal" else not_passed_together
    assert lean(observe, "ag03", file, SEED) == {}


def test_every_such_loop_has_a_record_and_every_check_a_loop_that_fails_it() -> None:
    assert sorted(EXPECTED) == [file.stem for file in WRONG]
    assert {check for checks in EXPECTED.values() for check in checks} == {check.id for check in TEST.checks}


# the test


@pytest.mark.parametrize("seed", [1, 2, 20_261])
def test_the_names_of_its_scenarios_do_not_depend_on_the_seed(seed: int) -> None:
    names = [scenario.name for scenario in TEST.build(Labels(seed, TEST.name))]
    assert set(names) == {name for check in TEST.checks for name in check.on}
    assert len(names) == len(set(names))


def test_its_scenarios_are_such_as_could_be_read_from_a_file() -> None:
    for scenario in TEST.build(Labels(3, TEST.name)):
        assert Scenario.model_validate_json(scenario.model_dump_json()) == scenario


def test_it_sweeps_scenarios_of_every_test_that_is_not_over_http() -> None:
    swept_tests = {scenario.name.split("/")[0] for scenario in TEST.build(Labels(0, TEST.name))}
    assert swept_tests == {test.name for test in tests_of("ag03")} - {"TestFaketoolEndToEnd"}


def test_it_is_no_part_of_the_suite() -> None:
    assert TEST.name not in {test.name for test in tests_of("ag03")}
    assert extras_of("lesson4") == ()
    with pytest.raises(KeyError):
        extras_of("ag04")


def test_the_checks_can_be_had_without_scenarios() -> None:
    (bare,) = extras_of("ag03", scenarios=False)
    assert (bare.name, bare) == (TEST.name, crash_sweep.TEST)
    assert [(check.id, check.on) for check in bare.checks] == [(check.id, ()) for check in TEST.checks]
