"""A session: what is chosen, what a seed fixes, in which order tests come back, and what the whole report says."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

import pytest

import looptck_reference
from looptck import __version__
from looptck.adapter import Adapter, ContractAdapter
from looptck.report.model import CheckReport, Level, TestReport, Verdict
from looptck.scenario import Scenario
from looptck.session import ChosenTest, Isolation, NothingChosenError, choose, judged, observe_all, report
from looptck.suite import tests_of

SPECIFIED = [
    "TestHandExample",
    "TestSystemPrompt",
    "TestMaxIterStops",
    "TestParallelToolsBoundedOrderPreserved",
    "TestBudgetStopsBeforeDispatch",
    "TestGateVerdicts",
    "TestStepRunnerNames",
    "TestStepRunnerErrorEndsRun",
    "TestSpans",
    "TestProviderErrorEndsRun",
    "TestEventsOptional",
    "TestFaketoolEndToEnd",
]
BEYOND = ["TestFromTheField"]
"""What the kit has beside the tests of the specification."""


def load_reference() -> Adapter:
    return ContractAdapter(looptck_reference.Agent)


def ids(chosen: list[ChosenTest]) -> list[str]:
    return [check.id for test in chosen for check in test.checks]


def names(chosen: list[ChosenTest]) -> list[str]:
    return [test.test.name for test in chosen]


def scenarios(pattern: str, seed: int) -> dict[tuple[str, str], Scenario]:
    return {(t.test.name, s.name): s for t in choose("ag03", pattern, seed) for s in t.scenarios}


def run(pattern: str, *, seed: int = 5, isolation: Isolation = "none") -> dict[str, CheckReport]:
    """The reference's checks by their ids."""
    done = observe_all(choose("ag03", pattern, seed), load_reference, isolation=isolation)
    return {check.id: check for test in done for check in judged(test, {}).checks}


# what is chosen


def test_without_a_pattern_everything_is_chosen_in_the_order_of_the_specification() -> None:
    chosen = choose("ag03", "", seed=1)
    assert names(chosen) == SPECIFIED + BEYOND
    assert ids(chosen) == [check.id for test in tests_of("ag03") for check in test.checks]


def test_the_name_of_a_test_chooses_all_its_checks() -> None:
    chosen = choose("ag03", "TestSpans", seed=1)
    assert names(chosen) == ["TestSpans"]
    assert len(chosen[0].checks) == len(chosen[0].test.checks)


def test_a_part_of_a_name_chooses_whatever_has_it() -> None:
    assert names(choose("ag03", "ErrorEndsRun", seed=1)) == ["TestStepRunnerErrorEndsRun", "TestProviderErrorEndsRun"]
    assert {name.partition("/")[0] for name in ids(choose("ag03", "tool-runs", seed=1))} >= {"hand", "max-iter"}


@pytest.mark.parametrize(
    ("pattern", "among"), [("hand/usage*", "hand/usage-of-three"), ("*/fragment?", "hand/fragments"), ("Test[HX]*", "")]
)
def test_a_glob_chooses_what_it_matches(pattern: str, among: str) -> None:
    chosen = choose("ag03", pattern, seed=1)
    assert names(chosen) == ["TestHandExample"]
    assert among in [*ids(chosen), ""]


def test_a_whole_name_chooses_that_alone_though_others_contain_it() -> None:
    assert ids(choose("ag03", "hand/usage", seed=1)) == ["hand/usage"]
    assert set(ids(choose("ag03", "hand/usag", seed=1))) == {"hand/usage", "hand/usage-of-three"}


def test_each_check_can_be_chosen_alone() -> None:
    assert all(ids(choose("ag03", name, seed=1)) == [name] for name in ids(choose("ag03", "", seed=1)))


def test_a_glob_matches_from_end_to_end() -> None:
    with pytest.raises(NothingChosenError):
        choose("ag03", "and/answe[r]", seed=1)


def test_upper_and_lower_case_differ() -> None:
    with pytest.raises(NothingChosenError):
        choose("ag03", "HAND/ANSWER", seed=1)


def test_what_matches_nothing_is_told_in_one_line() -> None:
    with pytest.raises(NothingChosenError) as caught:
        choose("ag03", "hand/nothing", seed=1)
    assert str(caught.value) == "no test and no check of ag03 matches 'hand/nothing'; --list shows them"


def test_only_the_scenarios_that_the_chosen_checks_need_are_run() -> None:
    assert [name for _, name in scenarios("hand/empty-reply", 1)] == ["empty-reply"]
    assert {name for _, name in scenarios("hand/events", 1)} == {"hand-read", "twin-read"}


# what a seed fixes


def test_the_same_seed_gives_the_same_scenarios() -> None:
    assert scenarios("", 7) == scenarios("", 7)


def test_another_seed_gives_other_scenarios_and_only_the_hand_example_is_fixed() -> None:
    one, other = scenarios("", 7), scenarios("", 8)
    assert one.keys() == other.keys()
    same = {name for name in one if one[name] == other[name]}
    assert same == {("TestHandExample", "hand"), ("TestHandExample", "hand-read")}


def test_another_seed_gives_other_call_ids() -> None:
    def call_ids(seed: int) -> set[str]:
        return {call.id for scenario in scenarios("TestGateVerdicts", seed).values() for call in scenario.calls()}

    assert call_ids(7) & call_ids(8) == set()


def test_a_check_that_is_run_alone_sees_what_it_saw_among_all() -> None:
    everything = scenarios("", 7)
    for check in ids(choose("ag03", "", 7)):
        alone = scenarios(check, 7)
        assert alone.items() <= everything.items()


