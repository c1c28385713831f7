"""Drawn scenarios of lesson4: each can be predicted and kept, and everything that is promised is drawn."""

from __future__ import annotations

import json
from collections import Counter
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, get_args

import pytest
from tests.conformance.fuzz.drawing import drawn_from, read_for_two_choices

from looptck.contract.lesson4 import Usage
from looptck.fuzz import lesson4
from looptck.lesson4.scenario import Ask, Meter
from looptck.oracle import unpredicted
from looptck.oracle.lesson4 import cost_of, zero_ceilings
from looptck.profile import profile_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from looptck.lesson4.scenario import Reply, Scenario

LESSON4 = profile_of("lesson4")
MANY = 800


@pytest.fixture(scope="module")
def drawn() -> list[Scenario]:
    return drawn_from(lesson4.scenarios(), MANY)


def test_each_can_be_predicted(drawn: list[Scenario]) -> None:
    assert {unpredicted(LESSON4, scenario) for scenario in drawn} == {None}


def test_each_is_read_from_its_json_as_the_same(drawn: list[Scenario]) -> None:
    for scenario in drawn:
        whole, short = LESSON4.scenario_to_json(scenario), scenario.model_dump_json(exclude_defaults=True)
        for read in map(LESSON4.scenario_from_json, (whole, short)):
            assert read == scenario
            assert LESSON4.scenario_to_json(read) == whole, "1, 1.0 and true are equal, and not the same"


def test_nearly_all_are_drawn_once(drawn: list[Scenario]) -> None:
    assert len({scenario.model_dump_json() for scenario in drawn}) > 0.98 * len(drawn)


