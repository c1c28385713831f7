"""Whoever awaits the result is cancelled alone: the run goes on without anybody."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from opentelemetry.trace import NoOpTracer, SpanKind, Tracer

from looptck.contract import ag03
from looptck.contract.ag03 import Allow, Deny, Event, Message, NeedApproval, ToolCall, ToolResult, Usage, Verdict

CUT_OFF = ToolResult("error: cancelled", is_error=True)


@dataclass(frozen=True)
class Agent:
    provider: ag03.Provider
    tools: ag03.Tools
    system: str = ""
    name: str = "agent"
    call_options: Mapping[str, Any] | None = None
    max_iter: int = ag03.DEFAULT_MAX_ITER
    max_parallel_tools: int = ag03.DEFAULT_MAX_PARALLEL_TOOLS
    budget: ag03.Budget | None = None
    gate: ag03.Gate | None = None
    step_runner: ag03.StepRunner | None = None
    tracer: Tracer | None = None
    approvals: Sequence[str] = ()

    def invoke(self, messages: Sequence[Message]) -> Run:
        return Run(self, messages)


class Run:
    def __init__(self, agent: Agent, messages: Sequence[Message]) -> None:
        self.agent, self.messages, self.spent = agent, list(messages), Usage()
        if agent.system and not (messages and messages[0].role == "system"):
            self.messages.insert(0, Message("system", agent.system))
        self.budget = agent.budget or ag03.Budget()
        self.step_runner: ag03.StepRunner = agent.step_runner or ag03.Direct()
        self.tracer: Tracer = agent.tracer or NoOpTracer()
        self.number = self.model_calls = self.tool_calls = 0
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
        return await asyncio.shield(self.begin())

    def transcript(self) -> Sequence[Message]:
        return tuple(self.messages)

    def usage(self) -> Usage:
        return self.spent

    def emit(self, kind: ag03.EventKind, **fields: Any) -> None:
        self.unread.put_nowait(Event(kind, self.number, **fields))

    def so_far(self) -> dict[str, Any]:
        last = next((message for message in reversed(self.messages) if message.role == "assistant"), None)
        return {"message": last, "transcript": self.messages, "usage": self.spent}

    async def run(self) -> Message:
        attributes = {ag03.AGENT_NAME: self.agent.name}
        with self.tracer.start_as_current_span(ag03.SPAN_RUN, attributes=attributes) as span:
            try:
                answer = await self.turns()
                self.emit("done")
            except Exception as error:
                self.emit("error", error=error)
                raise
            finally:
                span.set_attribute(ag03.ITERATIONS, self.model_calls)
                self.unread.put_nowait(None)
        return answer

    async def turns(self) -> Message:
        if self.messages and self.messages[-1].tool_calls:
            self.number = 1
            await self.dispatch(self.messages[-1].tool_calls)
        while self.model_calls < self.agent.max_iter:
            reply = await self.ask()
            if not reply.tool_calls:
                return reply
            limit = self.budget.max_tokens
            if limit is not None and self.spent.total > limit:
                raise ag03.BudgetError("tokens", self.spent.total, limit, **self.so_far())
            await self.dispatch(reply.tool_calls)
        raise ag03.MaxIterError(**self.so_far())

    async def ask(self) -> Message:
        self.number += 1
        self.model_calls += 1
        attributes = {ag03.REQUEST_MODEL: self.agent.provider.model}
        with self.tracer.start_as_current_span(ag03.SPAN_LLM, kind=SpanKind.CLIENT, attributes=attributes) as span:
            reply, usage = await self.step_runner.run(ag03.llm_step(self.number), "llm", self.stream)
            span.set_attribute(ag03.INPUT_TOKENS, usage.input_tokens)
            span.set_attribute(ag03.OUTPUT_TOKENS, usage.output_tokens)
        self.spent += usage
        self.messages.append(reply)
        self.emit("usage", usage=usage)
        return reply

    async def stream(self) -> tuple[Message, Usage]:
        agent, reply = self.agent, ag03.Accumulator()
        async for chunk in agent.provider.stream(self.messages, agent.tools.definitions(), agent.call_options or {}):
            reply.add(chunk)
            if isinstance(chunk, ag03.TextChunk):
                self.emit("text", text=chunk.text)
        return reply.message(), reply.usage()

    async def dispatch(self, calls: Sequence[ToolCall]) -> None:
        self.tool_calls += len(calls)
        limit = self.budget.max_tool_calls
        if limit is not None and self.tool_calls > limit:
            raise ag03.BudgetError("tool calls", self.tool_calls, limit, **self.so_far())
        verdicts = await self.ask_gate(calls)
        work = [self.call(index, call, verdicts[index]) for index, call in enumerate(calls)]
        try:
            results = await asyncio.gather(*work, return_exceptions=True)  # cancelled, it waits for all of them
        except asyncio.CancelledError:
            self.answer(calls, [CUT_OFF] * len(calls))
            raise
        for result in results:
            if isinstance(result, BaseException):
                raise result
        self.answer(calls, [result for result in results if isinstance(result, ToolResult)])

    def answer(self, calls: Sequence[ToolCall], results: Sequence[ToolResult]) -> None:
        for call, result in zip(calls, results, strict=True):
            self.messages.append(Message("tool", result.content, tool_call_id=call.id))

    async def ask_gate(self, calls: Sequence[ToolCall]) -> list[Verdict]:
        gate, approvals = self.agent.gate, self.agent.approvals
        if gate is None:
            return [Allow()] * len(calls)
        context = ag03.CallContext(any(message.role == "tool" for message in self.messages), self.number)
        verdicts = [await gate.decide(call, context) for call in calls]
        pending = []
        for call, verdict in zip(calls, verdicts, strict=True):
            if isinstance(verdict, NeedApproval) and verdict.marker not in approvals:
                pending.append(ag03.Pending(call, verdict.marker, verdict.reason))
                attributes = {ag03.TOOL_NAME: call.name, ag03.OUTCOME: ag03.OUTCOME_NEEDS_APPROVAL}
                self.tracer.start_span(ag03.tool_span(call.name), attributes=attributes).end()
        if pending:
            raise ag03.ApprovalError(pending, **self.so_far())
        return verdicts

    async def call(self, index: int, call: ToolCall, verdict: Verdict) -> ToolResult:
        self.emit("tool_call", call=call, verdict=verdict)
        attributes = {ag03.TOOL_NAME: call.name}
        with self.tracer.start_as_current_span(ag03.tool_span(call.name), attributes=attributes) as span:
            if isinstance(verdict, Deny):
                result, outcome = ToolResult(ag03.DENIED_PREFIX + verdict.reason, is_error=True), ag03.OUTCOME_DENIED
            else:
                async with self.slots:
                    step = ag03.tool_step(self.number, index, call.name)
                    result = await self.step_runner.run(step, "tool", lambda: self.run_tool(call))
                outcome = ag03.OUTCOME_ERROR if result.is_error else ag03.OUTCOME_OK
            span.set_attribute(ag03.OUTCOME, outcome)
        self.emit("tool_result", call=call, result=result)
        return result

    async def run_tool(self, call: ToolCall) -> ToolResult:
        try:
            return await self.agent.tools.call(call)
        except Exception as error:  # noqa: BLE001 - whatever a tool raises is for the model to read
            return ToolResult(f"error: {error}", is_error=True)
