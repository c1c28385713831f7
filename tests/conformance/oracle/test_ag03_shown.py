"""Events and spans where they are left open: what a reading allows differs in nothing, what is beside it does."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

import pytest

from looptck import oracle
from looptck.contract import ag03
from looptck.contract.ag03 import Message, ToolCall, Usage
from looptck.profile import profile_of
from looptck.scenario import Call, Invocation, Said, Scenario, Tokens, Turn
from looptck.target import REFERENCES, parse_target
from looptck_fakes import StepStarted

if TYPE_CHECKING:
    from collections.abc import Callable

    from looptck.observation import EventSeen, Observation, SpanSeen

USER = (Said(content="go"),)
CALL = Call(id="a", name="look_up")
SPENT = Tokens(input=10, output=5)


@cache
def observed(scenario: str) -> Observation:
    """A scenario, as JSON, of which the reference is the loop."""
    profile = profile_of("ag03")
    adapter = parse_target("reference", {"reference": REFERENCES["ag03"]}).load(profile.adapt)
    seen: Observation = profile.observe(adapter, profile.scenario_from_json(scenario), 10)
    return seen


def broken(scenario: Scenario, change: Callable[[Observation], Observation]) -> list[str]:
    """What the reference breaks in a scenario once its observation is changed."""
    seen = observed(scenario.model_dump_json())
    assert oracle.differences(profile_of("ag03"), scenario, seen) == ()
    changed = change(seen)
    assert changed != seen
    return [one.requirement for one in oracle.differences(profile_of("ag03"), scenario, changed)]


# events


def events(*turns: Turn, replayed: bool = False) -> Scenario:
    first = Invocation(messages=USER, turns=turns, read="all", runner="record")
    more = (first.model_copy(update={"runner": "replay"}),) if replayed else ()
    return Scenario(name="events", invocations=(first, *more))


def shown(
    change: Callable[[list[EventSeen]], list[EventSeen]], place: int = -1
) -> Callable[[Observation], Observation]:
    """A change of the events of one invocation, the last."""

    def changed(seen: Observation) -> Observation:
        runs = list(seen.invocations)
        runs[place] = replace(runs[place], events=tuple(change(list(runs[place].events))))
        return replace(seen, invocations=tuple(runs))

    return changed


def without(kind: str, iteration: int | None = None) -> Callable[[list[EventSeen]], list[EventSeen]]:
    return lambda all_: [one for one in all_ if one.kind != kind or iteration not in {None, one.iter}]


def with_usage(usage: Usage) -> Callable[[list[EventSeen]], list[EventSeen]]:
    return lambda all_: [replace(one, usage=usage) if one.kind == "usage" else one for one in all_]


def otherwise_numbered(kind: str, more: int) -> Callable[[list[EventSeen]], list[EventSeen]]:
    return lambda all_: [replace(one, iter=one.iter + more) if one.kind == kind else one for one in all_]


ANSWER = Turn(text=("Yes.",), usage=SPENT)
FREE = (Turn(calls=(CALL,)), Turn(calls=(CALL,)), Turn(text=("Yes.",)))
PAID = (Turn(calls=(CALL,), usage=SPENT), Turn(calls=(CALL,), usage=SPENT), ANSWER)
ZERO = Turn(text=("Yes.",), usage=Tokens())


@pytest.mark.parametrize("turns", [FREE, (ZERO,)], ids=["nothing reported", "0 / 0 reported"])
def test_a_reply_that_cost_nothing_need_not_show_its_usage(turns: tuple[Turn, ...]) -> None:
    assert broken(events(*turns), shown(without("usage"))) == []


def test_what_is_shown_of_such_a_reply_is_nothing_else() -> None:
    assert broken(events(*FREE), shown(with_usage(Usage(1, 0)))) == ["events-in-order"]
    assert broken(events(*FREE), shown(otherwise_numbered("usage", 1))) == ["events-carry-iter"]
    assert broken(events(*FREE), shown(lambda all_: [all_[0], *all_])) == ["events-in-order"]


def test_usage_that_was_reported_is_shown_when_the_model_is_asked() -> None:
    for iteration in (1, 2, 3, None):
        assert broken(events(*PAID), shown(without("usage", iteration))) == ["events-in-order"]
    mixed = (PAID[0], *FREE)
    assert broken(events(*mixed), shown(without("usage"))) == ["events-in-order"]
    assert broken(events(*mixed), shown(lambda all_: [all_[0], *without("usage")(all_[1:])])) == []


def test_a_replayed_model_step_need_not_show_its_usage() -> None:
    assert broken(events(*PAID, replayed=True), shown(without("usage"))) == []
    assert broken(events(*PAID, replayed=True), shown(without("usage", 2))) == []
    assert broken(events(*PAID, replayed=True), shown(without("usage"), place=0)) == ["events-in-order"]


def test_what_a_replayed_model_step_shows_is_the_recorded_usage() -> None:
    assert broken(events(*PAID, replayed=True), shown(with_usage(Usage(10, 6)))) == ["events-in-order"]
    assert broken(events(*PAID, replayed=True), shown(otherwise_numbered("usage", 1))) == ["events-carry-iter"]


def test_where_no_usage_stands_between_two_turns_each_event_still_belongs_to_its_own() -> None:
    def changed(change: Callable[[list[EventSeen]], list[EventSeen]]) -> list[str]:
        return broken(events(*FREE), shown(lambda all_: change(without("usage")(all_))))

    assert changed(otherwise_numbered("tool_call", 1)) == ["events-carry-iter"]
    assert changed(otherwise_numbered("tool_result", 1)) == ["events-carry-iter"]
    assert changed(without("tool_result", 1)) == ["events-carry-iter"]
    assert changed(without("tool_call", 2)) == ["events-in-order"]
    assert changed(lambda all_: [all_[0], *all_]) == ["events-in-order"]


def test_the_same_usage_reported_twice_may_be_shown_twice() -> None:
    twice = Turn(calls=(CALL,), usage=SPENT, early_usage=SPENT)
    assert broken(events(twice, ANSWER), shown(lambda all_: [all_[0], *all_])) == []
    assert broken(events(twice, ANSWER), shown(lambda all_: [all_[0], *all_[:1], *all_])) == ["events-in-order"]
    assert broken(events(*PAID), shown(lambda all_: [all_[0], *all_])) == ["events-in-order"]


# spans


def traced(*turns: Turn) -> Scenario:
    return Scenario(name="spans", tracer=True, invocations=(Invocation(messages=USER, turns=turns),))


def of_models(change: Callable[[SpanSeen], dict[str, Any]], *places: int) -> Callable[[Observation], Observation]:
    """A change of the attributes of model calls, all or those at some places."""

    def changed(seen: Observation) -> Observation:
        models = [span for span in seen.spans if span.name == ag03.SPAN_LLM]
        chosen = [span.id for place, span in enumerate(models) if place in places or not places]
        spans = [replace(one, attributes=change(one)) if one.id in chosen else one for one in seen.spans]
        return replace(seen, spans=tuple(spans))

    return changed


def untold(span: SpanSeen) -> dict[str, Any]:
    return {
        name: value for name, value in span.attributes.items() if name not in {ag03.INPUT_TOKENS, ag03.OUTPUT_TOKENS}
    }


def half_told(span: SpanSeen) -> dict[str, Any]:
    return {name: value for name, value in span.attributes.items() if name != ag03.OUTPUT_TOKENS}


def told(span: SpanSeen) -> dict[str, Any]:
    return span.attributes | {ag03.INPUT_TOKENS: 10, ag03.OUTPUT_TOKENS: 5}


@pytest.mark.parametrize("turns", [FREE, (ZERO,)], ids=["nothing reported", "0 / 0 reported"])
def test_the_span_of_a_call_that_cost_nothing_need_not_have_its_tokens(turns: tuple[Turn, ...]) -> None:
    assert broken(traced(*turns), of_models(untold)) == []


def test_what_it_has_is_nothing_else() -> None:
    assert broken(traced(*FREE), of_models(told)) == ["llm-spans-tokens"]
    assert broken(traced(*FREE), of_models(half_told)) == ["llm-spans-tokens"]


def test_tokens_that_were_reported_are_in_the_spans_of_their_calls() -> None:
    mixed = (PAID[0], *FREE)
    assert broken(traced(*mixed), of_models(untold, 1, 2, 3)) == []
    for places in ((0,), (0, 1, 2, 3)):
        assert broken(traced(*mixed), of_models(untold, *places)) == ["llm-spans-tokens"]
    assert broken(traced(*mixed), of_models(half_told, 0)) == ["llm-spans-tokens"]
    assert broken(traced(*mixed), of_models(told)) == ["llm-spans-tokens"]
    assert broken(traced(*PAID), of_models(untold, 1)) == ["llm-spans-tokens"]


ANSWERED = (*USER, Said(role="assistant", calls=(CALL,)), Said(role="tool", content="ok", tool_call_id="a"))
OPEN = (*ANSWERED, Said(content="And?"), Said(role="assistant", calls=(CALL,)))


def goes_on(messages: tuple[Said, ...], runner: Literal["none", "record"]) -> Scenario:
    """A run behind an input with a turn, or with two of which the last is open."""
    one = Invocation(messages=messages, turns=PAID, runner=runner)
    return Scenario(name="goes on", tracer=True, invocations=(one,))


def iterations(number: int, step: int = 0) -> Callable[[Observation], Observation]:
    """A change of the number that the span of the run tells, and of those in its steps' names."""

    def changed(seen: Observation) -> Observation:
        spans = [
            replace(one, attributes=one.attributes | {ag03.ITERATIONS: number}) if one.name == ag03.SPAN_RUN else one
            for one in seen.spans
        ]
        records = [
            replace(one, name=re.sub(r"/(\d+)", lambda found: f"/{int(found[1]) + step}", one.name, count=1))
            if isinstance(one, StepStarted)
            else one
            for one in seen.records
        ]
        return replace(seen, spans=tuple(spans), records=tuple(records))

    return changed


