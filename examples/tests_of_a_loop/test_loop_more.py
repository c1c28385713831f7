"""What test_loop.py has missed."""
# ruff: noqa: D102, D103, PLR2004, S101

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from looptck.contract.ag03 import MaxIterError, Message, ToolCall, ToolDefinition, ToolResult
from looptck_fakes import RecordingTools, ScriptedProvider, Turn

QUESTION = Message("user", "What is the weather in Oslo and in Rome?")
OSLO = ToolCall("call_1", "weather", '{"city": "Oslo"}')
ROME = ToolCall("call_2", "weather", '{"city": "Rome"}')


def test_the_model_is_asked_no_more_often_than_the_cap_says(loop_class: Any) -> None:
    model = ScriptedProvider([Turn(calls=(OSLO,)) for _ in range(9)])
    agent = loop_class(model, RecordingTools({"weather": "rain"}), max_iter=3)
    with suppress(MaxIterError):
        asyncio.run(agent.invoke([QUESTION]).result())
    assert len(model.requests) == 3


class SlowForOslo:
    """Tools of which the first call finishes last."""

    def __init__(self) -> None:
        self.rome_is_known = asyncio.Event()

    def definitions(self) -> list[ToolDefinition]:
        return []

    async def call(self, call: ToolCall) -> ToolResult:
        if call == OSLO:
            await self.rome_is_known.wait()
        self.rome_is_known.set()
        return ToolResult(f"weather of {call.id}")


def test_results_stand_in_the_order_of_the_calls_whichever_finishes_first(loop_class: Any) -> None:
    model = ScriptedProvider([Turn(calls=(OSLO, ROME)), Turn(text=("Both.",))])
    asyncio.run(loop_class(model, SlowForOslo()).invoke([QUESTION]).result())
    results = [message for message in model.requests[1].messages if message.role == "tool"]
    assert [message.tool_call_id for message in results] == ["call_1", "call_2"]
