"""`looptck explain`: what a check, a requirement, a test or a mutant is, and what belongs to it."""

from __future__ import annotations

from typing import Any

import pytest

from looptck import cli
from looptck.cli.explain import explain
from looptck.requirements import requirements
from looptck.suite import tests_of
from looptck_mutants.profiles import mutants_of


@pytest.fixture
def explained(capsys: pytest.CaptureFixture[str]) -> Any:
    """Explain something that exists; the lines that are printed."""

    def run(*arguments: str) -> list[str]:
        assert cli.run(["explain", *arguments]) == 0
        out, err = capsys.readouterr()
        assert err == ""
        return out.splitlines()

    return run


def test_a_check_is_explained_with_its_requirement_and_its_mutants(explained: Any) -> None:
    head, *lines = explained("max-iter/model-calls")
    assert head == "max-iter/model-calls  (must, section 2.2, TestMaxIterStops)"
    assert lines[0] == "  With a cap of three the model is asked three times, and not a fourth."
    assert lines[1] == f"  requirement  iteration-cap: {requirements('ag03')['iteration-cap'].statement}"
    assert "  scenarios    looping" in lines
    assert lines[-1].startswith("  mutant       s01  ")


def test_a_check_where_the_specification_is_silent_is_explained_with_what_is_accepted(explained: Any) -> None:
    accepted = [line.split(maxsplit=1)[1] for line in explained("steps/resumed-number") if "  accepted " in line]
    assert accepted == list(requirements("ag03")["resumed-turn-number"].alternatives)
    assert len(accepted) > 1


def test_a_requirement_is_explained_with_all_its_checks_and_their_mutants(explained: Any) -> None:
    head, statement, *lines = explained("results-in-call-order")
    record = requirements("ag03")["results-in-call-order"]
    assert (head, statement) == ("results-in-call-order  (must, section 2.3)", f"  {record.statement}")
    served = [check for test in tests_of("ag03") for check in test.checks if check.requirement == record.id]
    assert [f"  check        {check.id}: {check.statement}" for check in served] == lines[: len(served)]
    assert {line.split()[1] for line in lines if line.startswith("  mutant ")} >= {"s03"}


def test_a_requirement_without_a_check_is_explained_with_the_reason(explained: Any) -> None:
    unchecked = [record for record in requirements("ag03").values() if record.unchecked is not None]
    for record in unchecked:
        assert explained(record.id)[-1] == f"  no check     {record.unchecked}"
    assert unchecked


def test_a_test_is_explained_by_its_checks(explained: Any) -> None:
    head, *lines = explained("TestSpans")
    (test,) = [test for test in tests_of("ag03") if test.name == "TestSpans"]
    assert head == "TestSpans  (section 2.7)"
    assert [line.split(maxsplit=1) for line in lines] == [[check.id, check.statement] for check in test.checks]


def test_a_mutant_is_explained_by_what_has_to_kill_it(explained: Any) -> None:
    (mutant,) = [mutant for mutant in mutants_of("ag03") if mutant.id == "s13"]
    assert explained("s13") == [
        f"s13  {mutant.title}",
        "  pitfall  3",
        f"  patch    {mutant.patch}",
        "  killer   hand/usage of TestHandExample",
    ]


def test_a_mutant_that_nothing_can_kill_says_so(explained: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    equivalent = mutants_of("ag03")[0].model_copy(update={"id": "x999", "killer": None, "pitfall": None})
    monkeypatch.setattr("looptck_mutants.profiles.mutants_of", lambda _profile: (equivalent,))
    lines = explained("x999")
    assert (lines[1], lines[-1]) == ("  pitfall  none", "  killer   nothing")


def test_whatever_has_a_name_can_be_explained(capsys: pytest.CaptureFixture[str]) -> None:
    names = [check.id for test in tests_of("ag03") for check in test.checks]
    names += [*requirements("ag03"), *(test.name for test in tests_of("ag03"))]
    names += [mutant.id for mutant in mutants_of("ag03")]
    for name in names:
        assert explain(name, profile="ag03") == 0
        assert capsys.readouterr().out.split()[0] == name


@pytest.mark.parametrize("name", ["crash", "limit", "open", "TestScenarios", "fuzz/as-predicted"])
def test_so_can_what_reports_call_by_a_name_that_no_suite_has(explained: Any, name: str) -> None:
    assert explained(name)[0] == name


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["hand/anser"], "nothing in ag03 is called 'hand/anser'; is it hand/answer or "),
        (["TestSpanz"], "is it TestSpans"),
        (["single/answered"], "nothing in ag03 is called 'single/answered'; it is of lesson4: add --profile lesson4"),
        (["l02"], "it is of lesson4: add --profile lesson4"),
        (["TestSpans", "--profile", "lesson4"], "nothing in lesson4 is called 'TestSpans'; it is of ag03: add "),
        (["approval-by-marker", "--profile", "lesson4"], "it is of ag03: add --profile ag03"),
        (["qqqqqqqq"], "nothing in ag03 is called 'qqqqqqqq'; `looptck check --list` shows the checks"),
        (["hand/answer", "--profile", "ag99"], "there is no profile 'ag99'"),
        ([], "'ID'"),
        (["hand/answer", "hand/usage"], "hand/usage"),
    ],
)
def test_what_has_no_such_name_is_one_line_with_what_may_be_meant(
    capsys: pytest.CaptureFixture[str], arguments: list[str], told: str
) -> None:
    assert cli.run(["explain", *arguments]) == 4
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith("looptck: ")
    assert told in err
