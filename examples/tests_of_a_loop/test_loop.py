"""A small suite for loops of the profile ag03. `loop_class` is the loop that is tested."""
# ruff: noqa: D103, S101

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from looptck.contract.ag03 import MaxIterError, Message, ToolCall
from looptck_fakes import RecordingTools, ScriptedProvider, Turn

QUESTION = Message("user", "What is the weather in Oslo and in Rome?")
OSLO = ToolCall("call_1", "weather", '{"city": "Oslo"}')
ROME = ToolCall("call_2", "weather", '{"city": "Rome"}')


def test_the_answer_is_what_the_model_says_last(loop_class: Any) -> None:
    model = ScriptedProvider([Turn(calls=(OSLO,)), Turn(text=("Rain.",))])
    agent = loop_class(model, RecordingTools({"weather": "rain"}))
    assert asyncio.run(agent.invoke([QUESTION]).result()).content == "Rain."


def test_a_run_ends_at_its_cap(loop_class: Any) -> None:
    model = ScriptedProvider([Turn(calls=(OSLO,)) for _ in range(9)])
    agent = loop_class(model, RecordingTools({"weather": "rain"}), max_iter=3)
    with pytest.raises(MaxIterError):
        asyncio.run(agent.invoke([QUESTION]).result())


def test_results_stand_in_the_order_of_the_calls(loop_class: Any) -> None:
    model = ScriptedProvider([Turn(calls=(OSLO, ROME)), Turn(text=("Both.",))])
    tools = RecordingTools(lambda call: f"weather of {call.id}")
    asyncio.run(loop_class(model, tools).invoke([QUESTION]).result())
    results = [message for message in model.requests[1].messages if message.role == "tool"]
    assert [message.tool_call_id for message in results] == ["call_1", "call_2"]
