"""From observations to verdicts: each check on each of its scenarios, the worst of them, and what decides a whole."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from looptck.judge import judge_test, obstacle_of
from looptck.observation import ErrorSeen, InvocationSeen, Observation, Status
from looptck.profile import profile_of
from looptck.report.model import (
    CheckReport,
    Kit,
    Level,
    Report,
    TestReport,
    Verdict,
    counts_of,
    verdict_of,
    worst,
)
from looptck.requirements import Requirement
from looptck.scenario import Invocation, Options, Scenario
from looptck.suite.evidence import Evidence
from looptck.suite.model import Finding, Test, equal, one_of

REQUIREMENTS = {
    "sayings": Requirement(id="sayings", section="2.1", level="must", statement="It says so.", since=1),
    "manners": Requirement(id="manners", section="-", level="should", statement="It says please.", since=1),
}


def a_test() -> Test:
    """A test with a check for each way to be judged; what was seen of a scenario is its observation's `levels`."""
    test = Test("TestSayings", "2.1", lambda _labels: ())

    @test.check("say/one", "sayings", "first", "second")
    def one(e: Evidence) -> Finding:
        """It says one."""
        return equal([1], e.observation.levels)

    @test.check("say/one-or-two", "sayings", "first")
    def one_or_two(e: Evidence) -> Finding:
        """It says one or two."""
        return one_of(e.observation.levels, [1], [2])

    @test.check("say/please", "manners", "second")
    def please(e: Evidence) -> Finding:
        """It says one, politely."""
        return equal([1], e.observation.levels)

    @test.check("say/confused", "sayings", "confusing")
    def confused(_e: Evidence) -> Finding:
        """It never comes to that."""
        raise LookupError("a bug of the check")

    return test


def judged(
    *ids: str, lacks: Mapping[str, str] | None = None, options: Options | None = None, **seen: Observation
) -> TestReport:
    """Judge some checks; what a scenario is not given an observation for was seen as it should be."""
    test = a_test()
    observed = {}
    for name in ("first", "second", "confusing"):
        scenario = Scenario(name=name, options=options or Options(), invocations=(Invocation(),))
        observed[name] = (scenario, seen.get(name, saw(1)))
    checks = [check for check in test.checks if check.id in ids]
    return judge_test(profile_of("ag03"), test, checks, observed, REQUIREMENTS, lacks or {}, duration_s=0.5)


def saw(*levels: int, status: Status = "answered", **fields: Any) -> Observation:
    return Observation("any", invocations=(InvocationSeen(status, 0, 0, (), **fields),), levels=levels)


def died(why: str, blame: Any = "loop") -> Observation:
    return Observation("any", died=why, blame=blame)


def only(report: TestReport) -> CheckReport:
    (check,) = report.checks
    return check


# one check


def test_a_check_that_holds_passes_and_shows_what_it_compared() -> None:
    assert only(judged("say/one")) == CheckReport(
        id="say/one",
        requirement="sayings",
        level="must",
        verdict="pass",
        message="",
        expected=[1],
        seen=[1],
        statement="It says one.",
        scenario="first",
    )


@pytest.mark.parametrize("bad", ["first", "second"])
def test_a_check_fails_with_any_of_its_scenarios_and_names_that(bad: str) -> None:
    check = only(judged("say/one", first=saw(3 if bad == "first" else 1), second=saw(3 if bad == "second" else 1)))
    assert (check.verdict, check.scenario, check.expected, check.seen) == ("fail", bad, [1], [3])


def test_a_check_with_a_choice_shows_the_others_when_it_fails() -> None:
    assert only(judged("say/one-or-two", first=saw(2))).verdict == "pass"
    check = only(judged("say/one-or-two", first=saw(3)))
    assert (check.verdict, check.expected, check.alternatives) == ("fail", [1], [[2]])
    assert check.message == "other readings pass too: they stand below, and `looptck explain` tells them"


def test_a_check_that_raises_is_the_kits_fault_and_stops_no_other() -> None:
    report = judged("say/confused", "say/one", second=saw(2))
    assert {check.id: check.verdict for check in report.checks} == {"say/confused": "fault", "say/one": "fail"}
    fault = next(check for check in report.checks if check.verdict == "fault")
    assert "LookupError: a bug of the check" in fault.message


def test_a_scenario_with_a_feature_that_the_adapter_lacks_is_skipped_with_the_reason() -> None:
    check = only(judged("say/one", lacks={"budget": "it never pays"}, options=Options(max_tokens=3), first=died("x")))
    assert (check.verdict, check.message) == ("skip", "lacks budget: it never pays")


def test_a_lack_that_no_scenario_needs_changes_nothing() -> None:
    assert only(judged("say/one", lacks={"gate": "it trusts"}, options=Options(max_tokens=3))).verdict == "pass"


@pytest.mark.parametrize(
    ("blame", "verdict"), [("loop", "fail"), ("limit", "incomplete"), ("target", "incomplete"), ("kit", "fault")]
)
def test_where_nothing_was_observed_the_verdict_is_by_whose_doing_that_is(blame: str, verdict: Verdict) -> None:
    check = only(judged("say/one", second=died("it is gone", blame)))
    assert (check.verdict, check.message, check.scenario) == (verdict, "it is gone", "second")
    assert (check.expected, check.seen) == (None, None)


