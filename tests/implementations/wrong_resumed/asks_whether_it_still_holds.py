"""Before a call runs that an earlier process was told to make, the model is asked once more, and its reply dropped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from looptck_reference import loop
from looptck_reference.stream import Stream

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from looptck.contract.ag03 import Message, ToolCall, ToolResult, Tools, Usage


class Asking:
    """Tools that ask before they run a call."""

    def __init__(self, tools: Tools, ask: Callable[[], Awaitable[None]]) -> None:
        self.tools = tools
        self.ask = ask
        self.definitions = tools.definitions

    async def call(self, call: ToolCall) -> ToolResult:
        await self.ask()
        return await self.tools.call(call)


class Run(loop.Run):
    streamed = 0
    old = False

    async def _stream(self) -> tuple[Message, Usage]:
        self.streamed += 1
        return await super()._stream()

    async def _ask(self) -> Message:
        before = self.streamed
        reply = await super()._ask()
        self.old = self.streamed == before
        return reply

    async def ask_again(self) -> None:
        if self.old:
            self.old = False
            await super()._stream()


class Agent(loop.Agent):
    def invoke(self, messages: Sequence[Message]) -> Stream:
        run = Run(self, messages)
        self.tools = Asking(self.tools, run.ask_again)
        return Stream(run, run.events, run.traced)
