"""A scenario swept: where it is stopped, what of it is kept, and what is not swept at all."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from pydantic import ValidationError

from looptck.adapter import ContractAdapter
from looptck.durability import sweep
from looptck.observe import observe_here
from looptck.scenario import Call, Invocation, Options, Said, Scenario, Stop, Turn
from looptck.suite.ag03.crash_sweep import TEST
from looptck.suite.evidence import Evidence
from looptck_fakes import StepEnded, StepStarted
from looptck_reference import Agent

ONE, TWO, THREE = (Call(id=f"call_{n}", name=f"tool_{n}", answer=f"answer {n}") for n in (1, 2, 3))
ANSWER = Turn(text=("Done.",))
USER = (Said(content="Go."),)


def scenario(*turns: Turn, **invocation: Any) -> Scenario:
    return Scenario(name="one", invocations=(Invocation(messages=USER, turns=turns, **invocation),))


def kinds(*swept: Scenario) -> list[str]:
    return [each.name.split("/", 1)[1] for each in swept]


def test_a_run_is_stopped_after_each_step_with_its_outcome_and_without() -> None:
    assert kinds(*sweep(scenario(Turn(calls=(ONE,)), ANSWER))) == [
        "after-0",
        "after-1",
        "lost-model-1",
        "after-2",
        "lost-tool-2",
        "after-3",
        "lost-model-3",
    ]


def test_of_calls_that_run_at_once_each_is_overtaken_but_the_last() -> None:
    swept = kinds(*sweep(scenario(Turn(calls=(ONE, TWO, THREE)), ANSWER)))
    assert [name for name in swept if "overtaken" in name] == ["overtaken-2", "overtaken-3"]


def test_with_one_slot_none_is_overtaken() -> None:
    one_slot = scenario(Turn(calls=(ONE, TWO)), ANSWER).model_copy(update={"options": Options(max_parallel_tools=1)})
    assert not [name for name in kinds(*sweep(one_slot)) if "overtaken" in name]


def test_each_ends_with_the_whole_run_the_stopped_one_and_the_one_that_resumes() -> None:
    given = scenario(Turn(calls=(ONE,)), ANSWER, read="all", approvals=("m",))
    for swept in sweep(given):
        whole, stopped, resumed = swept.invocations
        assert [each.runner for each in swept.invocations] == ["record", "record", "resume"]
        assert (whole.stop, resumed.stop) == (None, None)
        assert stopped.stop is not None
        plain = [each.model_copy(update={"runner": "none", "stop": None}) for each in swept.invocations]
        assert plain == [given.invocations[0]] * 3


def test_what_a_run_continues_stands_before_it() -> None:
    waiting = ONE.model_copy(update={"verdict": "need_approval", "marker": "m"})
    first = Invocation(messages=USER, turns=(Turn(calls=(waiting,)),))
    other = Invocation(messages=USER, turns=(ANSWER,))
    second = Invocation(continues=0, approvals=("m",), turns=(ANSWER,))
    swept = sweep(Scenario(name="one", gate=True, invocations=(first, other, second)))
    resumed = [each for each in swept if each.name.startswith("one.2/")]
    assert kinds(*resumed) == ["after-0", "after-1", "lost-tool-1", "after-2", "lost-model-2"]
    for each in resumed:
        assert each.invocations[0] == first
        assert [invocation.continues for invocation in each.invocations] == [None, 0, 0, 0]


@pytest.mark.parametrize(
    "left_out",
    [
        scenario(ANSWER).model_copy(update={"transport": "http"}),
        scenario(ANSWER, cancel="tools"),
        scenario(ANSWER, runner="refuse", refuse=("llm/1",)),
        scenario(ANSWER, runner="record", stop=Stop(after=0)),
        scenario(Turn(calls=(ONE.model_copy(update={"raises": "no"}),)), ANSWER),
        Scenario(
            name="open turn with the names of the next",
            invocations=(
                Invocation(
                    messages=(*USER, Said(role="assistant", calls=(ONE,))),
                    turns=(Turn(calls=(ONE.model_copy(update={"id": "other"}),)), ANSWER),
                ),
            ),
        ),
    ],
    ids=["http", "cancelled", "refused", "stopped", "raises", "names"],
)
def test_what_cannot_be_judged_is_not_swept(left_out: Scenario) -> None:
    assert sweep(left_out) == ()


# the models


@pytest.mark.parametrize("wrong", [{"after": -1}, {"after": 0, "lost": True}, {"after": 0, "overtaken": True}])
def test_a_stop_that_means_nothing_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Stop(**wrong)


@pytest.mark.parametrize(
    ("invocations", "message"),
    [
        ([{"runner": "resume"}], "none before it"),
        ([{}, {"runner": "resume"}], "no step runner, so there is no journal"),
        ([{"stop": {"after": 1}}], "only a runner that is to record or to resume can be stopped"),
        ([{"runner": "record", "stop": {"after": 1}}, {"alongside": True}], "has none beside it"),
    ],
)
def test_a_scenario_that_cannot_be_stopped_or_resumed_is_refused(
    invocations: list[dict[str, Any]], message: str
) -> None:
    with pytest.raises(ValidationError, match=message):
        Scenario.model_validate({"name": "one", "invocations": invocations})


def test_over_http_no_run_is_stopped_or_resumed() -> None:
    stopped = {"runner": "record", "stop": {"after": 1}}
    for invocations in ([stopped], [{"runner": "record"}, {"runner": "resume"}]):
        with pytest.raises(ValidationError, match="over HTTP can be neither stopped nor resumed"):
            Scenario.model_validate({"name": "one", "transport": "http", "invocations": invocations})


# what becomes of a run that is stopped twice


def test_a_resumed_run_can_be_stopped_again() -> None:
    ways: list[dict[str, Any]] = [
        {"runner": "record"},
        {"runner": "record", "stop": Stop(after=1)},
        {"runner": "resume", "stop": Stop(after=1)},
        {"runner": "resume"},
    ]
    runs = tuple(Invocation(messages=USER, turns=(Turn(calls=(ONE, TWO)), ANSWER), **way) for way in ways)
    seen = observe_here(ContractAdapter(Agent), Scenario(name="twice", invocations=runs)).invocations
    assert [each.status for each in seen] == ["answered", "stopped", "stopped", "answered"]
    assert seen[3].transcript == seen[0].transcript


def test_the_checks_hold_for_a_swept_scenario_of_anybody() -> None:
    for each in sweep(scenario(Turn(calls=(ONE, TWO)), ANSWER)):
        evidence = Evidence(each, observe_here(ContractAdapter(Agent), each))
        assert [check.id for check in TEST.checks if not check.function(evidence).ok] == []


def test_a_step_that_was_cut_off_under_way_is_no_recorded_one() -> None:
    stopped = next(each for each in sweep(scenario(Turn(calls=(ONE, TWO)), ANSWER)) if each.name == "one/after-2")
    seen = observe_here(ContractAdapter(Agent), stopped)
    place = seen.invocations[1].began
    step = next(
        record.step for record in seen.records[place:] if isinstance(record, StepStarted) and record.kind == "tool"
    )
    cut_off = replace(
        seen,
        records=tuple(
            replace(record, how="cancelled") if isinstance(record, StepEnded) and record.step == step else record
            for record in seen.records
        ),
        invocations=(*seen.invocations[:2], replace(seen.invocations[2], status="failed", message=None)),
    )
    findings = {check.id: check.function(Evidence(stopped, cut_off)).ok for check in TEST.checks}
    assert set(findings.values()) == {True}
