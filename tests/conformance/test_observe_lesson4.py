"""What is seen of a metered loop: a refusal to be built, and what a run lacks or raises when it is asked."""

from __future__ import annotations

import itertools
from dataclasses import fields
from typing import Any

import pytest
from tests.conformance.hostile import Silent

from looptck.contract.lesson4 import Stop
from looptck.judge import judge_test
from looptck.lesson4.adapter import Agents, ContractAdapter
from looptck.lesson4.observation import Observation, from_json, to_json
from looptck.lesson4.observe import observe_here
from looptck.lesson4.scenario import Ask, Meter, Reply, Scenario, Task
from looptck.observe import normal
from looptck.profile import profile_of
from looptck.report.model import CheckReport
from looptck.requirements import requirements
from looptck.suite.labels import Labels
from looptck.suite.lesson4.stopping import RUNAWAY
from looptck_reference import metered

ASKS = Reply(asks=(Ask(id="call_1", name="look"),))
SCENARIO = Scenario(
    name="sea", meter=Meter(max_steps=3), runs=(Task(task="Look.", replies=(ASKS, Reply(text="A ship."))),)
)
NO_STEP = next(scenario for scenario in RUNAWAY.build(Labels(0, "")) if scenario.name == "no-step")
REFUSES = "ValueError: a meter needs room for a step"


class Refusing(ContractAdapter):
    """Its meter refuses every ceiling."""

    def build(self, agents: Agents) -> Any:  # noqa: ARG002 - it refuses whatever it is given
        msg = "a meter needs room for a step"
        raise ValueError(msg)


class Asking(ContractAdapter):
    """It asks the model once, whatever the ceiling is."""

    def build(self, agents: Agents) -> Any:
        return super().build(Agents(agents.options, {**(agents.budget or {}), "max_steps": 1}))


def reference(adapter: type[ContractAdapter] = ContractAdapter) -> ContractAdapter:
    return adapter(metered.Agent, metered)


def of_zero_steps(seen: Observation) -> CheckReport:
    (check,) = (check for check in RUNAWAY.checks if check.id == "steps/zero")
    profile = profile_of("lesson4")
    report = judge_test(profile, RUNAWAY, [check], {"no-step": (NO_STEP, seen)}, requirements("lesson4"), {}, 0.0)
    return report.checks[0]


# a refusal to be built


def test_a_loop_that_cannot_be_built_has_died_of_it() -> None:
    seen = observe_here(reference(Refusing), SCENARIO)
    assert (seen.died, seen.refused, seen.runs) == (f"the loop could not be built: {REFUSES}", None, ())


def test_where_the_scenario_lets_it_the_refusal_is_what_was_seen() -> None:
    seen = observe_here(reference(Refusing), SCENARIO.model_copy(update={"refusable": True}))
    assert seen == Observation("sea", refused=REFUSES)
    assert from_json(to_json(seen)) == seen


@pytest.mark.parametrize("adapter", [ContractAdapter, Refusing])
def test_a_ceiling_of_zero_steps_may_be_kept_or_refused(adapter: type[ContractAdapter]) -> None:
    assert of_zero_steps(observe_here(reference(adapter), NO_STEP)).verdict == "pass"


def test_a_loop_that_takes_one_step_for_zero_lacks_good_sense() -> None:
    check = of_zero_steps(observe_here(reference(Asking), NO_STEP))
    assert (check.verdict, check.level) == ("fail", "should")
    assert check.seen == {"stop": "answered", "steps": 1, "model calls": 1}


def test_only_the_scenario_of_zero_steps_may_be_refused() -> None:
    scenarios = [scenario for test in profile_of("lesson4").tests for scenario in test.build(Labels(0, test.name))]
    assert [scenario.name for scenario in scenarios if scenario.refusable] == ["no-step"]


# what a run lacks, and what raises in it


def problems_of(run_class: type[Any], monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    monkeypatch.setattr(metered, "Run", run_class)
    (run,) = observe_here(reference(), SCENARIO).runs
    return run.problems


def test_an_attribute_error_within_a_method_is_told_as_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    class Confused(metered.Run):
        def trajectory(self) -> list[str]:
            return self.steps[0].names  # type: ignore[attr-defined, no-any-return]

    first, *_ = problems_of(Confused, monkeypatch)
    assert first == "trajectory() raised AttributeError: 'Step' object has no attribute 'names'"


def test_an_attribute_error_within_a_property_is_told_as_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    class Confused(metered.Run):
        @property
        def step_count(self) -> int:
            return self.steps.size  # type: ignore[attr-defined, no-any-return]

    assert problems_of(Confused, monkeypatch) == (
        "step_count raised AttributeError: 'list' object has no attribute 'size'",
    )


def test_what_a_run_does_not_have_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    class Bare:
        def __init__(self, output: str, *_rest: object) -> None:
            self.output = output
            self.ok = True
            self.step_count = 2
            self.stop = Stop.ANSWERED

    (only,) = problems_of(Bare, monkeypatch)
    assert only == (
        "run() returned a Bare, which has no steps, messages, input_tokens, output_tokens, cost, requested_tools, "
        "trajectory, blocked_tools, used_tool, requested_tool"
    )


def test_a_list_in_the_place_of_a_method_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    class Listed(metered.Run):
        blocked_tools = ["look"]  # type: ignore[assignment]  # noqa: RUF012 - the mistake

    assert problems_of(Listed, monkeypatch) == ("blocked_tools() raised TypeError: 'list' object is not callable",)


@pytest.mark.parametrize("name", [field.name for field in fields(metered.Run)] + ["ok", "step_count"])
def test_a_value_that_answers_nothing_is_seen_all_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Silenced(metered.Run):
        def __getattribute__(self, asked: str) -> Any:
            return Silent() if asked == name else super().__getattribute__(asked)

    monkeypatch.setattr(metered, "Run", Silenced)
    seen = observe_here(reference(), SCENARIO)
    assert [run.status for run in seen.runs] == ["returned"]
    assert from_json(to_json(seen)) == seen


def test_a_run_without_an_end_is_read_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    class Endless(metered.Run):
        def blocked_tools(self) -> Any:
            return itertools.repeat("look")

    monkeypatch.setattr(normal, "MOST", 3)
    monkeypatch.setattr(metered, "Run", Endless)
    (run,) = observe_here(reference(), SCENARIO).runs
    assert run.blocked == ("look",) * 3


def test_what_the_loop_printed_makes_no_two_observations_different() -> None:
    assert Observation("sea", output="noise") == Observation("sea")
