"""A run told as the rows of a worked example: section 3's table for the hand example, and what goes wrong elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import looptck_reference
from looptck.adapter import ContractAdapter
from looptck.contract.ag03 import Message
from looptck.observe import observe_here
from looptck.report.row import Row
from looptck.report.worked import rows
from looptck.scenario import Call, Invocation, Options, Said, Scenario, Stop, Tokens, Turn
from looptck.suite.ag03.hand_example import TEST as HAND_EXAMPLE
from looptck.suite.evidence import Evidence
from looptck.suite.labels import Labels

USER = (Said(content="What is there to see?"),)
LOOK = Call(id="call_1", name="look", arguments='{"at": "sea"}', answer="a ship")
COUNT = Call(id="call_2", name="count", arguments='{"what": "ships"}', answer="one")
PAID = Tokens(input=4, output=2)
LOOKS = Turn(calls=(LOOK,), usage=PAID)
ANSWERS = Turn(text=("A ", "ship."), usage=PAID)


def told(scenario: Scenario, agent_class: type[Any] = looptck_reference.Agent) -> list[Row]:
    return rows(Evidence(scenario, observe_here(ContractAdapter(agent_class), scenario)))


def one_run(*turns: Turn, gate: bool = False, options: Options | None = None, **fields: Any) -> Scenario:
    run = Invocation(messages=USER, turns=turns, **fields)
    return Scenario(name="sea", gate=gate, options=options or Options(), invocations=(run,))


def deeds(found: list[Row]) -> list[list[str]]:
    return [row.did for row in found]


# section 3


def test_the_hand_example_is_told_as_in_the_specification() -> None:
    hand = next(scenario for scenario in HAND_EXAMPLE.build(Labels(0, "")) if scenario.name == "hand")
    assert told(hand) == [
        Row("model 1", "user", 'call_1 = get_weather({"city": "Paris"})', ["runs call_1 get_weather"], "10 / 5"),
        Row("model 2", "user, assistant(call_1), tool(call_1)", "'It is sunny.'", ["ends: answered"], "30 / 9"),
    ]


# what the model returned


def test_text_beside_calls_is_told_with_them() -> None:
    first, *_ = told(one_run(Turn(text=("Let me look.",), calls=(LOOK, COUNT)), ANSWERS))
    assert first.model == ("""'Let me look.', call_1 = look({"at": "sea"}), call_2 = count({"what": "ships"})""")


def test_an_empty_reply_is_told_as_one() -> None:
    (only,) = told(one_run(Turn()))
    assert (only.model, only.did, only.usage) == ("''", ["ends: answered"], "0 / 0")


def test_what_is_long_is_clipped() -> None:
    (only,) = told(one_run(Turn(text=("word " * 100,))))
    assert only.model.endswith("…'")
    assert len(only.model) == 62


def test_a_request_beyond_the_script_is_told() -> None:
    *_, last = told(one_run(LOOKS))
    assert (last.step, last.model, last.did) == (
        "model 2",
        "nothing: beyond its script",
        ["reply ended: error", "ends: script_exhausted"],
    )


def test_a_reply_that_fails_is_told_with_what_came_of_it_and_costs_nothing() -> None:
    models = []
    for place in ("before", "middle", "after"):
        turn = Turn(text=("A ship.",), usage=PAID, error="no more", error_at=place)
        (only,) = told(one_run(turn))
        assert (only.did, only.usage) == (["reply ended: error", "ends: ScriptedError: no more"], "0 / 0")
        models.append(only.model)
    assert models == ["an error", "a part of 'A ship.', then an error", "'A ship.', then an error"]


# what the messages were


def test_of_many_messages_the_last_ones_are_told() -> None:
    *_, last = told(one_run(LOOKS, Turn(calls=(COUNT,)), ANSWERS))
    assert last.before == "user, assistant(call_1), tool(call_1), assistant(call_2), tool(call_2)"
    *_, last = told(one_run(LOOKS, Turn(calls=(COUNT,)), ANSWERS, options=Options(system="Be brief.")))
    assert last.before == "2 earlier, assistant(call_1), tool(call_1), assistant(call_2), tool(call_2)"


# what the loop did


def test_the_gates_verdicts_are_told() -> None:
    denied = LOOK.model_copy(update={"verdict": "deny", "reason": "fog"})
    first, _ = told(one_run(Turn(calls=(denied, COUNT)), ANSWERS, gate=True))
    assert first.did == ["gate about call_1: deny", "gate about call_2: allow", "runs call_2 count"]


def test_the_limit_that_ends_a_run_is_told() -> None:
    assert deeds(told(one_run(LOOKS, ANSWERS, options=Options(max_iter=1)))) == [["runs call_1 look", "ends: max_iter"]]


def test_a_tool_that_raises_and_one_that_is_cancelled_are_told() -> None:
    raises = LOOK.model_copy(update={"raises": "fog"})
    assert deeds(told(one_run(Turn(calls=(raises,)), ANSWERS)))[0] == ["runs call_1 look", "call_1 raised"]
    assert deeds(told(one_run(LOOKS, cancel="tools"))) == [["runs call_1 look", "call_1 cancelled", "ends: cancelled"]]


def test_a_refused_step_is_told_by_its_name() -> None:
    found = told(one_run(LOOKS, ANSWERS, runner="refuse", refuse=("llm/2",)))
    assert deeds(found) == [
        ["runs call_1 look", "step llm/2 refused", "ends: ScriptedError: the runner refuses this step"]
    ]


def test_a_run_without_a_model_call_is_told_from_its_start() -> None:
    recorded = Invocation(messages=USER, turns=(LOOKS, ANSWERS), runner="record")
    replayed = Invocation(messages=USER, runner="replay")
    *_, last = told(Scenario(name="again", invocations=(recorded, replayed)))
    assert (last.step, last.before, last.model, last.usage) == ("run 2, start", "user", "", "")
    assert last.did == [
        "step llm/1 replayed",
        "step tool/1/0/look replayed",
        "step llm/2 replayed",
        "ends: answered",
    ]


def test_a_run_that_is_left_unfinished_is_told() -> None:
    class Waits(looptck_reference.Agent):
        def invoke(self, messages: Sequence[Message]) -> Any:
            stream = super().invoke(messages)
            stream._run = held
            return stream

    async def held() -> Any:
        await asyncio.Future()

    (only,) = told(one_run(ANSWERS), Waits)
    assert (only.step, only.did) == ("start", ["ends: unfinished"])


# several runs


def test_runs_one_after_the_other_are_numbered_and_each_counts_for_itself() -> None:
    run = Invocation(messages=USER, turns=(ANSWERS,))
    found = told(Scenario(name="two", invocations=(run, run)))
    assert [(row.step, row.did, row.usage) for row in found] == [
        ("run 1, model 1", ["ends: answered"], "4 / 2"),
        ("run 2, model 1", ["ends: answered"], "4 / 2"),
    ]


def test_runs_at_once_are_told_apart() -> None:
    first = Invocation(messages=USER, turns=(LOOKS, ANSWERS))
    second = Invocation(messages=(Said(content="How many?"),), turns=(Turn(calls=(COUNT,)), ANSWERS), alongside=True)
    found = told(Scenario(name="both", gate=True, invocations=(first, second)))
    assert [(row.step, row.did) for row in found] == [
        ("run 1, model 1", ["gate about call_1: allow", "runs call_1 look"]),
        ("run 1, model 2", ["ends: answered"]),
        ("run 2, model 1", ["gate about call_2: allow", "runs call_2 count"]),
        ("run 2, model 2", ["ends: answered"]),
    ]


# a run that was stopped and goes on


def test_a_resumed_run_is_told_with_the_replies_that_it_really_got() -> None:
    stopped = Invocation(messages=USER, turns=(LOOKS, ANSWERS), runner="record", stop=Stop(after=2))
    resumed = stopped.model_copy(update={"runner": "resume", "stop": None})
    found = told(Scenario(name="sea", invocations=(stopped, resumed)))
    assert [(row.step, row.model, row.did) for row in found] == [
        ("run 1, model 1", 'call_1 = look({"at": "sea"})', ["runs call_1 look", "ends: stopped"]),
        ("run 2, start", "", ["step llm/1 replayed", "step tool/1/0/look replayed"]),
        ("run 2, model 2", "'A ship.'", ["ends: answered"]),
    ]


def test_a_lost_outcome_is_told() -> None:
    stopped = Invocation(messages=USER, turns=(LOOKS, ANSWERS), runner="record", stop=Stop(after=2, lost=True))
    (row,) = told(Scenario(name="sea", invocations=(stopped,)))
    assert row.did == ["runs call_1 look", "step tool/1/0/look lost", "ends: stopped"]