def test_a_run_that_counts_on_from_its_input_may_tell_its_last_number() -> None:
    assert broken(goes_on(ANSWERED, "record"), iterations(4, step=1)) == []
    assert broken(goes_on(ANSWERED, "record"), iterations(3, step=1)) == []
    assert broken(goes_on(ANSWERED, "none"), iterations(4)) == []
    assert broken(goes_on(OPEN, "record"), iterations(5, step=1)) == []


def test_the_number_is_that_of_its_steps_and_no_other() -> None:
    for number in (1, 2, 4, 5):
        assert broken(goes_on(ANSWERED, "record"), iterations(number)) == ["run-span-iterations"]
    for number in (1, 2, 5):
        assert broken(goes_on(ANSWERED, "record"), iterations(number, step=1)) == ["run-span-iterations"]
        assert broken(goes_on(ANSWERED, "none"), iterations(number)) == ["run-span-iterations"]
    for number in (2, 5, 6):
        assert broken(goes_on(OPEN, "record"), iterations(number)) == ["run-span-iterations"]
    assert broken(goes_on(USER, "none"), iterations(4)) == ["run-span-iterations"]


# a run that goes on from a call of which a part arrived

FAILS = Turn(calls=(CALL, CALL.model_copy(update={"id": "b"})), fragments=2, error="down", error_at="middle")
GOES_ON = Scenario(
    name="goes on",
    tracer=True,
    invocations=(
        Invocation(messages=USER, turns=(PAID[0], FAILS)),
        Invocation(continues=0, turns=(ANSWER,)),
        Invocation(messages=USER, turns=(ANSWER,)),
    ),
)


