"""Results that were given back are appended first, and behind them those of the calls that really ran."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
    def __init__(self, agent: loop.Agent, messages: Sequence[Message]) -> None:
        super().__init__(agent, messages)
        self.given_back: list[ToolCall] = []

    async def _run_tool(self, index: int, call: ToolCall) -> ToolResult:
        result = await super()._run_tool(index, call)
        assert isinstance(self.agent.tools, Noting)
        if call not in self.agent.tools.ran:
            self.given_back.append(call)
        return result

    def _append(self, calls: Sequence[loop.Indexed], results: Sequence[ToolResult | None]) -> None:
        both = sorted(zip(calls, results, strict=True), key=lambda pair: pair[0][1] not in self.given_back)
        super()._append([call for call, _ in both], [result for _, result in both])


class Agent(loop.Agent):
    def invoke(self, messages: Sequence[Message]) -> Stream:
        self.tools = Noting(self.tools)
        run = Run(self, messages)
        return Stream(run, run.events, run.traced)
