"""A turn that was broken off is done anew: calls whose results were given back run again, outside any step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from looptck.contract.ag03 import Allow
from looptck_reference import loop
from looptck_reference.stream import Stream

if TYPE_CHECKING:
    from collections.abc import Sequence

    from looptck.contract.ag03 import Message, ToolCall, ToolResult, Tools


class Noting:
    """Tools that note which calls reach them."""

    def __init__(self, tools: Tools) -> None:
        self.tools = tools
        self.ran: list[ToolCall] = []
        self.definitions = tools.definitions

    async def call(self, call: ToolCall) -> ToolResult:
        self.ran.append(call)
        return await self.tools.call(call)


class Run(loop.Run):
    async def _dispatch(self, judged: Sequence[loop.Judged], results: list[ToolResult | None]) -> None:
        tools = self.agent.tools
        assert isinstance(tools, Noting)
        before = len(tools.ran)
        await super()._dispatch(judged, results)
        ran = tools.ran[before:]
        given_back = [slot for slot, (_, call, verdict) in enumerate(judged) if verdict == ALLOW and call not in ran]
        if ran:
            for slot in given_back:
                results[slot] = await tools.call(judged[slot][1])


ALLOW = Allow()


class Agent(loop.Agent):
    def invoke(self, messages: Sequence[Message]) -> Stream:
        self.tools = Noting(self.tools)
        run = Run(self, messages)
        return Stream(run, run.events, run.traced)
