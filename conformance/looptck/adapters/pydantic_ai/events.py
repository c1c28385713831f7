"""Events of the framework as events of the contract, for a run whose events are read."""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable
from typing import Literal

from pydantic_ai import RunContext
from pydantic_ai.messages import (
    ERROR_OUTCOMES,
    AgentStreamEvent,
    FunctionToolCallEvent,
    FunctionToolResultEvent,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
)

from looptck.adapters.pydantic_ai.messages import tool_call
from looptck.contract.ag03 import Event, ToolCall, ToolResult


class EventReader:
    """The handler of a run's events. The framework calls it once for each reply and once for the calls of a turn.

    After `most` events it reads no more. `ended` tells whether it has read to the end all that it was given.
    """

    def __init__(self, most: Literal["all"] | int, on_event: Callable[[Event], None]) -> None:
        self._left = None if most == "all" else most
        self._on_event = on_event
        self._calls: dict[str, ToolCall] = {}
        self.ended = True

    async def __call__(self, ctx: RunContext[None], events: AsyncIterable[AgentStreamEvent]) -> None:
        """Read one of the framework's streams of events."""
        before, self.ended = self.ended, False
        if self._left == 0:
            return
        async for event in events:
            translated = self._translated(event, ctx.run_step)
            if translated is not None:
                self._on_event(translated)
                if self._left is not None:
                    self._left -= 1
                    if self._left == 0:
                        return
        self.ended = before

    def _translated(self, event: AgentStreamEvent, step: int) -> Event | None:
        """The contract's event; None where it has none for it, such as the end of a part."""
        if isinstance(event, FunctionToolCallEvent):
            call = self._calls[event.part.tool_call_id] = tool_call(event.part)
            return Event("tool_call", step, call=call)
        if isinstance(event, FunctionToolResultEvent):
            part = event.part
            call = self._calls.get(part.tool_call_id) or ToolCall(part.tool_call_id, part.tool_name, "")
            result = ToolResult(part.model_response_str(), part.outcome in ERROR_OUTCOMES)
            return Event("tool_result", step, call=call, result=result)
        text = _text(event)
        return Event("text", step, text=text) if text else None


def _text(event: AgentStreamEvent) -> str:
    if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
        return event.part.content
    if isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
        return event.delta.content_delta
    return ""