def test_an_obstacle_in_one_scenario_outweighs_a_failure_in_another() -> None:
    check = only(judged("say/one", first=saw(3), second=died("too long", "limit")))
    assert (check.verdict, check.scenario) == ("incomplete", "second")


def test_a_run_that_met_the_limit_is_incomplete() -> None:
    check = only(judged("say/one", first=saw(1, status="timeout")))
    assert (check.verdict, check.message) == ("incomplete", "the real-time limit passed before the run ended")


def test_a_loop_that_could_not_be_invoked_fails_with_its_error() -> None:
    seen = saw(1, status="failed", problems=("no stream: TypeError: no such option",))
    check = only(judged("say/one", first=seen))
    assert (check.verdict, check.message) == ("fail", "the loop could not be invoked: TypeError: no such option")


def test_an_unfinished_run_is_judged_and_it_is_told() -> None:
    scenario = Scenario(name="first", invocations=(Invocation(),))
    assert obstacle_of(profile_of("ag03"), scenario, saw(status="unfinished")) is None
    check = only(judged("say/one", first=saw(3, status="unfinished")))
    assert (check.verdict, check.message) == ("fail", "nothing more could happen, and there was no result")
    assert only(judged("say/one", first=saw(1, status="unfinished"))).verdict == "pass"


def test_an_error_that_nobody_expected_is_told_beside_the_failure() -> None:
    error = ErrorSeen("other", "ZeroDivisionError: division by zero")
    check = only(judged("say/one", first=saw(3, status="failed", error=error, problems=("no usage",))))
    assert check.message == "run 1 raised ZeroDivisionError: division by zero; no usage"


def test_an_error_of_the_contract_needs_no_remark() -> None:
    check = only(judged("say/one", first=saw(3, status="failed", error=ErrorSeen("max_iter", "MaxIterError: cap"))))
    assert (check.verdict, check.message) == ("fail", "")


# a whole test


def test_a_failed_should_does_not_decide() -> None:
    report = judged("say/one-or-two", "say/please", second=saw(3))
    assert [(check.level, check.verdict) for check in report.checks] == [("must", "pass"), ("should", "fail")]
    assert report.verdict == "pass"


def test_a_failed_must_decides() -> None:
    assert judged("say/one", "say/one-or-two", "say/please", second=saw(3)).verdict == "fail"


def test_a_report_names_its_test_and_how_long_it_took() -> None:
    report = judged("say/one")
    assert (report.name, report.section, report.duration_s, len(report.checks)) == ("TestSayings", "2.1", 0.5, 1)


# verdicts together


@pytest.mark.parametrize(
    ("verdicts", "together"),
    [
        ([], "incomplete"),
        (["pass"], "pass"),
        (["skip"], "skip"),
        (["skip", "pass"], "pass"),
        (["pass", "fail", "skip"], "fail"),
        (["fail", "incomplete", "pass"], "incomplete"),
        (["fault", "incomplete", "fail", "pass", "skip"], "fault"),
    ],
)
def test_a_whole_is_as_bad_as_its_worst_part(verdicts: list[Verdict], together: Verdict) -> None:
    assert worst(verdicts) == together
    assert worst(verdicts[::-1]) == together


@pytest.mark.parametrize(
    ("checks", "together"),
    [
        ([("must", "pass"), ("should", "fail")], "pass"),
        ([("must", "pass"), ("should", "incomplete")], "pass"),
        ([("must", "pass"), ("should", "fault")], "fault"),
        ([("must", "fail"), ("should", "pass")], "fail"),
        ([("must", "skip"), ("should", "pass")], "skip"),
        ([("should", "fail")], "pass"),
        ([("should", "fail"), ("should", "skip")], "pass"),
        ([("should", "skip"), ("should", "skip")], "skip"),
        ([("should", "incomplete"), ("should", "fail")], "incomplete"),
        ([], "incomplete"),
    ],
)
def test_of_checks_together_the_musts_decide(checks: list[tuple[Level, Verdict]], together: Verdict) -> None:
    assert verdict_of([report(level, verdict) for level, verdict in checks]) == together


@pytest.mark.parametrize(("verdict", "code"), [("pass", 0), ("fail", 1), ("incomplete", 2), ("skip", 2), ("fault", 3)])
def test_the_exit_code_is_the_documented_one(verdict: Verdict, code: int) -> None:
    whole = Report(
        kit=Kit(version="0"),
        target="t",
        profile="ag03",
        requirements=1,
        seed=0,
        isolation="fork",
        python="3",
        verdict=verdict,
        counts=counts_of([]),
        tests=[],
    )
    assert whole.exit_code() == code


def test_checks_are_counted_by_verdict_whatever_their_level() -> None:
    checks = [report("must", "pass"), report("should", "fail"), report("must", "fail"), report("must", "skip")]
    counted = {"pass": 1, "fail": 2, "skip": 1, "incomplete": 0, "fault": 0}
    assert counts_of(checks).model_dump(by_alias=True) == counted


def report(level: Level, verdict: Verdict) -> CheckReport:
    return CheckReport(id="say/one", requirement="sayings", level=level, verdict=verdict, message="")
