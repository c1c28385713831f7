"""The timeline of a run of ag03: what happened when, and what no limit should have let happen."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from tests.conformance.implementations_harness import forget_import
from tests.conformance.timelines import (
    ANSWERS,
    COUNT,
    COUNTS,
    LOOK,
    LOOKS,
    USER,
    bars,
    beyond,
    drawn,
    lines,
    of_suite,
    scenario,
)

import looptck_reference
from looptck.contract.ag03 import Message
from looptck.observation import InvocationSeen, Observation, SpanSeen, from_json, to_json
from looptck.report.lanes import LONGEST, Bar, Timeline
from looptck.report.timeline import timeline
from looptck.scenario import Invocation, Options, Said, Scenario, Turn
from looptck.session import choose
from looptck.suite.evidence import Evidence
from looptck_fakes import GateAsked

BOTH = Turn(calls=(LOOK, COUNT))


@pytest.fixture(autouse=True)
def _forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    forget_import(monkeypatch)


def places(found: Timeline, kind: str) -> list[tuple[str, int, int | None]]:
    return [(bar.text, bar.start, bar.end) for bar in bars(found, kind)]


# what happened when


def test_model_calls_and_tools_last_from_record_to_record() -> None:
    found = drawn(scenario(LOOKS, ANSWERS))
    assert places(found, "model") == [("1", 0, 2), ("2", 4, 6)]
    assert places(found, "tool") == [("look", 2, 4)]
    assert places(found, "run") == [("the run: answered", 0, 6)]
    assert (lines(found), found.size, beyond(found)) == ([("end of the run", 6)], 6, [])


def test_spans_stand_where_they_began_and_ended_each_level_below_its_parents() -> None:
    found = drawn(scenario(LOOKS, ANSWERS))
    lanes = [(lane.label, [(bar.text, bar.start, bar.end) for bar in lane.bars]) for lane in found.lanes[-2:]]
    assert lanes == [
        ("spans", [("run", 0, 6)]),
        ("spans, level 2", [("llm_call", 0, 2), ("tool look", 2, 4), ("llm_call", 4, 6)]),
    ]


def test_gate_questions_have_their_verdicts() -> None:
    denied = LOOK.model_copy(update={"verdict": "deny", "reason": "fog"})
    found = drawn(scenario(Turn(calls=(denied, COUNT)), ANSWERS, gate=True))
    assert places(found, "gate") == [("deny", 2, 3), ("allow", 3, 4)]
    assert bars(found, "gate")[0].told == 'gate asked about call_1 = look({"at": "sea"}): deny'


def test_steps_last_around_what_they_do() -> None:
    found = drawn(scenario(LOOKS, ANSWERS, runner="record"))
    assert places(found, "step") == [("llm/1", 0, 4), ("tool/1/0/look", 4, 8), ("llm/2", 8, 12)]


def test_what_was_cancelled_refused_or_raised_is_broken() -> None:
    assert [bar.mark for bar in bars(drawn(scenario(LOOKS, cancel="tools")), "tool")] == ["broken"]
    refused = drawn(scenario(LOOKS, ANSWERS, runner="refuse", refuse=("llm/2",)))
    assert [bar.mark for bar in bars(refused, "step")] == ["", "", "broken"]
    failed = drawn(scenario(Turn(error="no more")))
    assert [bar.mark for bar in bars(failed, "model")] == ["broken"]
    assert {bar.mark for bar in bars(failed, "span")} == {"broken"}


def test_a_run_that_never_ends_has_no_end_line_and_its_span_no_end() -> None:
    class Waits(looptck_reference.Agent):
        def invoke(self, messages: Sequence[Message]) -> Any:
            stream = super().invoke(messages)

            async def held() -> Any:
                self._tracer.start_span("agent.run")
                await asyncio.Future()

            stream._run = held
            return stream

        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            self._tracer = options["tracer"]

    found = drawn(scenario(ANSWERS), Waits)
    assert lines(found) == []
    assert [(bar.start, bar.end, bar.mark) for bar in bars(found, "span")] == [(0, None, "broken")]


def test_there_is_no_timeline_where_nothing_was_observed() -> None:
    assert timeline(Evidence(scenario(ANSWERS), Observation("sea", died="it exited"))) is None


# limits


@pytest.mark.parametrize("check", ["max-iter/model-calls", "max-iter/default"])
def test_a_late_cap_shows(check: str) -> None:
    found, right = of_suite("ag03", check, "recursive_off_by_one"), of_suite("ag03", check)
    cap = next(place for text, place in lines(found) if text.startswith("cap: "))
    models = bars(found, "model")
    assert (right.beyond(), lines(right)[0]) == (0, lines(found)[0])
    assert [bar.text for bar in models if bar.mark == "beyond"] == [str(len(models))]
    assert models[-2].end == cap
    assert models[-1].start >= cap
    assert models[-1].told.endswith(f"beyond the cap of {len(models) - 1}")


@pytest.mark.parametrize(("check", "bound"), [("parallel/bound", 2), ("parallel/default", 4), ("parallel/one-slot", 1)])
def test_a_tool_too_many_in_flight_shows(check: str, bound: int) -> None:
    found, right = of_suite("ag03", check, "threads_unbounded"), of_suite("ag03", check)
    lanes = [lane for lane in found.lanes if lane.kind == "tool"]
    assert [lane.limit for lane in lanes] == [
        "" if place != bound else f"limit {bound}" for place in range(1, len(lanes) + 1)
    ]
    assert [{bar.mark for bar in lane.bars} for lane in lanes] == [{""}] * bound + [{"beyond"}] * (len(lanes) - bound)
    assert len(lanes) > bound
    assert len([lane for lane in right.lanes if lane.kind == "tool"]) == bound
    assert right.beyond() == 0


class Spends(looptck_reference.Agent):
    """It looks at no budget at all."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **{**options, "budget": None})


