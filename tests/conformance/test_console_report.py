"""What the terminal shows: a line for each test, each failure as a worked example, and the command that repeats it."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import pytest
from rich.console import Console

import looptck_reference
from looptck.adapter import ContractAdapter
from looptck.contract.ag03 import Message
from looptck.observation import Observation
from looptck.observe import observe_here
from looptck.report.console import print_failures, print_summary, print_test
from looptck.report.model import CheckReport, Report, TestReport
from looptck.requirements import requirements
from looptck.scenario import Call, Invocation, Options, Said, Scenario, Turn
from looptck.session import choose, judged, observe_all, report
from looptck_reference.stream import Stream

SEED = 17
NOTHING = Observation("sea")
QUESTION = ["user:", '"What', "is", "the", "weather", "in", 'Paris?"']
SEEN_AT_SEA = Scenario(name="sea", invocations=(Invocation(messages=(Said(content="Ahoy"),), turns=(Turn(),)),))


def shown(agent_class: type[Any], pattern: str) -> str:
    """Everything that is printed about a loop, in plain text."""
    chosen = choose("ag03", pattern, SEED)
    done = observe_all(chosen, lambda: ContractAdapter(agent_class), isolation="none")
    tests = [judged(test, {}) for test in done]
    whole = report(tests, target="my loop.py:Loop", profile="ag03", seed=SEED, isolation="fork")
    out = Console(file=io.StringIO(), width=140)
    for test in whole.tests:
        print_test(out, test)
    print_failures(out, whole, {test.test.name: test.observed for test in chosen})
    print_summary(out, whole, 1.25)
    return plain(out)


def plain(console: Console) -> str:
    """What was printed, without the spaces that fill up the lines of tables."""
    assert isinstance(console.file, io.StringIO)
    return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines())


def failures(*checks: CheckReport, scenario: Scenario = SEEN_AT_SEA, observation: Observation = NOTHING) -> str:
    """What is printed of checks that were made up."""
    test = TestReport(name="TestSea", section="9", verdict="fail", duration_s=0, checks=list(checks))
    whole = report([], target="loop.py", profile="ag03", seed=SEED, isolation="fork")
    whole = Report.model_validate(whole.model_dump() | {"tests": [test]})
    out = Console(file=io.StringIO(), width=140)
    print_failures(out, whole, {"TestSea": {"sea": (scenario, observation)}})
    return plain(out)


def check(**fields: Any) -> CheckReport:
    given = {"id": "sea/ship", "requirement": "r", "level": "must", "verdict": "fail", "message": "", "scenario": "sea"}
    return CheckReport.model_validate({**given, "statement": "A ship is seen.", **fields})


class Forgets(looptck_reference.Agent):
    """Drops the proposing turn from what it says of its transcript."""

    def invoke(self, messages: Sequence[Message]) -> Stream:
        return Forgetful(super().invoke(messages))


class Forgetful(Stream):
    def __init__(self, whole: Stream) -> None:
        super().__init__(whole._state, whole._events, whole._run)

    def transcript(self) -> list[Message]:
        return [message for message in super().transcript() if not message.tool_calls]


# the lines of the tests


def test_a_test_that_passes_is_one_line() -> None:
    assert shown(looptck_reference.Agent, "hand/answer").splitlines() == [
        "pass       TestHandExample                             1/1 checks",
        "",
        "PASS my loop.py:Loop against ag03: 1 pass in 1.2 s (seed 17)",
    ]


def test_failed_good_sense_is_noted_beside_a_pass() -> None:
    out = Console(file=io.StringIO(), width=140)
    checks = [check(verdict="pass"), check(level="should"), check(level="should")]
    print_test(out, TestReport(name="TestSea", section="9", verdict="pass", duration_s=0, checks=checks))
    assert plain(out).split() == ["pass", "TestSea", "1/3", "checks", "2", "of", "good", "sense", "failed"]


# a failure


def test_a_failure_is_told_as_a_worked_example() -> None:
    lines = shown(Forgets, "hand/transcript").splitlines()
    words = [line.split() for line in lines]
    assert lines[2:4] == [
        "fail hand/transcript (must)",
        "  The transcript is the question, the proposing turn, the tool message that answers its call, the answer.",
    ]
    assert words[4] == ["expected", "seen"]
    assert words[5] == ["1", *QUESTION, *QUESTION]
    assert "get_weather" in lines[6]
    assert lines[6].endswith("≠")
    run = lines.index("the run of scenario hand")
    assert " ".join(words[run + 1]) == "step messages before model returned loop did usage so far"
    assert words[run + 2][:3] == ["model", "1", "user"]
    assert words[run + 3][:3] == ["model", "2", "user,"]
    assert lines[run + 4 : run + 6] == [
        "  again: looptck check 'my loop.py:Loop' --profile ag03 -k hand/transcript --seed 17",
        "",
    ]


def test_the_same_run_is_drawn_once() -> None:
    text = shown(Forgets, "TestHandExample")
    assert text.count("the run of scenario hand\n") == 1
    assert text.count("the run of scenario three-turns\n") == 1


def test_each_failure_says_how_to_repeat_it_alone() -> None:
    text = shown(Forgets, "TestHandExample")
    again = [line.split("-k ")[1] for line in text.splitlines() if line.startswith("  again: ")]
    assert again[:2] == ["hand/transcript --seed 17", "hand/text-beside-calls --seed 17"]
    assert len(again) == text.count("\nfail ")


@pytest.mark.parametrize(
    ("expected", "seen", "rows"),
    [
        (3, 4, ["3 4 ≠"]),
        ("same", "same", ["same same"]),
        (None, [1], ["null [1] ≠"]),
        ([1, 2], [1], ["1 1 1", "2 2 (nothing) ≠"]),
        ([], [], ["nothing nothing"]),
        ({"calls": 1, "runs": [2, 3]}, {"calls": 1, "runs": [2]}, ["calls 1 1", "runs 1 2 2", "runs 2 3 (nothing) ≠"]),
        ({"calls": 1}, {"errors": 2}, ["calls 1 null ≠", "errors null 2 ≠"]),
        ("[red]call[/red]", "[/]", ["[red]call[/red] [/] ≠"]),
        ({"[b]": "é"}, {"[b]": "é"}, ["[b] é é"]),
    ],
)
def test_expected_stands_beside_seen_row_by_row(expected: Any, seen: Any, rows: list[str]) -> None:
    lines = failures(check(expected=expected, seen=seen)).splitlines()
    heading = next(number for number, line in enumerate(lines) if line.split() == ["expected", "seen"])
    assert [" ".join(line.split()) for line in lines[heading + 1 : heading + 1 + len(rows)]] == rows
    assert "the run of scenario sea" in lines[heading + 1 + len(rows)]


def test_a_requirement_that_is_named_by_its_id_is_told_in_a_line() -> None:
    """Of a short statement all is said, of a longer one the first sentence, and none takes a second line."""
    short, long, longest = "denied-text", "duplicate-ids", "loop-runs-calls"
    for record, told in (
        (short, requirements("ag03")[short].statement),
        (long, requirements("ag03")[long].statement.partition(" A turn")[0]),
        (longest, requirements("ag03")[longest].statement[:137] + "…"),
    ):
        lines = failures(check(requirement=record, message=f"breaks {record}, iteration 1", seen=1)).splitlines()
        assert lines[lines.index(f"  breaks {record}, iteration 1") + 1] == f"  {told}"
        assert "expected" in lines[lines.index(f"  breaks {record}, iteration 1") + 2]


def test_a_check_that_tells_its_own_fact_needs_no_requirement_beside_it() -> None:
    told = requirements("ag03")["denied-text"].statement
    assert told not in failures(check(requirement="denied-text", message="run 1 raised ValueError", seen=1))


def test_other_choices_are_shown_below() -> None:
    text = failures(check(expected="answered", seen="lost", alternatives=["failed", ["a", 1]]))
    assert [line.split() for line in text.splitlines() if line.strip().startswith("or ")] == [
        ["or", "failed"],
        ["or", "1", "a"],
        ["or", "2", "1"],
    ]


def test_what_is_very_long_is_cut() -> None:
    text = failures(check(expected="~" * 5_000, seen="y"))
    assert (text.count("~"), text.count("…")) == (700, 1)


def test_of_a_long_run_the_first_rows_are_drawn_and_the_rest_counted() -> None:
    looks = [Turn(calls=(Call(id=f"call_{number}", name="look"),)) for number in range(20)]
    run = Invocation(messages=(Said(content="Ahoy"),), turns=(*looks, Turn()))
    long = Scenario(name="sea", options=Options(max_iter=30), invocations=(run,))
    seen = observe_here(ContractAdapter(looptck_reference.Agent), long)
    lines = failures(check(expected=1, seen=2), scenario=long, observation=seen).splitlines()
    steps = [" ".join(line.split()[:2]) for line in lines if line.startswith("  model ")]
    assert steps == [f"model {number}" for number in range(1, 13)]
    assert any(line.split() == ["…", "9", "more", "like", "these"] for line in lines)


def test_what_the_loop_printed_is_shown_at_the_end() -> None:
    text = failures(check(expected=1, seen=2), observation=Observation("sea", output="noise " * 100 + "\x1b[1mlast"))
    said = " ".join(text.split())
    assert "the loop printed, at the end: '" in said
    assert "noise \\x1b[1mlast' again:" in said
    assert said.count("noise") < 40


# obstacles


def test_an_obstacle_of_several_checks_is_told_once_with_a_command() -> None:
    class Fails(looptck_reference.Agent):
        def invoke(self, messages: Sequence[Message]) -> Stream:
            raise ValueError(f"[bold]not today[/bold], {messages[0].content and 'please'}")

    (chosen,) = choose("ag03", "TestSystemPrompt", SEED)
    ids = [one.id for one in chosen.checks]
    assert shown(Fails, "TestSystemPrompt").splitlines()[2:] == [
        "fail TestSystemPrompt",
        "  the loop could not be invoked: ValueError: [bold]not today[/bold], please",
        f"  scenario {chosen.checks[0].on[0]}; checks: {', '.join(ids[:4])} and {len(ids) - 4} more",
        f"  again: looptck check 'my loop.py:Loop' --profile ag03 -k {ids[0]} --seed 17",
        "",
        f"FAIL my loop.py:Loop against ag03: {len(ids)} fail in 1.2 s (seed 17)",
    ]


def test_other_obstacles_are_told_each() -> None:
    text = failures(
        check(verdict="incomplete", message="too slow"),
        check(verdict="fault", message="a bug"),
        check(verdict="incomplete", message="too slow", id="sea/land"),
    )
    assert [line for line in text.splitlines() if line and not line.startswith("  again: ")] == [
        "incomplete TestSea",
        "  too slow",
        "  scenario sea; checks: sea/ship, sea/land",
        "fault TestSea",
        "  a bug",
        "  scenario sea; checks: sea/ship",
    ]


def test_what_passed_or_was_skipped_is_not_told() -> None:
    assert failures(check(verdict="pass"), check(verdict="skip", message="lacks gate: none")) == ""


# the last line


def test_the_last_line_counts_what_there_was() -> None:
    out = Console(file=io.StringIO(), width=140)
    whole = report([], target="[a]", profile="ag03", seed=3, isolation="none")
    counts = {"pass": 2, "fail": 0, "skip": 1, "incomplete": 0, "fault": 0}
    print_summary(out, Report.model_validate(whole.model_dump() | {"counts": counts}), 0.04)
    assert plain(out) == "\nINCOMPLETE [a] against ag03: 2 pass, 1 skip in 0.0 s (seed 3)"
