"""The recorded kill matrix: how it is made of runs, what tells that it is old, and what ships."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.mutants.outcomes import found, met, outcome

from looptck.suite import PROFILES
from looptck_mutants import harness, matrix
from looptck_mutants.pitfalls import PITFALLS
from looptck_mutants.profiles import mutants_of

if TYPE_CHECKING:
    from pathlib import Path

    from looptck_mutants.outcome import MutantReport, MutantsReport

S04, S05 = found("ag03", "s04"), found("ag03", "s05")


def ran(seed: int, *mutants: MutantReport, profile: str = "ag03") -> MutantsReport:
    """A run of these mutants."""
    return outcome(profile, *mutants).model_copy(update={"seed": seed})


# how it is made


def test_a_column_holds_what_failed_with_every_seed_and_the_rest_is_kept_apart() -> None:
    runs = [ran(1, met(S04, killed_by=["b", "a"])), ran(2, met(S04, killed_by=["a", "c", "b"]))]
    made = matrix.recorded(runs)
    (one,) = made.mutants
    assert (made.profile, made.seeds) == ("ag03", [1, 2])
    assert (one.id, one.title, one.pitfall, one.killer) == ("s04", S04.title, 3, "budget/calls-none-run")
    assert (one.failed, one.sometimes) == (["a", "b"], ["c"])


def test_a_mutant_that_is_equivalent_has_no_column() -> None:
    assert matrix.recorded([ran(1, met(S04, verdict="equivalent", killed_by=[]))]).mutants == []


def test_a_mutant_that_was_not_killed_with_every_seed_is_not_recorded() -> None:
    runs = [ran(1, met(S04)), ran(2, met(S04, verdict="by_others"))]
    with pytest.raises(matrix.NotRecordedError, match=r"^s04 of ag03 is by_others, not killed, with seed 2$"):
        matrix.recorded(runs)


def test_every_profile_is_written_as_it_is_read_with_a_line_for_each_mutant(tmp_path: Path) -> None:
    seeds: list[tuple[str, int]] = []

    def run(profile: str, seed: int) -> MutantsReport:
        seeds.append((profile, seed))
        return ran(seed, met(S04), met(S05), profile=profile)

    matrix.record(tmp_path, run)
    assert seeds == [(profile, seed) for profile in PROFILES for seed in matrix.SEEDS]
    for profile in PROFILES:
        text = (tmp_path / f"{profile}.json").read_text(encoding="utf-8")
        again = matrix.Matrix.model_validate_json(text)
        assert matrix.text_of(again) == text
        assert [line[:13] for line in text.splitlines()[1:3]] == ['{"id": "s04",', '{"id": "s05",']


def test_all_mutants_of_a_profile_are_run(monkeypatch: pytest.MonkeyPatch) -> None:
    class Noted:
        def __init__(self, project: Any, seed: int) -> None:
            self.project, self.seed = project, seed

        def baseline(self) -> str:
            return "green"

        def run(self, mutants: Any, baseline: str, _done: Any) -> Any:
            return self.project.profile, self.seed, mutants, baseline

    monkeypatch.setattr(harness, "Harness", Noted)
    ran_with: Any = matrix.run("lesson4", 5)
    assert ran_with == ("lesson4", 5, mutants_of("lesson4"), "green")


def test_nothing_is_recorded_where_the_suite_does_not_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    def red(_harness: harness.Harness) -> None:
        raise harness.RedBaselineError("the suite does not pass")

    monkeypatch.setattr(harness.Harness, "baseline", red)
    with pytest.raises(matrix.NotRecordedError, match=r"^the suite does not pass$"):
        matrix.run("lesson4", 5)


# what tells that it is old

RECORDED = matrix.recorded([ran(1, met(S04, killed_by=["a", "b"])), ran(2, met(S04, killed_by=["a", "b", "c"]))])


@pytest.mark.parametrize("killed_by", [["a", "b"], ["a", "b", "c"]])
def test_a_run_that_fails_what_is_recorded_is_no_news(killed_by: list[str]) -> None:
    assert matrix.out_of_date(RECORDED, ran(9, met(S04, killed_by=killed_by))) == []


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"killed_by": ["a"]}, "failed is ['a'], recorded is ['a', 'b']"),
        ({"killed_by": ["a", "b", "d"]}, "failed is ['a', 'b', 'd'], recorded is ['a', 'b']"),
        ({"title": "t"}, f"title is 't', recorded is {S04.title!r}"),
        ({"pitfall": 2}, "pitfall is 2, recorded is 3"),
    ],
)
def test_a_difference_is_told_in_a_line(changes: dict[str, Any], line: str) -> None:
    now = met(S04, **({"killed_by": ["a", "b"]} | changes))
    assert matrix.out_of_date(RECORDED, ran(9, now)) == [f"s04: {line}"]


def test_mutants_without_a_column_and_columns_without_a_mutant_are_told() -> None:
    assert matrix.out_of_date(RECORDED, ran(9, met(S05))) == ["s04: there is no such mutant", "s05: not recorded"]
    equivalent = met(S05, verdict="equivalent", killed_by=[])
    assert matrix.out_of_date(RECORDED, ran(9, equivalent)) == ["s04: there is no such mutant"]


# what ships; tests/mutants/test_patches.py compares it with a run


@pytest.mark.parametrize("profile", PROFILES)
def test_what_ships_was_recorded_with_several_seeds_and_every_killer_is_in_its_column(profile: str) -> None:
    shipped = matrix.matrix_of(profile)
    assert (shipped.profile, shipped.seeds) == (profile, list(matrix.SEEDS))
    assert [mutant.id for mutant in shipped.mutants if mutant.killer not in mutant.failed] == []


def test_a_column_says_what_its_mutant_is() -> None:
    one = next(column for column in matrix.columns_of("ag03") if column.id == "s05")
    assert (one.title, one.pitfall, one.check) == (S05.title, 3, "budget/tokens-no-dispatch")
    assert one.explanation == PITFALLS[3]
    assert "tokens" in one.statement
    assert one.check in one.failed


def test_every_pitfall_that_is_numbered_is_explained_and_no_other() -> None:
    used = {mutant.pitfall for profile in PROFILES for mutant in mutants_of(profile)}
    assert {pitfall for pitfall in used if isinstance(pitfall, int)} == set(PITFALLS)
    assert [text for text in PITFALLS.values() if not text.endswith(".")] == []
