"""Other readings: wherever the specification is silent and the reference had to choose, this loop chose otherwise.

* A resumed turn has the number 0 and counts in `tl.agent.iterations`. Behind answered turns iterations are counted on,
  and the last number stands there. A turn of which some calls are answered is not an
  unanswered one: the model is asked. Approvals are used up by the turn that they let through.
* A limit of 0 is none. Tokens exactly at the budget allow another model call; an answer past it is a budget error. The
  gate is asked before the tool-call budget, denied calls do not count, `used` is what was done, resources are named
  otherwise.
* Of a reply that failed the text is kept, with the calls that had come whole.
* A budget error, a refused step and a cancelled run drop the turn. Siblings of a failed step finish. A provider's or
  runner's own error is the cause of `RunFailedError`. A gate that raises denies.
* A call whose arguments are no JSON object is answered by the loop: it is a step, does not count against the budget,
  and has no `tool_call` event.
* Usage is shown when the model reports it, within the step: none on a replay, none where nothing was reported. There
  the span of the model call has no tokens either.
* A failed tool's message begins with "error: ". A denial is a step and has no `tool_call` event. Replayed replies give
  text events. After an error there is no terminal event.
* Spans lie inside the steps, tools under the model call; a turn that waits has a span for each call; what did not
  succeed has the status ERROR.
* The run begins in `invoke` if it can. Every step of a turn begins at once, and the bound holds for the tools inside.
  The provider reads the one list that grows, and definitions of tools in an order of this loop's own.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, TypeVar

from opentelemetry.context import Context
from opentelemetry.trace import NoOpTracer, Span, SpanKind, Status, StatusCode, Tracer, set_span_in_context

from looptck.contract import ag03
from looptck.contract.ag03 import Allow, Deny, Event, Message, NeedApproval, ToolCall, ToolResult, Usage, Verdict

T = TypeVar("T")


class RunFailedError(Exception):
    """A step could not be run; the cause is what its runner or the provider raised."""


@dataclass
class Agent:
    """Keeps what every run needs, under the names of the contract."""

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
        """A run, begun already where an event loop is running."""
        run = Run(self, messages)
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return run
        run.begin()
        return run


class Run:
    """One run, which is its own stream."""

    def __init__(self, agent: Agent, messages: Sequence[Message]) -> None:
        self._agent = agent
        self._messages = list(messages)
        if agent.system and (not messages or messages[0].role != "system"):
            self._messages.insert(0, Message("system", agent.system))
        self._kept = len(self._messages)  # where a dropped turn leaves the transcript
        self._usage = Usage()
        self._last: Message | None = None
        self._number = self._asked = self._resumed = self._dispatched = 0
        self._approvals = set(agent.approvals)
        self._runner: ag03.StepRunner = agent.step_runner if agent.step_runner is not None else ag03.Direct()
        self._tracer: Tracer = agent.tracer if agent.tracer is not None else NoOpTracer()
        self._model_context: Context | None = None
        self._free = asyncio.Semaphore(agent.max_parallel_tools)
        self._events: list[Event] = []
        self._waiting: list[asyncio.Future[None]] = []
        self._task: asyncio.Task[Message] | None = None

    def begin(self) -> asyncio.Task[Message]:
        """The task of the run."""
        if self._task is None:
            self._task = asyncio.create_task(self._run())
            self._task.add_done_callback(self._ended)
        return self._task

    async def events(self) -> AsyncIterator[Event]:
        """Every event from the first on."""
        task, place = self.begin(), 0
        while True:
            while place < len(self._events):
                yield self._events[place]
                place += 1
            if task.done():
                return
            news = asyncio.get_running_loop().create_future()
            self._waiting.append(news)
            await news

    async def result(self) -> Message:
        """The answer."""
        return await self.begin()

    def transcript(self) -> list[Message]:
        """The messages so far."""
        return list(self._messages)

    def usage(self) -> Usage:
        """The sum so far."""
        return self._usage

    def _ended(self, task: asyncio.Task[Message]) -> None:
        if not task.cancelled():
            task.exception()  # looked at: nobody has to ask for the result
        self._wake()

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for news in waiting:
            if not news.done():
                news.set_result(None)

    def _emit(self, kind: ag03.EventKind, **fields: Any) -> None:
        self._events.append(Event(kind, self._number, **fields))
        self._wake()

    async def _run(self) -> Message:
        attributes = {ag03.AGENT_NAME: self._agent.name}
        with self._tracer.start_as_current_span(ag03.SPAN_RUN, attributes=attributes) as span:
            try:
                answer = await self._turns()
            except BaseException as error:
                if not isinstance(error, (ag03.ApprovalError, ag03.MaxIterError)):
                    del self._messages[self._kept :]
                if isinstance(error, ag03.LoopError):
                    error.message, error.usage, error.transcript = self._last, self._usage, tuple(self._messages)
                raise
            finally:
                span.set_attribute(ag03.ITERATIONS, self._number + self._resumed)
            self._emit("done")
            return answer

    async def _turns(self) -> Message:
        if self._messages and self._messages[-1].tool_calls:
            self._last = self._messages[-1]
            self._resumed = 1
            await self._turn(self._last.tool_calls)
        else:
            self._number = sum(bool(message.tool_calls) for message in self._messages)
        while self._asked < self._agent.max_iter:
            self._asked += 1
            self._number += 1
            reply = await self._ask()
            limit = self._agent.budget.max_tokens if self._agent.budget is not None else None
            if limit and self._usage.total > limit:
                raise ag03.BudgetError("total_tokens", self._usage.total, limit)
            if not reply.tool_calls:
                return reply
            await self._turn(reply.tool_calls)
        raise ag03.MaxIterError

    async def _ask(self) -> Message:
        told = len(self._events)
        reply, usage = await self._step(ag03.llm_step(self._number), "llm", self._read_reply)
        if reply.content and len(self._events) == told:
            self._emit("text", text=reply.content)
        self._usage += usage
        self._last = reply
        self._messages.append(reply)
        return reply

    async def _read_reply(self) -> tuple[Message, Usage]:
        agent, reply = self._agent, ag03.Accumulator()
        attributes = {ag03.REQUEST_MODEL: agent.provider.model}
        with self._tracer.start_as_current_span(ag03.SPAN_LLM, kind=SpanKind.CLIENT, attributes=attributes) as span:
            self._model_context = set_span_in_context(span)
            options = agent.call_options if agent.call_options is not None else {}
            try:
                async for chunk in agent.provider.stream(self._messages, _in_order(agent.tools), options):
                    reply.add(chunk)
                    if isinstance(chunk, ag03.TextChunk):
                        self._emit("text", text=chunk.text)
                    elif isinstance(chunk, ag03.UsageChunk):
                        self._emit("usage", usage=chunk.usage)
                        span.set_attribute(ag03.INPUT_TOKENS, chunk.usage.input_tokens)
                        span.set_attribute(ag03.OUTPUT_TOKENS, chunk.usage.output_tokens)
            except Exception:
                self._keep(reply.message())
                raise
        return reply.message(), reply.usage()

    def _keep(self, failed: Message) -> None:
        calls = tuple(call for call in failed.tool_calls if call.name)
        if failed.content or calls:
            self._messages.append(Message("assistant", failed.content, calls))
            self._kept = len(self._messages)

    async def _step(self, name: str, kind: ag03.StepKind, work: Callable[[], Awaitable[T]]) -> T:
        try:
            return await self._runner.run(name, kind, work)
        except Exception as error:
            raise RunFailedError(f"the step {name} could not be run") from error

    async def _turn(self, calls: Sequence[ToolCall]) -> None:
        verdicts = await self._judge(calls)
        allowed = sum(isinstance(v, Allow) and _fit(call) for call, v in zip(calls, verdicts, strict=True))
        limit = self._agent.budget.max_tool_calls if self._agent.budget is not None else None
        if limit and self._dispatched + allowed > limit:
            raise ag03.BudgetError("calls", self._dispatched, limit)
        self._dispatched += allowed
        steps = [self._one(index, *each) for index, each in enumerate(zip(calls, verdicts, strict=True))]
        outcomes = await asyncio.gather(*steps, return_exceptions=True)
        results = [outcome for outcome in outcomes if isinstance(outcome, ToolResult)]
        if len(results) < len(outcomes):
            raise next(outcome for outcome in outcomes if isinstance(outcome, BaseException))
        for call, verdict, result in zip(calls, verdicts, results, strict=True):
            prefix = "error: " if result.is_error and isinstance(verdict, Allow) else ""
            self._messages.append(Message("tool", prefix + result.content, tool_call_id=call.id))
        self._kept = len(self._messages)

    async def _judge(self, calls: Sequence[ToolCall]) -> list[Verdict]:
        if self._agent.gate is None:
            return [Allow() for _ in calls]
        context = ag03.CallContext(any(message.role == "tool" for message in self._messages), self._number)
        verdicts: list[Verdict] = []
        used = set()
        for call in calls:
            try:
                verdict = await self._agent.gate.decide(call, context)
            except Exception as error:  # noqa: BLE001 - a gate that cannot decide lets nothing through
                verdict = Deny(str(error))
            if isinstance(verdict, NeedApproval) and verdict.marker in self._approvals:
                used.add(verdict.marker)
                verdict = Allow()
            verdicts.append(verdict)
        judged = list(zip(calls, verdicts, strict=True))
        pending = [ag03.Pending(call, v.marker, v.reason) for call, v in judged if isinstance(v, NeedApproval)]
        if pending:
            for call, verdict in judged:
                with self._tool_span(call) as span:
                    denied = isinstance(verdict, Deny)
                    _close(span, ag03.OUTCOME_DENIED if denied else ag03.OUTCOME_NEEDS_APPROVAL)
            raise ag03.ApprovalError(pending)
        self._approvals -= used
        return verdicts

    def _one(self, index: int, call: ToolCall, verdict: Verdict) -> Coroutine[Any, Any, ToolResult]:
        """One call of a turn that may run, as a step of its own."""

        async def denied() -> ToolResult:
            with self._tool_span(call) as span:
                _close(span, ag03.OUTCOME_DENIED)
            return ToolResult(ag03.DENIED_PREFIX + verdict.reason if isinstance(verdict, Deny) else "", is_error=True)

        async def unfit() -> ToolResult:
            with self._tool_span(call) as span:
                _close(span, ag03.OUTCOME_DENIED)
            return ToolResult(f"not a JSON object: {call.arguments}", is_error=True)

        async def allowed() -> ToolResult:
            async with self._free:
                with self._tool_span(call) as span:
                    result = await self._try(call)
                    _close(span, ag03.OUTCOME_ERROR if result.is_error else ag03.OUTCOME_OK)
            return result

        async def step() -> ToolResult:
            work = denied if isinstance(verdict, Deny) else allowed if _fit(call) else unfit
            if work is allowed:
                self._emit("tool_call", call=call, verdict=verdict)
            result = await self._step(ag03.tool_step(self._number, index, call.name), "tool", work)
            self._emit("tool_result", call=call, result=result)
            return result

        return step()

    async def _try(self, call: ToolCall) -> ToolResult:
        try:
            return await self._agent.tools.call(call)
        except Exception as error:  # noqa: BLE001 - whatever a tool raises is for the model to read
            return ToolResult(str(error), is_error=True)

    def _tool_span(self, call: ToolCall) -> AbstractContextManager[Span]:
        attributes = {ag03.TOOL_NAME: call.name}
        return self._tracer.start_as_current_span(
            ag03.tool_span(call.name), context=self._model_context, attributes=attributes
        )


def _in_order(tools: ag03.Tools) -> list[ag03.ToolDefinition]:
    return sorted(tools.definitions(), key=lambda tool: tool.name, reverse=True)


def _fit(call: ToolCall) -> bool:
    """Whether the arguments of a call are a JSON object."""
    try:
        return isinstance(json.loads(call.arguments), dict)
    except ValueError:
        return False


def _close(span: Span, outcome: str) -> None:
    """Set the outcome of a call, and the status ERROR unless it succeeded."""
    span.set_attribute(ag03.OUTCOME, outcome)
    if outcome != ag03.OUTCOME_OK:
        span.set_status(Status(StatusCode.ERROR))
