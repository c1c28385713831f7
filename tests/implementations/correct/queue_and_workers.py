"""A queue and workers: k workers live as long as the run, take its calls from one queue and report to another.

The run itself is the coordinator: it alone writes the transcript, and it emits results as they are reported. Readers
of events wait on a condition. Chunks are folded here, without the contract's accumulator. Its readings: a resumed turn
carries its ordinal in the transcript; tokens exactly at the budget allow another model call; events tell no verdict
where there is no gate; a cancelled run, and one whose step failed, drop the turn that they could not finish; an input
without messages is refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from opentelemetry.trace import NoOpTracer, SpanKind, Tracer

from looptck.contract import ag03
from looptck.contract.ag03 import Allow, Deny, Event, Message, NeedApproval, ToolCall, ToolResult, Usage, Verdict


@dataclass(frozen=True, slots=True)
class Job:
    """A call of the turn under way. `place` is its place in the turn, `step` the name of its step."""

    place: int
    step: str
    call: ToolCall


@dataclass(slots=True)
class Reply:
    """A reply while its chunks arrive; `calls` maps a position to id, name and arguments so far."""

    text: str = ""
    calls: dict[int, tuple[str, str, str]] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)

    def take(self, chunk: ag03.Chunk) -> None:
        """Fold the next chunk in."""
        match chunk:
            case ag03.TextChunk(text):
                self.text += text
            case ag03.CallChunk(index, call_id, name, arguments):
                known = self.calls.get(index, ("", "", ""))
                self.calls[index] = (known[0] or call_id, known[1] or name, known[2] + arguments)
            case ag03.UsageChunk(usage):
                self.usage = usage

    def message(self) -> Message:
        """The assistant message of what arrived."""
        return Message("assistant", self.text, tuple(ToolCall(*self.calls[index]) for index in sorted(self.calls)))


@dataclass(frozen=True)
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
        """A run, which begins when somebody asks for its result or its events."""
        if not messages:
            msg = "an input needs a message"
            raise ValueError(msg)
        return Run(self, messages)


class Run:
    """The coordinator of one run, and its stream."""

    def __init__(self, agent: Agent, messages: Sequence[Message]) -> None:
        self._agent = agent
        system = [Message("system", agent.system)] if agent.system else []
        self._transcript = [*([] if messages and messages[0].role == "system" else system), *messages]
        self._budget = agent.budget if agent.budget is not None else ag03.Budget()
        self._runner: ag03.StepRunner = agent.step_runner if agent.step_runner is not None else ag03.Direct()
        self._tracer: Tracer = agent.tracer if agent.tracer is not None else NoOpTracer()
        self._spent = Usage()
        self._last: Message | None = None
        self._number = self._asked = self._dispatched = 0
        self._jobs: asyncio.Queue[Job] = asyncio.Queue()
        self._reports: asyncio.Queue[tuple[Job, ToolResult | Exception]] = asyncio.Queue()
        self._log: list[Event] = []
        self._closed = False
        self._news = asyncio.Condition()
        self._task: asyncio.Task[Message] | None = None

    async def events(self) -> AsyncIterator[Event]:
        """Every event from the first on, for any number of readers."""
        self._start()
        place = 0
        while True:
            async with self._news:
                await self._news.wait_for(partial(self._has_more, place))
                fresh = self._log[place:]
            if not fresh:
                return
            place += len(fresh)
            for event in fresh:
                yield event

    async def result(self) -> Message:
        """The answer."""
        try:
            return await self._start()
        finally:
            await self._close()  # here too: a task that is cancelled before its first step closes nothing

    def transcript(self) -> list[Message]:
        """The messages so far."""
        return self._transcript.copy()

    def usage(self) -> Usage:
        """The sum so far."""
        return self._spent

    def _start(self) -> asyncio.Task[Message]:
        if self._task is None:
            self._task = asyncio.create_task(self._run())
            self._task.add_done_callback(lambda task: task.cancelled() or task.exception())
        return self._task

    def _has_more(self, place: int) -> bool:
        return self._closed or place < len(self._log)

    async def _close(self) -> None:
        async with self._news:
            self._closed = True
            self._news.notify_all()

    async def _emit(self, kind: ag03.EventKind, **fields: Any) -> None:
        async with self._news:
            self._log.append(Event(kind, self._number, **fields))
            self._news.notify_all()

    async def _run(self) -> Message:
        attributes = {ag03.AGENT_NAME: self._agent.name}
        try:
            with self._tracer.start_as_current_span(ag03.SPAN_RUN, attributes=attributes) as span:
                workers = [asyncio.create_task(self._worker()) for _ in range(self._agent.max_parallel_tools)]
                try:
                    answer = await self._converse()
                finally:
                    span.set_attribute(ag03.ITERATIONS, self._asked)
                    await _dismiss(workers)
            await self._emit("done")
        except Exception as error:
            if isinstance(error, ag03.LoopError):
                error.message, error.usage, error.transcript = self._last, self._spent, tuple(self._transcript)
            await self._emit("error", error=error)
            raise
        finally:
            await self._close()
        return answer

    async def _converse(self) -> Message:
        calls = self._left_open()
        while True:
            finished = len(self._transcript)
            if not calls:
                reply = await self._next_reply()
                if not reply.tool_calls:
                    return reply
                self._check_tokens()
                calls = list(enumerate(reply.tool_calls))
            try:
                await self._act(calls)
            except ag03.LoopError:
                raise
            except BaseException:
                del self._transcript[finished:]
                raise
            calls = []

    def _left_open(self) -> list[tuple[int, ToolCall]]:
        """The calls of the input's last turn that no tool message after it answers; they make the run a resumed one."""
        end = len(self._transcript)
        while end and self._transcript[end - 1].role == "tool":
            end -= 1
        proposal = self._transcript[end - 1] if end else Message("user")
        ids = [message.tool_call_id for message in self._transcript[end:]]
        seen: list[str] = []
        left = []
        for index, call in enumerate(proposal.tool_calls):
            seen.append(call.id)
            if seen.count(call.id) > ids.count(call.id):
                left.append((index, call))
        if left:
            self._last = proposal
            self._number = sum(message.role == "assistant" for message in self._transcript)
        return left

    def _check_tokens(self) -> None:
        limit = self._budget.max_tokens
        if limit is not None and self._spent.total > limit:
            raise ag03.BudgetError("tokens", self._spent.total, limit)

    async def _next_reply(self) -> Message:
        if self._asked >= self._agent.max_iter:
            raise ag03.MaxIterError
        self._check_tokens()
        self._asked, self._number = self._asked + 1, self._number + 1
        attributes = {ag03.REQUEST_MODEL: self._agent.provider.model}
        start_span = self._tracer.start_as_current_span
        with start_span(ag03.SPAN_LLM, kind=SpanKind.CLIENT, attributes=attributes) as span:
            step = ag03.llm_step(self._number)
            message, usage = await self._runner.run(step, "llm", self._stream)
            tokens = {ag03.INPUT_TOKENS: usage.input_tokens, ag03.OUTPUT_TOKENS: usage.output_tokens}
            span.set_attributes(tokens)
        self._spent += usage
        await self._emit("usage", usage=usage)
        self._last = message
        self._transcript.append(message)  # last: a run that is cancelled above must not leave it open
        return message

    async def _stream(self) -> tuple[Message, Usage]:
        agent, reply = self._agent, Reply()
        async for chunk in agent.provider.stream(
            self._transcript.copy(), agent.tools.definitions(), dict(agent.call_options or {})
        ):
            reply.take(chunk)
            if isinstance(chunk, ag03.TextChunk):
                await self._emit("text", text=chunk.text)
        return reply.message(), reply.usage

    async def _act(self, calls: Sequence[tuple[int, ToolCall]]) -> None:
        """Queue the allowed calls, collect what the workers report, append everything in call order."""
        limit = self._budget.max_tool_calls
        if limit is not None and self._dispatched + len(calls) > limit:
            raise ag03.BudgetError("tool_calls", self._dispatched + len(calls), limit)
        self._dispatched += len(calls)
        results: dict[int, ToolResult] = {}
        for (index, call), verdict in zip(calls, await self._judge(calls), strict=True):
            await self._emit("tool_call", call=call, verdict=verdict)
            if isinstance(verdict, Deny):
                self._span_only(call, ag03.OUTCOME_DENIED)
                results[index] = ToolResult(ag03.DENIED_PREFIX + verdict.reason, is_error=True)
                await self._emit("tool_result", call=call, result=results[index])
            else:
                self._jobs.put_nowait(Job(index, ag03.tool_step(self._number, index, call.name), call))
        while len(results) < len(calls):
            job, report = await self._reports.get()
            if isinstance(report, Exception):
                raise report
            results[job.place] = report
            await self._emit("tool_result", call=job.call, result=report)
        self._transcript += [Message("tool", results[i].content, tool_call_id=call.id) for i, call in calls]

    async def _judge(self, calls: Sequence[tuple[int, ToolCall]]) -> Sequence[Verdict | None]:
        if self._agent.gate is None:
            return [None for _ in calls]
        context = ag03.CallContext("tool" in {message.role for message in self._transcript}, self._number)
        verdicts: list[Verdict] = []
        for _, call in calls:
            verdict = await self._agent.gate.decide(call, context)
            approved = isinstance(verdict, NeedApproval) and verdict.marker in self._agent.approvals
            verdicts.append(Allow() if approved else verdict)
        waiting = [(call, verdict) for (_, call), verdict in zip(calls, verdicts, strict=True)]
        pending = [ag03.Pending(call, v.marker, v.reason) for call, v in waiting if isinstance(v, NeedApproval)]
        for item in pending:
            self._span_only(item.call, ag03.OUTCOME_NEEDS_APPROVAL)
        if pending:
            raise ag03.ApprovalError(pending)
        return verdicts

    async def _worker(self) -> None:
        while True:
            job = await self._jobs.get()
            report: ToolResult | Exception
            try:
                report = await self._traced(job)
            except Exception as error:  # noqa: BLE001 - it is the runner's own, and the coordinator raises it
                report = error
            self._reports.put_nowait((job, report))

    async def _traced(self, job: Job) -> ToolResult:
        attributes = {ag03.TOOL_NAME: job.call.name}
        with self._tracer.start_as_current_span(ag03.tool_span(job.call.name), attributes=attributes) as span:
            result = await self._runner.run(job.step, "tool", partial(self._call, job.call))
            span.set_attribute(ag03.OUTCOME, ag03.OUTCOME_ERROR if result.is_error else ag03.OUTCOME_OK)
        return result

    async def _call(self, call: ToolCall) -> ToolResult:
        try:
            return await self._agent.tools.call(call)
        except Exception as error:  # noqa: BLE001 - whatever a tool raises is for the model to read
            return ToolResult(str(error), is_error=True)

    def _span_only(self, call: ToolCall, outcome: str) -> None:
        with self._tracer.start_as_current_span(ag03.tool_span(call.name)) as span:
            span.set_attributes({ag03.TOOL_NAME: call.name, ag03.OUTCOME: outcome})


async def _dismiss(workers: Sequence[asyncio.Task[None]]) -> None:
    """End the workers and whatever they have in hand, however often this is cancelled meanwhile."""
    for worker in workers:
        worker.cancel()
    while busy := [worker for worker in workers if not worker.done()]:
        with suppress(asyncio.CancelledError):
            await asyncio.wait(busy)