def test_a_check_that_is_run_alone_with_its_seed_finds_the_same_values() -> None:
    among_all = run("TestMaxIterStops", seed=41)
    alone = run("max-iter/last-message", seed=41)
    assert alone["max-iter/last-message"] == among_all["max-iter/last-message"]
    assert run("max-iter/last-message", seed=42)["max-iter/last-message"].seen != alone["max-iter/last-message"].seen


# observing


@pytest.mark.parametrize("isolation", ["fork", "none"])
def test_each_test_comes_back_once_and_complete(isolation: Isolation) -> None:
    chosen = choose("ag03", "*rovider*", 1) + choose("ag03", "TestS*", 1)
    done = []
    for test in observe_all(chosen, load_reference, isolation=isolation, jobs=2):
        assert test.observed.keys() == {scenario.name for scenario in test.scenarios}
        assert all(seen.scenario == name for name, (_, seen) in test.observed.items())
        done.append(test.test.name)
    assert sorted(done) == sorted(names(chosen))


def test_a_test_comes_back_before_the_next_is_begun_in_this_process() -> None:
    begun: list[str] = []

    class Noted(ContractAdapter):
        async def run(self, run: Any) -> Any:
            begun.append(run.messages[0].content)
            return await super().run(run)

    chosen = choose("ag03", "TestS*", 1)
    arriving = observe_all(chosen, lambda: Noted(looptck_reference.Agent), isolation="none")
    assert next(arriving) is chosen[0]
    assert len(begun) == sum(len(scenario.invocations) for scenario in chosen[0].scenarios)


def test_a_test_is_complete_with_its_last_scenario() -> None:
    (chosen,) = choose("ag03", "hand/events", 1)
    assert not chosen.complete()
    for _ in observe_all([chosen], load_reference, isolation="none"):
        pass
    assert chosen.complete()


def test_declared_lacks_reach_the_verdict() -> None:
    chosen = choose("ag03", "TestBudgetStopsBeforeDispatch", 1)
    (test,) = observe_all(chosen, load_reference, isolation="none")
    skipped = {c.id: c.message for c in judged(test, {"budget": "not yet"}).checks if c.verdict == "skip"}
    assert set(skipped.values()) == {"lacks budget: not yet"}
    assert "budget/calls-none-run" in skipped


# the report of the whole


def whole(*tests: TestReport) -> Any:
    return report(tests, target="loop.py", profile="ag03", seed=9, isolation="fork")


def part(name: str, *checks: tuple[Level, Verdict]) -> TestReport:
    return TestReport(
        name=name,
        section="2",
        verdict="pass",
        duration_s=0,
        checks=[
            CheckReport(id=f"some/check-{n}", requirement="r", level=level, verdict=verdict, message="")
            for n, (level, verdict) in enumerate(checks)
        ],
    )


def test_the_report_says_what_was_run_and_with_what() -> None:
    made = whole(part("TestSpans", ("must", "pass")))
    assert (made.schema_name, made.kit.name, made.kit.version) == ("looptck-check-1", "looptck", __version__)
    assert (made.target, made.profile, made.seed, made.isolation) == ("loop.py", "ag03", 9, "fork")


def test_a_target_whose_name_is_no_unicode_has_a_report() -> None:
    made = report([], target=os.fsdecode(b"caf\xe9.py"), profile="ag03", seed=9, isolation="fork")
    assert made.target == "caf\\udce9.py"
    assert '"caf\\\\udce9.py"' in made.model_dump_json()


def test_tests_are_reported_in_the_order_of_the_specification() -> None:
    made = whole(*(part(name, ("must", "pass")) for name in reversed(SPECIFIED)))
    assert [test.name for test in made.tests] == SPECIFIED


@pytest.mark.parametrize(
    ("checks", "verdict", "code"),
    [
        ([("must", "pass"), ("must", "skip")], "pass", 0),
        ([("must", "pass"), ("should", "fail")], "pass", 0),
        ([("must", "pass"), ("must", "fail")], "fail", 1),
        ([("must", "fail"), ("must", "incomplete")], "incomplete", 2),
        ([("must", "skip"), ("should", "skip")], "incomplete", 2),
        ([("must", "incomplete"), ("should", "fault")], "fault", 3),
        ([], "incomplete", 2),
    ],
)
def test_the_verdict_is_that_of_all_checks_and_nothing_executed_is_never_green(
    checks: list[tuple[Level, Verdict]], verdict: Verdict, code: int
) -> None:
    made = whole(part("TestSpans", *checks[:1]), part("TestHandExample", *checks[1:]))
    assert (made.verdict, made.exit_code()) == (verdict, code)


def test_all_checks_are_counted() -> None:
    made = whole(part("TestSpans", ("must", "pass"), ("should", "fail")), part("TestHandExample", ("must", "skip")))
    assert made.counts.model_dump(by_alias=True) == {"pass": 1, "fail": 1, "skip": 1, "incomplete": 0, "fault": 0}


def test_a_target_that_cannot_be_loaded_fails_in_this_process_at_once() -> None:
    def load() -> NoReturn:
        raise LookupError

    observing: Iterator[ChosenTest] = observe_all(choose("ag03", "TestSpans", 1), load, isolation="none")
    with pytest.raises(LookupError):
        next(observing)


def test_a_check_is_judged_by_the_level_of_its_requirement() -> None:
    levels: Mapping[str, str] = {name: check.level for name, check in run("TestMaxIterStops").items()}
    assert levels["max-iter/model-calls"] == "must"
    assert levels["max-iter/error-carries"] == "should"
