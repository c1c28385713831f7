"""Drawn scenarios of ag03: each can be predicted and kept, and everything that is promised is drawn."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from tests.conformance.fuzz.drawing import drawn_from, read_for_two_choices
from tests.conformance.fuzz.loops import AG03
from tests.conformance.oracle.predicting import every

from looptck.fuzz import ag03
from looptck.oracle import readings, unpredicted

if TYPE_CHECKING:
    from collections.abc import Callable

    from looptck.scenario import Invocation, Scenario, Turn

MANY = 800


@pytest.fixture(scope="module")
def drawn() -> list[Scenario]:
    return drawn_from(ag03.scenarios(), MANY)


def test_each_can_be_predicted(drawn: list[Scenario]) -> None:
    assert {unpredicted(AG03, scenario) for scenario in drawn} == {None}


def test_each_is_read_from_its_json_as_the_same(drawn: list[Scenario]) -> None:
    for scenario in drawn:
        assert AG03.scenario_from_json(AG03.scenario_to_json(scenario)) == scenario
        assert AG03.scenario_from_json(scenario.model_dump_json(exclude_defaults=True)) == scenario


def test_most_are_drawn_once(drawn: list[Scenario]) -> None:
    assert len({scenario.model_dump_json() for scenario in drawn}) > len(drawn) / 2


@pytest.mark.parametrize("made", [ag03.scenarios, ag03.swept])
def test_no_byte_is_read_for_two_choices(made: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_for_two_choices(monkeypatch, ag03, made) == set()


def turns(scenario: Scenario) -> list[Turn]:
    return [turn for invocation in scenario.invocations for turn in invocation.turns]


def second(scenario: Scenario) -> Invocation | None:
    return scenario.invocations[1] if len(scenario.invocations) > 1 else None


def ids(scenario: Scenario) -> Counter[str]:
    return max((Counter(call.id for call in turn.calls) for turn in turns(scenario)), key=len, default=Counter())


def any_call(**wanted: Any) -> Callable[[Scenario], bool]:
    return lambda scenario: any(
        all(getattr(call, name) == value for name, value in wanted.items()) for call in scenario.calls()
    )


def any_turn(what: Callable[[Turn], Any]) -> Callable[[Scenario], bool]:
    return lambda scenario: any(what(turn) for turn in turns(scenario))


def fails(when: str) -> Callable[[Scenario], bool]:
    return any_turn(lambda turn: turn.error and turn.error_at == when)


def first(**wanted: Any) -> Callable[[Scenario], bool]:
    """Whether the first invocation has these values."""
    return lambda it: all(getattr(it.invocations[0], name) == value for name, value in wanted.items())


def finishes(how: str) -> Callable[[Scenario], bool]:
    return lambda it: it.finish == how


def roles(scenario: Scenario) -> list[str]:
    return [said.role for said in scenario.invocations[0].messages]


def of_roles(*wanted: str) -> Callable[[Scenario], bool]:
    """Whether the first input consists of messages of these roles."""
    return lambda it: roles(it) == [*wanted]


def spent(scenario: Scenario) -> list[int]:
    total, sums = 0, []
    for turn in scenario.invocations[0].turns:
        usage = turn.usage or turn.early_usage
        total += usage.usage().total if usage is not None else 0
        sums.append(total)
    return sums


PROMISED: dict[str, Callable[[Scenario], Any]] = {
    "an answer at once": lambda it: not any(it.calls()) and it.invocations[0].turns,
    "many turns": lambda it: len(it.invocations[0].turns) > 8,
    "many calls in a turn": any_turn(lambda turn: len(turn.calls) > 8),
    "a call twice in a turn": lambda it: any(len(set(turn.calls)) < len(turn.calls) for turn in turns(it)),
    "a call again in a later turn": lambda it: any(
        set(one.calls) & set(other.calls) for one, other in zip(turns(it), turns(it)[1:], strict=False)
    ),
    "an id of two calls": lambda it: len({call.id for call in it.calls()}) < len(set(it.calls())),
    "no JSON": any_call(arguments='{"q":'),
    "no object": any_call(arguments="null"),
    "no text": any_call(arguments=""),
    "a tool that fails": any_call(is_error=True),
    "a tool that raises": lambda it: any(call.raises for call in it.calls()),
    **{f"a gate that says {verdict}": any_call(verdict=verdict) for verdict in ("deny", "need_approval", "raise")},
    "a gate that always allows": lambda it: it.gate and all(call.verdict == "allow" for call in it.calls()),
    "a long text": lambda it: any(len(call.answer) > 10_000 for call in it.calls()),
    "many pieces": any_turn(lambda turn: len(turn.text) > 1_000),
    "an empty piece": any_turn(lambda turn: "" in turn.text),
    "fragments": any_turn(lambda turn: turn.fragments > 1),
    "usage reported twice": any_turn(lambda turn: turn.early_usage and turn.usage),
    **{f"a model that fails {when} its reply": fails(when) for when in ("before", "middle", "after")},
    "a system prompt": lambda it: it.options.system,
    "an empty system prompt": lambda it: it.options.system == "",
    "a system prompt before another": lambda it: it.options.system and roles(it)[:1] == ["system"],
    "a system prompt before an empty one": lambda it: (
        it.options.system and roles(it)[:1] == ["system"] and not it.invocations[0].messages[0].content
    ),
    "call options": lambda it: it.options.call_options,
    "one slot for tools": lambda it: it.options.max_parallel_tools == 1,
    "no limit": lambda it: not {it.options.max_iter, it.options.max_tokens, it.options.max_tool_calls} - {None},
    "a cap that is met": lambda it: it.options.max_iter and it.options.max_iter == len(it.invocations[0].turns),
    "tokens that are met": lambda it: it.options.max_tokens in spent(it),
    "tokens that are just passed": lambda it: it.options.max_tokens and it.options.max_tokens + 1 in spent(it),
    "a budget of calls": lambda it: it.options.max_tool_calls,
    "all three limits": lambda it: None not in {it.options.max_iter, it.options.max_tokens, it.options.max_tool_calls},
    **{f"tools that end {how}": finishes(how) for how in ("at_once", "first", "last")},
    **{f"events read: {read}": first(read=read) for read in ("none", "all", 2)},
    "a result twice": lambda it: it.invocations[0].result_twice,
    **{f"a runner that does {runner}": first(runner=runner) for runner in ("none", "record", "refuse")},
    "an input with an answered turn": lambda it: roles(it)[-1:] == ["tool"],
    "an input with an open turn": lambda it: roles(it)[-1:] == ["assistant"] and it.invocations[0].messages[-1].calls,
    "an input without messages": lambda it: not roles(it),
    **{
        f"an input of {' and '.join(alone)} alone": of_roles(*alone)
        for alone in (("system",), ("assistant",), ("system", "assistant"), ("assistant", "tool"))
    },
    "an open turn without a user's message": lambda it: (
        roles(it) == ["assistant"] and it.invocations[0].messages[0].calls
    ),
    "the same again": lambda it: (
        (two := second(it)) and two.turns == it.invocations[0].turns and two.runner != "replay"
    ),
    "the same agent again": lambda it: (two := second(it)) and two.reuse_agent,
    "a replay": lambda it: (two := second(it)) and two.runner == "replay",
    "a new question": lambda it: (two := second(it)) and two.continues == 0 and two.messages,
    "a resumed run": lambda it: (two := second(it)) and two.continues == 0 and not two.messages,
    "a tool message far behind": lambda it: (
        roles(it)[-1:] == ["user"] and "tool" in roles(it) and "tool" not in roles(it)[-12:]
    ),
    "approvals that no call waits for": lambda it: any(
        len({*(one.approvals or ())} - {call.marker for call in it.calls()})
        > max(2, sum(bool(c.marker) for c in it.calls()))
        for one in it.invocations
    ),
    "some of them beside one that frees some": lambda it: any(
        {call.marker for call in it.calls()} & {*(one.approvals or ())} and len(one.approvals or ()) > 2
        for one in it.invocations
    ),
    "approvals": lambda it: any(invocation.approvals for invocation in it.invocations),
    "a tracer": lambda it: it.tracer,
}


@pytest.mark.parametrize("what", PROMISED.values(), ids=PROMISED)
def test_what_is_promised_is_drawn(what: Callable[[Scenario], Any], drawn: list[Scenario]) -> None:
    assert any(what(scenario) for scenario in drawn)


def test_what_is_left_open_in_each_is_followed_to_its_end(drawn: list[Scenario]) -> None:
    runs = [len(every(scenario, place)) for scenario in drawn for place in range(len(scenario.invocations))]
    assert 1 < max(runs) < readings.MOST / 8


def test_no_limit_is_zero(drawn: list[Scenario]) -> None:
    assert all(0 not in {each.options.max_iter, each.options.max_tokens, each.options.max_tool_calls} for each in drawn)
