"""An agent loop in one file, written against the contract alone: `looptck check examples/my_loop.py` passes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from opentelemetry.trace import NoOpTracer, SpanKind, Tracer

from looptck.contract import ag03
from looptck.contract.ag03 import Message, NeedApproval, ToolCall, ToolResult, Usage, Verdict

CUT_OFF = ToolResult("error: the run was cancelled", is_error=True)


@dataclass(frozen=True)
class Agent:
    """What every run needs. What a run changes is in its `Run`."""

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
        """Prepare a run; it starts when its events are read or its result is awaited."""
        return Run(self, messages)


class Run:
    """One run, and the stream that shows it."""

    def __init__(self, agent: Agent, messages: Sequence[Message]) -> None:
        self.agent, self.budget = agent, agent.budget or ag03.Budget()
        self.runner, self.tracer = agent.step_runner or ag03.Direct(), agent.tracer or NoOpTracer()
        self.messages = list(messages)
        if agent.system and not (self.messages and self.messages[0].role == "system"):
            self.messages.insert(0, Message("system", agent.system))
        self.last = self.messages[-1] if self.messages else Message("user")
        self.spent = Usage()
        self.iter = self.model_calls = self.tool_calls = 0
        self.queue: asyncio.Queue[ag03.Event | None] = asyncio.Queue()
        self.task: asyncio.Task[Message] | None = None

    async def events(self) -> AsyncIterator[ag03.Event]:
        """The events, until the run is over; nobody has to read them."""
        self._start()
        while (event := await self.queue.get()) is not None:
            yield event

    async def result(self) -> Message:
        """The answer; raises what ended the run."""
        return await self._start()  # cancelling whoever awaits a task cancels the task

    def transcript(self) -> list[Message]:
        """The messages so far."""
        return list(self.messages)

    def usage(self) -> Usage:
        """The sum over every model call so far."""
        return self.spent

    def _start(self) -> asyncio.Task[Message]:
        if self.task is None:
            self.task = asyncio.create_task(self._traced())
            self.task.add_done_callback(lambda _: self.queue.put_nowait(None))
        return self.task

    def _emit(self, kind: ag03.EventKind, **fields: Any) -> None:
        self.queue.put_nowait(ag03.Event(kind, self.iter, **fields))

    def _so_far(self) -> dict[str, Any]:
        return {"message": self.last, "transcript": self.messages, "usage": self.spent}

    async def _traced(self) -> Message:
        with self.tracer.start_as_current_span(ag03.SPAN_RUN, attributes={ag03.AGENT_NAME: self.agent.name}) as span:
            try:
                answer = await self._loop()
            except Exception as error:
                self._emit("error", error=error)
                raise
            finally:
                span.set_attribute(ag03.ITERATIONS, self.model_calls)
            self._emit("done")
            return answer

    async def _loop(self) -> Message:
        """Ask, run the calls, ask again. An input that ends with calls is a run that waited: they come first."""
        if self.last.tool_calls:
            self.iter = 1
            await self._act(self.last.tool_calls)
        while self.model_calls < self.agent.max_iter:
            self.last = await self._ask()
            if not self.last.tool_calls:
                return self.last
            if self.budget.max_tokens is not None and self.spent.total > self.budget.max_tokens:
                raise ag03.BudgetError("tokens", self.spent.total, self.budget.max_tokens, **self._so_far())
            await self._act(self.last.tool_calls)
        raise ag03.MaxIterError(**self._so_far())

    async def _ask(self) -> Message:
        """One model call: a step in a span."""
        self.iter += 1
        self.model_calls += 1
        model = {ag03.REQUEST_MODEL: self.agent.provider.model}
        with self.tracer.start_as_current_span(ag03.SPAN_LLM, kind=SpanKind.CLIENT, attributes=model) as span:
            reply, usage = await self.runner.run(ag03.llm_step(self.iter), "llm", self._read_reply)
            span.set_attribute(ag03.INPUT_TOKENS, usage.input_tokens)
            span.set_attribute(ag03.OUTPUT_TOKENS, usage.output_tokens)
        self.messages.append(reply)
        self.spent += usage
        self._emit("usage", usage=usage)
        return reply

    async def _read_reply(self) -> tuple[Message, Usage]:
        reply, tools, options = ag03.Accumulator(), self.agent.tools.definitions(), self.agent.call_options or {}
        async for chunk in self.agent.provider.stream(self.messages, tools, options):
            reply.add(chunk)
            if isinstance(chunk, ag03.TextChunk):
                self._emit("text", text=chunk.text)
        return reply.message(), reply.usage()

    async def _act(self, calls: Sequence[ToolCall]) -> None:
        """One turn: what may forbid it, then its calls, then their results in call order."""
        self._count(calls)
        await self._dispatch(calls)

    def _count(self, calls: Sequence[ToolCall]) -> None:
        """Count the calls of a turn against the budget."""
        self.tool_calls += len(calls)
        if self.budget.max_tool_calls is not None and self.tool_calls > self.budget.max_tool_calls:
            raise ag03.BudgetError("tool_calls", self.tool_calls, self.budget.max_tool_calls, **self._so_far())

    async def _dispatch(self, calls: Sequence[ToolCall]) -> None:
        """Run what the gate allows, at most `max_parallel_tools` at a time, each result into its own place."""
        results = [CUT_OFF] * len(calls)
        slots = asyncio.Semaphore(self.agent.max_parallel_tools)

        async def one(index: int, verdict: Verdict) -> None:
            async with slots:
                results[index] = await self._run_one(index, calls[index], verdict)

        failed: BaseException | None = None
        try:
            verdicts = await self._judge(calls)
            async with asyncio.TaskGroup() as group:
                for index, verdict in enumerate(verdicts):
                    group.create_task(one(index, verdict))
        except asyncio.CancelledError as error:
            failed = error  # and yet the results are appended: a call without an answer would break the next request
        except ExceptionGroup as group_of_errors:
            raise group_of_errors.exceptions[0] from None
        for call, result in zip(calls, results, strict=True):
            self.messages.append(Message("tool", result.content, tool_call_id=call.id))
        if failed is not None:
            raise failed

    async def _judge(self, calls: Sequence[ToolCall]) -> list[Verdict]:
        """Ask the gate about every call; one that waits for approval stops the whole turn."""
        context = ag03.CallContext(any(message.role == "tool" for message in self.messages), self.iter)
        verdicts: list[Verdict] = []
        pending = []
        for call in calls:
            verdict = await self.agent.gate.decide(call, context) if self.agent.gate else ag03.Allow()
            if isinstance(verdict, NeedApproval) and verdict.marker not in self.agent.approvals:
                pending.append(ag03.Pending(call, verdict.marker, verdict.reason))
                with self._span(call) as span:
                    span.set_attribute(ag03.OUTCOME, ag03.OUTCOME_NEEDS_APPROVAL)
            verdicts.append(verdict)
        if pending:
            raise ag03.ApprovalError(pending, **self._so_far())
        return verdicts

    async def _run_one(self, index: int, call: ToolCall, verdict: Verdict) -> ToolResult:
        """One call: a step in a span, or a denial that the model reads."""

        async def work() -> ToolResult:
            try:
                return await self.agent.tools.call(call)
            except Exception as error:  # noqa: BLE001 - a tool's failure is for the model to read
                return ToolResult(f"{type(error).__name__}: {error}", is_error=True)

        self._emit("tool_call", call=call, verdict=verdict)
        with self._span(call) as span:
            if isinstance(verdict, ag03.Deny):
                result, outcome = ToolResult(ag03.DENIED_PREFIX + verdict.reason, is_error=True), ag03.OUTCOME_DENIED
            else:
                result = await self.runner.run(ag03.tool_step(self.iter, index, call.name), "tool", work)
                outcome = ag03.OUTCOME_ERROR if result.is_error else ag03.OUTCOME_OK
            span.set_attribute(ag03.OUTCOME, outcome)
        self._emit("tool_result", call=call, result=result)
        return result

    def _span(self, call: ToolCall) -> Any:
        return self.tracer.start_as_current_span(ag03.tool_span(call.name), attributes={ag03.TOOL_NAME: call.name})
