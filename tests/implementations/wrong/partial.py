"""The loop alone: no gate, no approvals, no budget, no step runner and no tracer can be given to it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from looptck.contract.ag03 import (
    Accumulator,
    Event,
    EventKind,
    MaxIterError,
    Message,
    Provider,
    TextChunk,
    ToolCall,
    ToolResult,
    Tools,
    Usage,
)

CUT_OFF = ToolResult("error: cancelled", is_error=True)


class Agent:
    def __init__(
        self,
        provider: Provider,
        tools: Tools,
        system: str = "",
        name: str = "agent",
        call_options: Mapping[str, Any] | None = None,
        max_iter: int = 8,
        max_parallel_tools: int = 4,
    ) -> None:
        self.provider, self.tools, self.system, self.name = provider, tools, system, name
        self.call_options = call_options or {}
        self.max_iter, self.max_parallel_tools = max_iter, max_parallel_tools

    def invoke(self, messages: Sequence[Message]) -> Run:
        return Run(self, messages)


class Run:
    def __init__(self, agent: Agent, messages: Sequence[Message]) -> None:
        self.agent, self.messages, self.spent, self.number = agent, list(messages), Usage(), 0
        if agent.system and not (messages and messages[0].role == "system"):
            self.messages.insert(0, Message("system", agent.system))
        self.slots = asyncio.Semaphore(agent.max_parallel_tools)
        self.unread: asyncio.Queue[Event | None] = asyncio.Queue()
        self.task: asyncio.Task[Message] | None = None

    def begin(self) -> asyncio.Task[Message]:
        self.task = self.task or asyncio.create_task(self.run())
        return self.task

    async def events(self) -> AsyncIterator[Event]:
        self.begin()
        while event := await self.unread.get():
            yield event

    async def result(self) -> Message:
        return await self.begin()

    def transcript(self) -> Sequence[Message]:
        return tuple(self.messages)

    def usage(self) -> Usage:
        return self.spent

    def emit(self, kind: EventKind, **fields: Any) -> None:
        self.unread.put_nowait(Event(kind, self.number, **fields))

    async def run(self) -> Message:
        try:
            answer = await self.turns()
            self.emit("done")
        except Exception as error:
            self.emit("error", error=error)
            raise
        finally:
            self.unread.put_nowait(None)
        return answer

    async def turns(self) -> Message:
        if self.messages[-1].tool_calls:
            await self.dispatch(self.messages[-1].tool_calls)
        reply: Message | None = None
        while self.number < self.agent.max_iter:
            self.number += 1
            reply = await self.ask()
            if not reply.tool_calls:
                return reply
            await self.dispatch(reply.tool_calls)
        raise MaxIterError(message=reply, transcript=self.messages, usage=self.spent)

    async def ask(self) -> Message:
        agent, reply = self.agent, Accumulator()
        async for chunk in agent.provider.stream(self.messages, agent.tools.definitions(), agent.call_options):
            reply.add(chunk)
            if isinstance(chunk, TextChunk):
                self.emit("text", text=chunk.text)
        self.spent += reply.usage()
        self.messages.append(reply.message())
        self.emit("usage", usage=reply.usage())
        return reply.message()

    async def dispatch(self, calls: Sequence[ToolCall]) -> None:
        results = [CUT_OFF] * len(calls)
        try:
            results = await asyncio.gather(*(self.call(call) for call in calls))
        finally:
            for call, result in zip(calls, results, strict=True):
                self.messages.append(Message("tool", result.content, tool_call_id=call.id))

    async def call(self, call: ToolCall) -> ToolResult:
        self.emit("tool_call", call=call)
        async with self.slots:
            try:
                result = await self.agent.tools.call(call)
            except Exception as error:  # noqa: BLE001 - whatever a tool raises is for the model to read
                result = ToolResult(f"error: {error}", is_error=True)
        self.emit("tool_result", call=call, result=result)
        return result
