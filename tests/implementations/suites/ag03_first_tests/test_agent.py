"""The tests that the chapter's table asks for first, for any loop of ag.03."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from looptck.contract.ag03 import Budget, BudgetError, Deny, LoopError, MaxIterError, Message, ToolCall, Usage
from looptck_fakes import RecordingTools, ScriptedProvider, Stage, TableGate, Turn

Play = Callable[..., Any]
QUESTION = Message("user", "What is the weather in Paris?")
PARIS = ToolCall("call_1", "get_weather", '{"city":"Paris"}')
PATIENCE = 3.0
"""Seconds in which tools that should run at once have to be there."""


@pytest.fixture
def tools() -> RecordingTools:
    return RecordingTools({"get_weather": "sunny, 21 C", "delete_file": "deleted"})


@pytest.fixture
def script() -> list[Turn]:
    """The two turns of the example that is worked by hand."""
    return [
        Turn(calls=(PARIS,), usage=Usage(10, 5)),
        Turn(text=("It ", "is ", "sunny."), usage=Usage(20, 4)),
    ]


def weather_calls(number: int, turn: int = 0) -> tuple[ToolCall, ...]:
    return tuple(ToolCall(f"t{turn}c{index}", "get_weather", f'{{"day":{index}}}') for index in range(number))


def test_hand_example(play: Play, script: list[Turn], tools: RecordingTools) -> None:
    run = play(script, tools)
    proposal = Message("assistant", tool_calls=(PARIS,))
    result = Message("tool", "sunny, 21 C", tool_call_id="call_1")
    answer = Message("assistant", "It is sunny.")
    assert run.answer == answer
    assert len(run.model.requests) == 2
    assert tools.runs == (PARIS,)
    assert list(run.model.requests[1].messages) == [QUESTION, proposal, result]
    assert list(run.transcript) == [QUESTION, proposal, result, answer]
    assert run.events == ["usage", "tool_call", "tool_result", "text", "text", "text", "usage", "done"]


def test_usage_is_summed(play: Play, script: list[Turn], tools: RecordingTools) -> None:
    assert play(script, tools).usage == Usage(30, 9)


@pytest.mark.parametrize("cap", [1, 3])
def test_the_cap_stops_a_model_that_never_answers(play: Play, tools: RecordingTools, cap: int) -> None:
    turns = [Turn(text=(f"turn {turn}",), calls=weather_calls(1, turn)) for turn in range(9)]
    run = play(turns, tools, max_iter=cap)
    assert isinstance(run.error, MaxIterError)
    assert run.error.message == Message("assistant", f"turn {cap - 1}", weather_calls(1, cap - 1))
    assert (len(run.model.requests), len(tools.runs)) == (cap, cap)


def test_two_tools_run_at_once_and_their_results_stand_in_call_order(loop_class: Any) -> None:
    """Whoever came last finishes first, whenever two are there or nobody else is to come."""
    stage, calls, seen = Stage(), weather_calls(6), []
    tools = RecordingTools(lambda call: f"weather of {call.id}", stage=stage)
    model = ScriptedProvider([Turn(calls=calls), Turn(text=("Mixed.",))])

    async def watched() -> None:
        stream = loop_class(model, tools, max_parallel_tools=2).invoke([QUESTION])
        run = asyncio.ensure_future(stream.result())
        async with asyncio.timeout(PATIENCE):
            while not run.done():
                await asyncio.sleep(0)
                seen.append(tools.in_flight)
                if len(stage.held) >= 2 or (stage.held and len(tools.runs) == 6):
                    stage.release(stage.held[-1])
        await run

    try:
        asyncio.run(watched())
    except TimeoutError:
        pytest.fail("two tools were never in flight at once")
    assert max(seen) == 2
    results = [message.tool_call_id for message in model.requests[1].messages if message.role == "tool"]
    assert results == [call.id for call in calls]


THREE = Turn(calls=weather_calls(3), usage=Usage(5, 5))
DEAR = Turn(calls=weather_calls(1), usage=Usage(80, 30))
HALVES = [Turn(calls=weather_calls(1, turn), usage=Usage(50, 10)) for turn in range(2)]


@pytest.mark.parametrize(
    ("budget", "turns", "ran"),
    [
        pytest.param(Budget(max_tool_calls=2), [THREE], 0, id="three calls against two"),
        pytest.param(Budget(max_tokens=100), [DEAR], 0, id="110 tokens against 100"),
        pytest.param(Budget(max_tokens=100), HALVES, 1, id="twice 60 tokens against 100"),
    ],
)
def test_a_budget_stops_before_the_dispatch(
    play: Play, tools: RecordingTools, budget: Budget, turns: list[Turn], ran: int
) -> None:
    run = play([*turns, Turn(text=("Never said.",))], tools, budget=budget)
    assert isinstance(run.error, BudgetError)
    assert len(tools.runs) == ran
    assert len(run.model.requests) == len(turns)


def test_a_denied_call_does_not_run_and_the_model_reads_why(play: Play, tools: RecordingTools) -> None:
    delete = ToolCall("call_2", "delete_file", "{}")
    gate = TableGate({"delete_file": Deny("read only")})
    run = play([Turn(calls=(PARIS, delete)), Turn(text=("I may not.",))], tools, gate=gate)
    assert tools.runs == (PARIS,)
    assert run.model.requests[1].messages[-1] == Message(
        "tool", "error: denied by policy: read only", tool_call_id="call_2"
    )
    assert run.answer == Message("assistant", "I may not.")


def test_the_system_prompt_is_there_once(play: Play, tools: RecordingTools) -> None:
    prompt = Message("system", "Be brief.")
    for messages in ([QUESTION], [prompt, QUESTION]):
        run = play([Turn(text=("Yes.",))], tools, *messages, system="Be brief.")
        assert list(run.model.requests[0].messages) == [prompt, QUESTION]
        assert list(run.transcript)[:2] == [prompt, QUESTION]


def test_an_error_of_the_provider_ends_the_run(play: Play, tools: RecordingTools) -> None:
    run = play([Turn(calls=(PARIS,), error=ConnectionError("the model is down"), error_at="after")], tools)
    assert (run.answer, tools.runs, len(run.model.requests)) == (None, (), 1)
    assert run.error is not None
    assert not isinstance(run.error, LoopError)
