"""A generator, lazy: the loop is an async generator of events, and the run goes on only while somebody pulls.

`events()` pulls and passes on, `result()` pulls until the end, both may do so at once, and whoever comes later goes on
where an abandoned iterator stopped. Model and tools run in tasks that post their events to an inbox which the generator
empties. A cancelled `result()`, or the last reader that is cancelled, closes the generator, which drops the open turn.
Its readings: approvals count for the resumed turn only; a tool is announced when it gets a slot; a call whose arguments
do not parse is answered at once, without a step, unless it has none at all; a turn needs room in the budget for all of
its calls, and the denied ones use up none.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import Any

from opentelemetry.context import Context
from opentelemetry.trace import NoOpTracer, SpanKind, StatusCode, Tracer, set_span_in_context

from looptck.contract import ag03
from looptck.contract.ag03 import Deny, Event, Message, NeedApproval, ToolCall, ToolResult, Usage

Work = Callable[[], Coroutine[Any, Any, None]]
Calls = tuple[tuple[int, ToolCall], ...]


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

    def invoke(self, messages: Sequence[Message]) -> Stream:
        """A run that nobody has pulled yet."""
        return Stream(Run(self, messages))


class Stream:
    """Pulls the events of a run out of its generator, one at a time, for everybody who wants the next."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._story = run.story()
        self._seen: list[Event] = []
        self._over = False
        self._step: asyncio.Task[None] | None = None
        self._waiting = 0

    async def events(self) -> AsyncIterator[Event]:
        """Every event from the first on, seen already or pulled now."""
        place = 0
        while True:
            while place < len(self._seen):
                yield self._seen[place]
                place += 1
            if self._over:
                return
            try:
                await self._pull()
            except asyncio.CancelledError:
                if not self._waiting:
                    await self._close()
                raise

    async def result(self) -> Message:
        """The answer, once everything has been pulled."""
        try:
            while not self._over:
                await self._pull()
        except asyncio.CancelledError:
            await self._close()
            raise
        if self._run.answer is not None:
            return self._run.answer
        raise self._run.failure if self._run.failure is not None else asyncio.CancelledError

    def transcript(self) -> list[Message]:
        """The messages so far."""
        return list(self._run.messages)

    def usage(self) -> Usage:
        """The sum so far."""
        return self._run.usage

    async def _pull(self) -> None:
        """Wait for the next event, together with whoever waits for it already."""
        if self._step is None or self._step.done():
            self._step = asyncio.create_task(self._advance())
        self._waiting += 1
        try:
            await asyncio.wait([self._step])
        finally:
            self._waiting -= 1

    async def _advance(self) -> None:
        try:
            self._seen.append(await anext(self._story))
        except (StopAsyncIteration, asyncio.CancelledError):
            self._over = True

    async def _close(self) -> None:
        """End the generator and all that it has under way."""
        self._over = True
        if self._step is not None:
            await _end({self._step})
        await self._story.aclose()