def parts_kept(seen: Observation) -> Observation:
    """The transcript of the first run with what had arrived of the calls."""
    first, *others = seen.invocations
    kept = (*(first.transcript or ()), Message("assistant", "", (ToolCall("", "", "{"), ToolCall("", "", "{"))))
    return replace(seen, invocations=(replace(first, transcript=kept), *others))


def of_run(place: int, **more: Any) -> Callable[[Observation], Observation]:
    """A change of the span of one run, beside what the first one kept."""

    def changed(seen: Observation) -> Observation:
        run = [span for span in seen.spans if span.name == ag03.SPAN_RUN][place]
        return parts_kept(replace(seen, spans=tuple(replace(one, **more) if one is run else one for one in seen.spans)))

    return changed


def test_such_a_run_is_not_judged_and_the_runs_before_it_are() -> None:
    assert broken(GOES_ON, parts_kept) == []
    assert broken(GOES_ON, of_run(0, status="UNSET")) == ["run-span-status"]
    assert broken(GOES_ON, of_run(0, ended=False)) == ["spans-ended"]
    for later in (1, 2):
        assert broken(GOES_ON, of_run(later, ended=False, kind="CLIENT")) == []
    assert broken(GOES_ON, lambda seen: parts_kept(replace(seen, leftovers=("a task",)))) == ["no-task-left"]
