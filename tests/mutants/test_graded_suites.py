"""The table of graded suites is what was recorded, and the record is of the suites and mutants that there are.

That it holds is tried on a few mutants of each suite. Slower than others: they are run as for any user.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.mutants.graded_suites import FOLDER, ROOT, SEED, SUITES, digest, profile_of, recorded, shown, table

from looptck_mutants.profiles import mutants_of
from looptck_mutants.project import reference_project
from looptck_mutants.suites.forking import Zygotes
from looptck_mutants.suites.harness import SuiteHarness
from looptck_mutants.suites.suite import Suite, read_suite
from looptck_mutants.suites.warming import warmed

AGAIN = "python -m tests.mutants.graded_suites makes it anew"
KILLS = 3
"""How many of the recorded kills are tried."""


@pytest.fixture(scope="module")
def suites(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Suite]:
    return {name: read_suite(str(ROOT / FOLDER / name), tmp_path_factory.mktemp(name)) for name in SUITES}


@pytest.fixture(scope="module")
def zygotes(suites: dict[str, Suite]) -> Iterator[Zygotes]:
    modules = {
        module for name, suite in suites.items() for module in warmed(reference_project(profile_of(name)), suite)
    }
    with Zygotes(sorted(modules), 2) as zygotes:
        yield zygotes


def tried(name: str) -> list[str]:
    """Of the recorded kills the first, the last and one between, and the first mutant that no test failed on."""
    graded = recorded()[name]
    killed, survived = list(graded.killed), [mutant for mutant, fate in graded.away.items() if fate == "survived"]
    places = {round(place * (len(killed) - 1) / (KILLS - 1)) for place in range(KILLS)} if killed else set()
    return [*(killed[place] for place in sorted(places)), *survived[:1]]


def test_the_page_shows_what_was_recorded() -> None:
    assert list(recorded()) == SUITES
    assert shown() == table(recorded())


def test_what_the_page_says_of_the_suites_is_what_was_recorded() -> None:
    record = recorded()
    approvals_taint_steps_spans = {"s07", "s08", "s09", "s11", "s14", "s15"}
    assert record["ag03_first_tests"].idle == []
    assert approvals_taint_steps_spans <= set(record["ag03_first_tests"].away)
    assert record["ag03_happy_path"].idle == ["test_happy_path.py::TestAgent::test_answers"]
    prices_tokens_denials = {"l10", "l11", "l12", "l14"}
    assert prices_tokens_denials <= set(record["lesson4_named_tests"].away)
    assert record["lesson4_smoke"].killed == {}


@pytest.mark.parametrize("name", SUITES)
def test_the_record_is_of_the_suite_and_of_the_mutants_as_they_are(name: str) -> None:
    graded = recorded()[name]
    assert graded.text == digest(name), AGAIN
    assert {*graded.killed, *graded.away} == {mutant.id for mutant in mutants_of(profile_of(name))}, AGAIN


@pytest.mark.parametrize("name", SUITES)
def test_what_is_recorded_happens(name: str, suites: dict[str, Suite], zygotes: Zygotes) -> None:
    graded, project = recorded()[name], reference_project(profile_of(name))
    judge = SuiteHarness(project, suites[name], SEED, zygotes)
    chosen = [mutant for mutant in project.mutants if mutant.id in tried(name)]
    report = judge.run(chosen, judge.baseline(), lambda _report: None)
    assert list(judge.reasons.values()) == [""] * graded.tests
    assert {mutant.id: mutant.killed_by for mutant in report.mutants} == {
        mutant: graded.killed.get(mutant, []) for mutant in tried(name)
    }
    assert {mutant.id: mutant.verdict for mutant in report.mutants} == {
        mutant: "killed" if mutant in graded.killed else "survived" for mutant in tried(name)
    }


@pytest.mark.parametrize("name", SUITES)
def test_kills_and_a_survivor_of_each_suite_are_tried(name: str) -> None:
    graded = recorded()[name]
    assert len(set(tried(name)) & set(graded.killed)) == min(KILLS, len(graded.killed))
    assert len(set(tried(name)) & set(graded.away)) == 1