def test_no_byte_is_read_for_two_choices(monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_for_two_choices(monkeypatch, lesson4, lesson4.scenarios) == set()


# What is looked at is the first run: each of these is the whole of it or a part.


def replies(scenario: Scenario) -> tuple[Reply, ...]:
    return scenario.runs[0].replies


def turns(scenario: Scenario) -> list[Reply]:
    return [reply for reply in replies(scenario) if reply.asks]


def asks(scenario: Scenario) -> list[Ask]:
    return [ask for reply in replies(scenario) for ask in reply.asks]


def end(scenario: Scenario) -> str | None:
    """The text that answers; None where there is none."""
    last = replies(scenario)[-1:]
    return last[0].text if last and not last[0].asks and last[0].error is None else None


def meter(scenario: Scenario) -> Meter:
    return scenario.meter or Meter()


def spent(scenario: Scenario) -> list[Usage]:
    """What has been spent where the ceilings are looked at: behind each turn."""
    return list(accumulate(turn.usage.usage() for turn in turns(scenario)))


def tokens(scenario: Scenario) -> list[int]:
    return [usage.total for usage in spent(scenario)]


def over_cost(scenario: Scenario) -> list[int]:
    """By how many thousandths the cost behind each turn lies above the ceiling."""
    costs = [cost_of(scenario.meter, usage.input_tokens, usage.output_tokens) for usage in spent(scenario)]
    return [round(1000 * (float(cost) - (meter(scenario).max_cost or 0))) for cost in costs]


def both_passed(scenario: Scenario) -> bool:
    """Whether a step passes the ceilings of tokens and of costs at once."""
    ceiling, priced = meter(scenario).max_total_tokens, meter(scenario).max_cost
    if ceiling is None or priced is None:
        return False
    return any(total > ceiling and over > 0 for total, over in zip(tokens(scenario), over_cost(scenario), strict=True))


def repeated(scenario: Scenario) -> int:
    """How often the call that is asked for most is asked for, whatever the order of its keys."""
    calls = Counter(json.dumps([ask.name, ask.arguments, ask.opaque], sort_keys=True) for ask in asks(scenario))
    return max(calls.values(), default=0)


def again_after_history(scenario: Scenario) -> bool:
    """Whether a call of the history, which does not count, is asked for as often as the repeat limit allows."""
    said = [call for message in scenario.runs[0].history or () for call in message.get("tool_calls", ())]
    before = [f"{call['name']} {call['arguments']}" for call in said]
    times = Counter(f"{ask.name} {ask.arguments | ask.opaque}" for ask in asks(scenario))
    return any(0 < times[call] == meter(scenario).repeat_limit for call in before)


def shown(ask: Ask) -> str:
    """A call by what may tell it from others: types of values and the order of keys too."""
    return f"{ask.name} {ask.arguments} {ask.opaque}"


# Of each kind that is promised: whether a scenario is of that kind.


def any_ask(what: Callable[[Ask], Any]) -> Callable[[Scenario], bool]:
    return lambda it: any(what(ask) for ask in asks(it))


def outcome(name: str) -> Callable[[Scenario], bool]:
    return any_ask(lambda ask: ask.outcome == name)


def answer(text: str) -> Callable[[Scenario], bool]:
    return any_ask(lambda ask: ask.answer == text)


def any_turn(what: Callable[[Reply], Any]) -> Callable[[Scenario], bool]:
    return lambda it: any(what(turn) for turn in turns(it))


def any_pair(what: Callable[[Ask, Ask], Any]) -> Callable[[Scenario], bool]:
    """Of calls, the first of them earlier."""
    return lambda it: any(what(one, two) for at, two in enumerate(asks(it)) for one in asks(it)[:at])


def again(what: Callable[[Ask, Ask], Any]) -> Callable[[Scenario], bool]:
    return any_pair(lambda one, two: shown(one) == shown(two) and what(one, two))


def called(*arguments: dict[str, Any]) -> Callable[[Scenario], bool]:
    """Whether one tool is called with each of these."""
    wanted = set(map(str, arguments))
    return lambda it: any(wanted <= arguments for arguments in _by_tool(it).values())


def _by_tool(scenario: Scenario) -> dict[str, set[str]]:
    return {ask.name: {str(one.arguments) for one in asks(scenario) if one.name == ask.name} for ask in asks(scenario)}


def opaque(*texts: str) -> Callable[[Scenario], bool]:
    return lambda it: set(texts) <= {text for ask in asks(it) for text in ask.opaque.values()}


def zero(ceiling: str) -> Callable[[Scenario], bool]:
    return lambda it: it.refusable and ceiling in zero_ceilings(it)


def runs(*different: int) -> Callable[[Scenario], bool]:
    """So many runs, and how many of them differ."""
    return lambda it: (len(it.runs), len({run.model_dump_json() for run in it.runs})) == different


def history(*roles: str) -> Callable[[Scenario], bool]:
    return lambda it: it.runs[0].history is not None and [said["role"] for said in it.runs[0].history] == list(roles)


OUTCOMES = get_args(Ask.model_fields["outcome"].annotation)
CEILINGS = ("max_steps", "max_total_tokens", "max_cost", "repeat_limit")
LONG, ODD = 10_000, "naïve ☂ 日本"
PROMISED: dict[str, Callable[[Scenario], Any]] = {
    "an answer at once": lambda it: not turns(it) and end(it),
    "several turns": lambda it: len(turns(it)) == 5,
    "several calls in a turn": any_turn(lambda turn: len(turn.asks) == 3),
    "text beside calls": any_turn(lambda turn: turn.text),
    **{f"a call that is {name}": outcome(name) for name in OUTCOMES},
    "a fatal call behind one that ran, and before another": any_turn(
        lambda turn: "fatal" in [ask.outcome for ask in turn.asks[1:-1]] and turn.asks[0].outcome != "fatal"
    ),
    "a turn whose calls all fail": any_turn(lambda turn: {ask.outcome for ask in turn.asks} <= {"failed", "denied"}),
    **{f"a result of {text!r}": answer(text) for text in ("", " \n", ODD)},
    "a result that looks like an error": any_ask(lambda ask: ask.outcome == "ok" and ask.answer.startswith("error")),
    "a long result": any_ask(lambda ask: len(ask.answer) > LONG),
    "a failure without a word": any_ask(lambda ask: ask.outcome == "failed" and not ask.answer),
    "long arguments": any_ask(lambda ask: len(str(ask.arguments)) > LONG),
    "odd arguments": any_ask(lambda ask: ODD in str(ask.arguments)),
    # which calls are the same
    "a call twice in a turn": any_turn(lambda turn: len(set(map(shown, turn.asks))) < len(turn.asks)),
    "a call again in the next turn": lambda it: any(
        set(map(shown, one.asks)) & set(map(shown, two.asks))
        for one, two in zip(turns(it), turns(it)[1:], strict=False)
    ),
    "two calls of a turn under one id": any_turn(lambda turn: len({ask.id for ask in turn.asks}) < len(turn.asks)),
    "a call twice in a turn under one id": any_turn(
        lambda turn: len({(ask.id, shown(ask)) for ask in turn.asks}) < len(turn.asks)
    ),
    "two tools under one id, of which one fails": any_turn(
        lambda turn: any(
            one.id == two.id and one.name != two.name and (one.outcome, two.outcome) == ("ok", "failed")
            for one, two in pairwise(turn.asks)
        )
    ),
    "a call again under its id": again(lambda one, two: one.id == two.id),
    "a call again under another id": again(lambda one, two: one.id != two.id),
    "a call that fails and then comes back well": again(
        lambda one, two: (one.outcome, two.outcome) == ("failed", "ok")
    ),
    "the same turn every time": lambda it: (
        len(turns(it)) > 2 and len({tuple(map(shown, t.asks)) for t in turns(it)}) == 1
    ),
    "keys in another order": called({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    "inner keys in another order": called(
        {"a": {"x": 1, "y": [2, {"p": 3, "q": 4}]}}, {"a": {"y": [2, {"q": 4, "p": 3}], "x": 1}}
    ),
    "other letters": called({"q": "rain"}, {"q": "Rain"}),
    "white space": called({"q": "rain"}, {"q": "rain "}),
    "another key": called({"q": "rain"}, {"Q": "rain"}),
    "values exchanged": called({"from": "a", "to": "b"}, {"from": "b", "to": "a"}),
    "a list in another order": called({"q": ["a", "b"]}, {"q": ["b", "a"]}),
    "long arguments that begin alike": called({"q": f"{lesson4.LONG}1"}, {"q": f"{lesson4.LONG}2"}),
    "a number and its text": called({"n": 1}, {"n": "1"}),
    "null and nothing": called({"n": None}, {}),
    "one as an integer, a float and true": called({"n": 1}, {"n": 1.0}, {"n": True}),
    "values that are no JSON": opaque("2030-01-01", "2030-01-02"),
    "a value that is no JSON and its text": lambda it: called({"when": "noon"})(it) and opaque("noon")(it),
    "another tool with the same arguments": any_pair(
        lambda one, two: one.name != two.name and one.arguments == two.arguments
    ),
    "a tool whose name begins alike": lambda it: {"search", "search_all"} <= {ask.name for ask in asks(it)},
    # the meter
    "no meter": lambda it: it.meter is None,
    "no meter, and no end": lambda it: it.meter is None and len(turns(it)) > 99,
    "a meter without steps, and no end": lambda it: it.meter and it.meter.max_steps is None and len(turns(it)) > 99,
    "a meter without steps, and an end": lambda it: it.meter and it.meter.max_steps is None and len(turns(it)) < 6,
    "steps that are just enough": lambda it: end(it) is not None and meter(it).max_steps == len(turns(it)) + 1,
    "steps for all but the answer": lambda it: len(turns(it)) > 1 and meter(it).max_steps == len(turns(it)),
    "steps that end between turns": lambda it: 0 < (meter(it).max_steps or 0) < len(turns(it)),
    "a single step": lambda it: turns(it) and meter(it).max_steps == 1,
    "room for steps": lambda it: (meter(it).max_steps or 0) > len(replies(it)) + 10,
    "repeats up to the limit": lambda it: repeated(it) > 1 and meter(it).repeat_limit == repeated(it),
    "repeats just past the limit": lambda it: repeated(it) > 1 and meter(it).repeat_limit == repeated(it) - 1,
    "repeats well past the limit": lambda it: 0 < (meter(it).repeat_limit or 0) < repeated(it) - 2,
    "repeats without a limit": lambda it: repeated(it) > 1 and it.meter and it.meter.repeat_limit is None,
    "room for repeats": lambda it: repeated(it) > 1 and (meter(it).repeat_limit or 0) > 10,
    "tokens that are met": lambda it: (meter(it).max_total_tokens or -1) in tokens(it),
    "tokens that are just passed": lambda it: (meter(it).max_total_tokens or 0) + 1 in tokens(it)[:-1],
    "tokens that are just not met": lambda it: meter(it).max_total_tokens == max(tokens(it), default=0) + 1,
    "room for tokens": lambda it: (meter(it).max_total_tokens or 0) > max(tokens(it), default=0) + 1000,
    "a cost that is met": lambda it: meter(it).max_cost and 0 in over_cost(it),
    "a cost that is just passed": lambda it: meter(it).max_cost and 1 in over_cost(it)[:-1],
    "a cost that is just not met": lambda it: meter(it).max_cost and over_cost(it)[-1:] == [-1],
    "room for costs": lambda it: meter(it).max_cost and max(over_cost(it), default=0) < -1000,
    "tokens and costs passed in one step": both_passed,
    **{f"{ceiling} of zero": zero(ceiling) for ceiling in CEILINGS},
    "no prices": lambda it: it.meter and it.meter.price_per_1k_input is None and it.meter.price_per_1k_output is None,
    "a price of input alone": lambda it: meter(it).price_per_1k_input and meter(it).price_per_1k_output is None,
    "a price of output alone": lambda it: meter(it).price_per_1k_output and meter(it).price_per_1k_input is None,
    "what tokens cost": lambda it: it.costs and meter(it).price_per_1k_input,
    "what tokens cost where nobody set a price": lambda it: it.costs and not meter(it).price_per_1k_input,
    # how a run begins and ends, and how many there are
    "an error of the model": lambda it: replies(it) and replies(it)[-1].error,
    "a script that is too short": lambda it: turns(it) and replies(it)[-1].asks,
    "no script": lambda it: not replies(it),
    "an empty answer": lambda it: turns(it) and end(it) == "",
    "an answer with white space around it": lambda it: turns(it) and (end(it) or "").startswith("\n"),
    "an answer that reads like a stop": lambda it: turns(it) and (end(it) or "").startswith("Stopped: "),
    "an answer in other letters": lambda it: turns(it) and end(it) == ODD,
    "one run": runs(1, 1),
    "the same run again": runs(2, 1),
    "another run": runs(2, 2),
    "no history": lambda it: it.runs[0].history is None,
    "an empty history": history(),
    "a history": history("user", "assistant"),
    "a history with tools": history("user", "assistant", "tool", "assistant"),
    "a history with a call that is made as often as the limit allows": again_after_history,
    "a history that a system message leads": history("system", "user"),
    "no system prompt": lambda it: it.system is None,
    "a system prompt": lambda it: it.system,
    "an empty system prompt": lambda it: it.system == "",
    "a system prompt before another": lambda it: it.system and history("system", "user")(it),
    # the other options
    "a limit of output": lambda it: it.max_output_tokens is not None,
    "a temperature": lambda it: it.temperature,
    "a temperature of zero": lambda it: it.temperature == 0,
    "no options": lambda it: it.temperature is None and it.max_output_tokens is None,
    "a tracer": lambda it: it.tracer,
    "no tools": lambda it: not it.tools and not turns(it),
    "calls where there are no tools": lambda it: not it.tools and turns(it),
}


@pytest.mark.parametrize("what", PROMISED.values(), ids=PROMISED)
def test_what_is_promised_is_drawn(what: Callable[[Scenario], Any], drawn: list[Scenario]) -> None:
    assert any(what(scenario) for scenario in drawn)