class Run:
    """The state of one run, and the generator that tells it."""

    def __init__(self, agent: Agent, messages: Sequence[Message]) -> None:
        self.messages = list(messages)
        if agent.system and (not messages or messages[0].role != "system"):
            self.messages.insert(0, Message("system", agent.system))
        self.usage = Usage()
        self.answer: Message | None = None
        self.failure: Exception | None = None
        self._agent = agent
        self._run_step = (agent.step_runner if agent.step_runner is not None else ag03.Direct()).run
        self._tracer: Tracer = agent.tracer if agent.tracer is not None else NoOpTracer()
        self._last: Message | None = None
        self._number = self._asked = self._called = 0
        self._complete = len(self.messages)  # messages that a cancelled run keeps: those of finished turns
        self._results: dict[int, ToolResult] = {}
        self._inbox: asyncio.Queue[Event | asyncio.Task[None]] = asyncio.Queue()
        self._context: Context | None = None

    async def story(self) -> AsyncGenerator[Event, None]:
        """The events of the whole run, the last of them `done` or `error`."""
        span = self._tracer.start_span(ag03.SPAN_RUN, attributes={ag03.AGENT_NAME: self._agent.name})
        self._context = set_span_in_context(span)  # handed on: a generator has no context of its own
        try:
            async with aclosing(self._turns()) as events:
                async for event in events:
                    yield event
        except Exception as error:  # noqa: BLE001 - kept for result()
            if isinstance(error, ag03.LoopError):
                error.message, error.transcript, error.usage = self._last, tuple(self.messages), self.usage
            self.failure = error
            span.record_exception(error)
            span.set_status(StatusCode.ERROR, str(error))
        except (asyncio.CancelledError, GeneratorExit):
            del self.messages[self._complete :]
            raise
        finally:
            span.set_attribute(ag03.ITERATIONS, self._asked)
            span.end()
        if self.failure is None:
            yield Event("done", self._number)
        else:
            yield Event("error", self._number, error=self.failure)

    async def _turns(self) -> AsyncGenerator[Event, None]:
        calls = self._unanswered()
        approved = self._agent.approvals if calls else ()
        self._number = 1 if calls else 0
        while True:
            if not calls:
                async with aclosing(self._together([self._model_call()], 1)) as events:
                    async for event in events:
                        yield event
                reply = self.messages[-1]
                if not reply.tool_calls:
                    self.answer, self._complete = reply, len(self.messages)
                    return
                calls = tuple(enumerate(reply.tool_calls))
                self._check_tokens(self.usage.total)
            works = await self._decide(calls, approved)
            async with aclosing(self._together(works, self._agent.max_parallel_tools)) as events:
                async for event in events:
                    yield event
            self.messages += [Message("tool", self._results[i].content, tool_call_id=call.id) for i, call in calls]
            self._complete = len(self.messages)
            calls, approved = (), ()

    async def _together(self, works: Sequence[Work], at_once: int) -> AsyncGenerator[Event, None]:
        """Run the works, so many at once, and yield what they post; the first that fails ends the others."""
        waiting, running = deque(works), set[asyncio.Task[None]]()
        try:
            while waiting or running:
                while waiting and len(running) < at_once:
                    task = asyncio.create_task(waiting.popleft()())
                    task.add_done_callback(self._inbox.put_nowait)
                    running.add(task)
                item = await self._inbox.get()
                if isinstance(item, Event):
                    yield item
                else:
                    running.remove(item)
                    item.result()
        finally:
            await _end(running)

    def _post(self, kind: ag03.EventKind, **fields: Any) -> None:
        self._inbox.put_nowait(Event(kind, self._number, **fields))

    def _unanswered(self) -> Calls:
        """What is left of the turn that the input ends with: a tool message answers the first open call of its id."""
        start = max((i for i, message in enumerate(self.messages) if message.role != "tool"), default=0)
        rest = list(enumerate(self.messages[start].tool_calls)) if self.messages else []
        for message in self.messages[start + 1 :]:
            answered = next((each for each in rest if each[1].id == message.tool_call_id), None)
            if answered is not None:
                rest.remove(answered)
        self._last = self.messages[start] if rest else None
        return tuple(rest)

    def _check_tokens(self, spent: int) -> None:
        limit = self._agent.budget.max_tokens if self._agent.budget is not None else None
        if limit is not None and spent > limit:
            raise ag03.BudgetError("tokens", self.usage.total, limit)

    def _model_call(self) -> Work:
        """The next model call, if the limits allow one."""
        if self._asked >= self._agent.max_iter:
            raise ag03.MaxIterError
        self._check_tokens(self.usage.total + 1)  # what the call costs at least
        self._asked += 1
        self._number += 1
        return self._ask

    async def _ask(self) -> None:
        attributes = {ag03.REQUEST_MODEL: self._agent.provider.model}
        with self._tracer.start_as_current_span(
            ag03.SPAN_LLM, context=self._context, kind=SpanKind.CLIENT, attributes=attributes
        ) as span:
            reply, usage = await self._run_step(ag03.llm_step(self._number), "llm", self._read)
            span.set_attribute(ag03.INPUT_TOKENS, usage.input_tokens)
            span.set_attribute(ag03.OUTPUT_TOKENS, usage.output_tokens)
        self.usage += usage
        self.messages.append(reply)
        self._last = reply
        self._post("usage", usage=usage)

    async def _read(self) -> tuple[Message, Usage]:
        agent, reply = self._agent, ag03.Accumulator()
        stream = agent.provider.stream(tuple(self.messages), agent.tools.definitions(), dict(agent.call_options or {}))
        async for chunk in stream:
            reply.add(chunk)
            if isinstance(chunk, ag03.TextChunk):
                self._post("text", text=chunk.text)
        return reply.message(), reply.usage()

    async def _decide(self, calls: Calls, approved: Sequence[str]) -> list[Work]:
        """What to do for each call of a turn; raises where the budget or the gate forbids all of it."""
        gate = self._agent.gate
        limit = self._agent.budget.max_tool_calls if self._agent.budget is not None else None
        if limit is not None and self._called + len(calls) > limit:
            raise ag03.BudgetError("tool_calls", self._called + len(calls), limit)
        context = ag03.CallContext(any(message.role == "tool" for message in self.messages), self._number)
        pending, works, denied = list[ag03.Pending](), list[Work](), 0
        for index, call in calls:
            verdict = None if gate is None else await gate.decide(call, context)
            if isinstance(verdict, NeedApproval):
                if verdict.marker not in approved:
                    pending.append(ag03.Pending(call, verdict.marker, verdict.reason))
                verdict = ag03.Allow()
            denied += isinstance(verdict, Deny)
            works.append(self._work(index, call, verdict))
        for item in pending:
            self._note(item.call, ag03.OUTCOME_NEEDS_APPROVAL)
        if pending:
            raise ag03.ApprovalError(pending)
        self._called += len(calls) - denied
        return works

    def _work(self, index: int, call: ToolCall, verdict: ag03.Verdict | None) -> Work:
        async def work() -> None:
            self._post("tool_call", call=call, verdict=verdict)
            if isinstance(verdict, Deny):
                self._note(call, ag03.OUTCOME_DENIED)
                result = ToolResult(ag03.DENIED_PREFIX + verdict.reason, is_error=True)
            elif (why := _unreadable(call)) is not None:
                self._note(call, ag03.OUTCOME_ERROR)
                result = ToolResult(why, is_error=True)
            else:
                result = await self._traced(ag03.tool_step(self._number, index, call.name), call)
            self._results[index] = result
            self._post("tool_result", call=call, result=result)

        return work

    async def _traced(self, step: str, call: ToolCall) -> ToolResult:
        name, attributes = ag03.tool_span(call.name), {ag03.TOOL_NAME: call.name}
        with self._tracer.start_as_current_span(name, context=self._context, attributes=attributes) as span:
            result = await self._run_step(step, "tool", lambda: _harmless(self._agent.tools.call(call)))
            span.set_attribute(ag03.OUTCOME, ag03.OUTCOME_ERROR if result.is_error else ag03.OUTCOME_OK)
        return result

    def _note(self, call: ToolCall, outcome: str) -> None:
        attributes = {ag03.TOOL_NAME: call.name, ag03.OUTCOME: outcome}
        self._tracer.start_span(ag03.tool_span(call.name), self._context, attributes=attributes).end()


def _unreadable(call: ToolCall) -> str | None:
    try:
        json.loads(call.arguments or "{}")
    except ValueError as error:
        return f"invalid arguments: {error}"
    return None


async def _harmless(tool: Awaitable[ToolResult]) -> ToolResult:
    """The tool's result, also where the tool breaks its promise and raises."""
    try:
        return await tool
    except Exception as error:  # noqa: BLE001 - whatever a tool raises is for the model to read
        return ToolResult(f"{type(error).__name__}: {error}", is_error=True)


async def _end(tasks: set[asyncio.Task[None]]) -> None:
    """Cancel the tasks and see them end, however often this is cancelled meanwhile."""
    for task in tasks:
        task.cancel()
    while running := [task for task in tasks if not task.done()]:
        with suppress(asyncio.CancelledError):
            await asyncio.wait(running)
