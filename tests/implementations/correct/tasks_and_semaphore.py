"""Tasks and a semaphore: the run is a task that begins in `invoke`, every tool call one that waits for a slot.

Where no event loop runs yet, the run begins with the first `result()` or `events()`. Events wait in a queue for one
reader. A step that fails cuts its siblings off; a cancelled run answers the calls that it cut off, so none stays open.
The readings of the silent places are those of the reference.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from opentelemetry.trace import NoOpTracer, SpanKind, Tracer

from looptck.contract import ag03
from looptck.contract.ag03 import (
    Accumulator,
    Allow,
    Budget,
    CallContext,
    Deny,
    Event,
    EventKind,
    Message,
    NeedApproval,
    Pending,
    TextChunk,
    ToolCall,
    ToolResult,
    Usage,
    Verdict,
)

CUT_OFF = ToolResult("error: the run was cancelled", is_error=True)
Numbered = tuple[int, ToolCall]


class Agent:
    """Keeps what every run needs; all that changes lives in a `Run`."""

    def __init__(
        self,
        provider: ag03.Provider,
        tools: ag03.Tools,
        system: str = "",
        name: str = "agent",
        call_options: Mapping[str, Any] | None = None,
        max_iter: int = ag03.DEFAULT_MAX_ITER,
        max_parallel_tools: int = ag03.DEFAULT_MAX_PARALLEL_TOOLS,
        budget: Budget | None = None,
        gate: ag03.Gate | None = None,
        step_runner: ag03.StepRunner | None = None,
        tracer: Tracer | None = None,
        approvals: Sequence[str] = (),
    ) -> None:
        self.provider = provider
        self.tools = tools
        self.system = system
        self.name = name
        self.call_options = dict(call_options or {})
        self.max_iter = max_iter
        self.max_parallel_tools = max_parallel_tools
        self.budget = budget if budget is not None else Budget()
        self.gate = gate
        self.step_runner: ag03.StepRunner = step_runner if step_runner is not None else ag03.Direct()
        self.tracer: Tracer = tracer if tracer is not None else NoOpTracer()
        self.approvals = frozenset(approvals)

    def invoke(self, messages: Sequence[Message]) -> Run:
        """Begin a run, at once where an event loop is running."""
        run = Run(self, messages)
        with suppress(RuntimeError):
            asyncio.get_running_loop()
            run.begin()
        return run


class Run:
    """One run, which is its own stream."""

    def __init__(self, agent: Agent, messages: Sequence[Message]) -> None:
        self._agent = agent
        self._messages = list(messages)
        if agent.system and not (self._messages and self._messages[0].role == "system"):
            self._messages.insert(0, Message("system", agent.system))
        self._usage = Usage()
        self._last: Message | None = None
        self._number = self._model_calls = self._tool_calls = 0
        self._slots = asyncio.Semaphore(agent.max_parallel_tools)
        self._queue: asyncio.Queue[Event | None] = asyncio.Queue()
        self._task: asyncio.Task[Message] | None = None

    def begin(self) -> asyncio.Task[Message]:
        """The task of the run."""
        if self._task is None:
            self._task = asyncio.create_task(self._run())
            self._task.add_done_callback(self._over)
        return self._task

    async def events(self) -> AsyncIterator[Event]:
        """The events that nobody has read yet, until the run is over."""
        self.begin()
        while (event := await self._queue.get()) is not None:
            yield event
        self._queue.put_nowait(None)  # a later reader ends too

    async def result(self) -> Message:
        """The answer; a caller who is cancelled here takes the task of the run along."""
        return await self.begin()

    def transcript(self) -> tuple[Message, ...]:
        """The messages so far."""
        return tuple(self._messages)

    def usage(self) -> Usage:
        """The sum so far."""
        return self._usage

    def _over(self, task: asyncio.Task[Message]) -> None:
        if not task.cancelled():
            task.exception()  # looked at here, so that a run whose result nobody wants is no lost exception
        self._queue.put_nowait(None)

    def _emit(self, kind: EventKind, **fields: Any) -> None:
        self._queue.put_nowait(Event(kind, self._number, **fields))

    def _so_far(self) -> dict[str, Any]:
        return {"message": self._last, "transcript": self._messages, "usage": self._usage}

    async def _run(self) -> Message:
        name = {ag03.AGENT_NAME: self._agent.name}
        with self._agent.tracer.start_as_current_span(ag03.SPAN_RUN, attributes=name) as span:
            try:
                answer = await self._turns()
            except Exception as error:
                self._emit("error", error=error)
                raise
            finally:
                span.set_attribute(ag03.ITERATIONS, self._model_calls)
            self._emit("done")
            return answer

    async def _turns(self) -> Message:
        limit = self._agent.budget.max_tokens
        if calls := self._open_calls():
            self._number = 1
            await self._turn(calls)
        while self._model_calls < self._agent.max_iter:
            if limit is not None and self._usage.total >= limit:
                raise ag03.BudgetError("tokens", self._usage.total, limit, **self._so_far())
            reply = await self._model()
            if not reply.tool_calls:
                return reply
            if limit is not None and self._usage.total > limit:
                raise ag03.BudgetError("tokens", self._usage.total, limit, **self._so_far())
            await self._turn(list(enumerate(reply.tool_calls)))
        raise ag03.MaxIterError(**self._so_far())

    def _open_calls(self) -> list[Numbered]:
        """The unanswered calls of the turn that the input ends with, if it ends with one."""
        answered: list[str | None] = []
        for message in reversed(self._messages):
            if message.role != "tool":
                break
            answered.append(message.tool_call_id)
        else:
            return []
        if message.role != "assistant":
            return []
        rest = []
        for index, call in enumerate(message.tool_calls):
            if call.id in answered:
                answered.remove(call.id)  # once: two calls may carry one id
            else:
                rest.append((index, call))
        self._last = message
        return rest

    async def _model(self) -> Message:
        agent = self._agent
        self._number += 1
        self._model_calls += 1
        model = {ag03.REQUEST_MODEL: agent.provider.model}
        with agent.tracer.start_as_current_span(ag03.SPAN_LLM, kind=SpanKind.CLIENT, attributes=model) as span:
            reply, usage = await agent.step_runner.run(ag03.llm_step(self._number), "llm", self._read_reply)
            span.set_attribute(ag03.INPUT_TOKENS, usage.input_tokens)
            span.set_attribute(ag03.OUTPUT_TOKENS, usage.output_tokens)
        self._messages.append(reply)
        self._usage += usage
        self._last = reply
        self._emit("usage", usage=usage)
        return reply

    async def _read_reply(self) -> tuple[Message, Usage]:
        agent, reply = self._agent, Accumulator()
        async for chunk in agent.provider.stream(list(self._messages), agent.tools.definitions(), agent.call_options):
            reply.add(chunk)
            if isinstance(chunk, TextChunk):
                self._emit("text", text=chunk.text)
        return reply.message(), reply.usage()

    async def _turn(self, calls: Sequence[Numbered]) -> None:
        tasks: list[asyncio.Task[ToolResult]] = []
        try:
            self._spend(len(calls))
            verdicts = await self._verdicts(calls)
            tasks += [asyncio.create_task(self._call(*each)) for each in zip(calls, verdicts, strict=True)]
            await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        except asyncio.CancelledError:
            await _end(tasks)
            known = [CUT_OFF if task.cancelled() or task.exception() else task.result() for task in tasks]
            self._answer(calls, known or [CUT_OFF] * len(calls))
            raise
        await _end(tasks)
        for task in tasks:
            if not task.cancelled() and (error := task.exception()) is not None:
                raise error
        self._answer(calls, [task.result() for task in tasks])

    def _spend(self, calls: int) -> None:
        limit, used = self._agent.budget.max_tool_calls, self._tool_calls + calls
        if limit is not None and used > limit:
            raise ag03.BudgetError("tool_calls", used, limit, **self._so_far())
        self._tool_calls = used

    async def _verdicts(self, calls: Sequence[Numbered]) -> list[Verdict]:
        if self._agent.gate is None:
            return [Allow()] * len(calls)
        context = CallContext(any(message.role == "tool" for message in self._messages), self._number)
        verdicts: list[Verdict] = []
        pending: list[Pending] = []
        for _, call in calls:
            verdict = await self._agent.gate.decide(call, context)
            if isinstance(verdict, NeedApproval):
                if verdict.marker in self._agent.approvals:
                    verdict = Allow()
                else:
                    pending.append(Pending(call, verdict.marker, verdict.reason))
            verdicts.append(verdict)
        if pending:
            for item in pending:
                self._note(item.call, ag03.OUTCOME_NEEDS_APPROVAL)
            raise ag03.ApprovalError(pending, **self._so_far())
        return verdicts

    async def _call(self, numbered: Numbered, verdict: Verdict) -> ToolResult:
        index, call = numbered
        self._emit("tool_call", call=call, verdict=verdict)
        if isinstance(verdict, Deny):
            self._note(call, ag03.OUTCOME_DENIED)
            result = ToolResult(ag03.DENIED_PREFIX + verdict.reason, is_error=True)
        else:
            async with self._slots:
                result = await self._tool(ag03.tool_step(self._number, index, call.name), call)
        self._emit("tool_result", call=call, result=result)
        return result

    async def _tool(self, step: str, call: ToolCall) -> ToolResult:
        async def work() -> ToolResult:
            try:
                return await self._agent.tools.call(call)
            except Exception as error:  # noqa: BLE001 - whatever a tool raises is for the model to read
                return ToolResult(f"{type(error).__name__}: {error}", is_error=True)

        name, attributes = ag03.tool_span(call.name), {ag03.TOOL_NAME: call.name}
        with self._agent.tracer.start_as_current_span(name, attributes=attributes) as span:
            result = await self._agent.step_runner.run(step, "tool", work)
            span.set_attribute(ag03.OUTCOME, ag03.OUTCOME_ERROR if result.is_error else ag03.OUTCOME_OK)
            return result

    def _note(self, call: ToolCall, outcome: str) -> None:
        attributes = {ag03.TOOL_NAME: call.name, ag03.OUTCOME: outcome}
        self._agent.tracer.start_span(ag03.tool_span(call.name), attributes=attributes).end()

    def _answer(self, calls: Sequence[Numbered], results: Sequence[ToolResult]) -> None:
        for (_, call), result in zip(calls, results, strict=True):
            self._messages.append(Message("tool", result.content, tool_call_id=call.id))


async def _end(tasks: Sequence[asyncio.Task[ToolResult]]) -> None:
    """Cancel what still runs and see it end, however often this is cancelled meanwhile."""
    for task in tasks:
        task.cancel()
    while running := [task for task in tasks if not task.done()]:
        with suppress(asyncio.CancelledError):
            await asyncio.wait(running)