def test_what_begins_after_a_budget_was_passed_shows() -> None:
    calls = drawn(scenario(BOTH, COUNTS, ANSWERS, options=Options(max_tool_calls=2)), Spends)
    assert lines(calls)[0] == ("calls: 3 > 2", bars(calls, "model")[1].end)
    assert beyond(calls) == ["model 3", "tool count"]
    tokens = drawn(scenario(LOOKS, COUNTS, ANSWERS, options=Options(max_tokens=11)), Spends)
    assert lines(tokens)[0] == ("tokens: 12 > 11", bars(tokens, "model")[1].end)
    assert beyond(tokens) == ["model 3", "tool count"]


def test_budgets_that_are_just_met_are_passed_by_nothing() -> None:
    found = drawn(scenario(BOTH, ANSWERS, options=Options(max_tool_calls=2, max_tokens=6)))
    assert (lines(found), beyond(found)) == ([("end of the run", found.size)], [])


def test_denied_calls_count_in_no_budget_for_that_is_one_of_the_readings() -> None:
    denied = LOOK.model_copy(update={"verdict": "deny"})
    found = drawn(scenario(Turn(calls=(denied, COUNT)), ANSWERS, gate=True, options=Options(max_tool_calls=1)), Spends)
    assert beyond(found) == []


def test_the_open_calls_of_an_input_count_in_its_budget() -> None:
    said = (*USER, Said(role="assistant", calls=(LOOK, COUNT)))
    run = Invocation(messages=said, turns=(ANSWERS,))
    resumed = Scenario(name="sea", options=Options(max_tool_calls=1), invocations=(run,))
    found = drawn(resumed, Spends)
    assert lines(found)[0] == ("calls: 2 > 1", 0)
    assert beyond(found) == ["model 1", "tool look", "tool count"]


# several runs


def test_runs_one_after_the_other_share_their_lanes() -> None:
    run = Invocation(messages=USER, turns=(ANSWERS,))
    found = drawn(Scenario(name="two", options=Options(max_iter=1), invocations=(run, run)))
    assert [(lane.kind, lane.label) for lane in found.lanes] == [("run", "run"), ("model", "model")]
    assert places(found, "model") == [("1", 0, 2), ("1", 2, 4)]
    assert (lines(found), beyond(found)) == (
        [("cap: 1", 2), ("end of run 1", 2), ("cap: 1", 4), ("end of run 2", 4)],
        [],
    )


def test_runs_at_once_have_lanes_of_their_own_and_bounds_of_their_own() -> None:
    first = Invocation(messages=USER, turns=(LOOKS, ANSWERS))
    second = Invocation(messages=(Said(content="How many?"),), turns=(COUNTS, ANSWERS), alongside=True)
    options = Options(max_parallel_tools=1)
    found = drawn(Scenario(name="both", gate=True, options=options, finish="last", invocations=(first, second)))
    told = {lane.label: [bar.text for bar in lane.bars] for lane in found.lanes if lane.kind in {"gate", "tool"}}
    assert told == {"gate": ["allow"], "gate of run 2": ["allow"], "tool": ["look"], "tool of run 2": ["count"]}
    one, other = bars(found, "tool")
    assert max(one.start, other.start) < min(one.end or 0, other.end or 0)
    assert beyond(found) == []


# every scenario


def test_no_limit_is_ever_passed_by_the_reference() -> None:
    for chosen in choose("ag03", "budget/*", 9) + choose("ag03", "max-iter/*", 9) + choose("ag03", "resume/*", 9):
        for given in chosen.scenarios:
            assert beyond(drawn(given)) == [], given.name


def test_of_a_run_without_end_the_beginning_is_drawn() -> None:
    asked = tuple(GateAsked(at, LOOK.call(), tainted=False, iter=1, verdict="allow") for at in range(LONGEST + 50))
    seen = Observation("sea", records=asked, invocations=(InvocationSeen("timeout", 0, len(asked), ()),))
    found = timeline(Evidence(scenario(ANSWERS), seen))
    assert found is not None
    assert (found.size, found.hidden, len(bars(found, "gate"))) == (LONGEST, 50, LONGEST)
    assert bars(found, "run") == [Bar(0, None, "the run: timeout", "the run ends: timeout")]


# spans in an observation


def test_where_spans_stand_survives_json_and_makes_no_difference() -> None:
    span = SpanSeen("1", "", "agent.run", "INTERNAL", {}, "UNSET", ended=True, began=3, finished=5)
    (back,) = from_json(to_json(Observation("sea", spans=(span,)))).spans
    assert (back.began, back.finished) == (3, 5)
    assert back == SpanSeen("1", "", "agent.run", "INTERNAL", {}, "UNSET", ended=True, began=4)


def test_spans_of_which_the_place_is_not_known_are_left_out() -> None:
    span = SpanSeen("1", "", "agent.run", "INTERNAL", {}, "UNSET", ended=True)
    seen = Observation("sea", invocations=(InvocationSeen("answered", 0, 0, ()),), spans=(span,))
    found = timeline(Evidence(scenario(ANSWERS), seen))
    assert found is not None
    assert bars(found, "span") == []
