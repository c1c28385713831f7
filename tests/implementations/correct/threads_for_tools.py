"""Threads for tools: every tool call runs in a thread of its own event loop, guarded by timeouts of half a minute.

Steps and spans stay on the main loop, and all steps of a turn begin at once: the bound holds for the tools themselves.
A call is cancelled by cancelling its task inside its thread, and the run waits until that thread is free again. Its
readings: siblings of a step that fails finish; the gate is asked before the tool-call budget; the turn that a cancelled
run could not finish is dropped; of a reply that failed all is kept that came; a run is begun by its first caller.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import AsyncIterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from opentelemetry.trace import NoOpTracer, SpanKind, Tracer

from looptck.contract import ag03
from looptck.contract.ag03 import (
    Allow,
    Budget,
    Deny,
    Event,
    Message,
    NeedApproval,
    ToolCall,
    ToolResult,
    Usage,
    Verdict,
)

GUARD = 30.0
"""Seconds that one model call or one tool call may take."""
STOPPED = ToolResult("error: stopped", is_error=True)
Turn = list[tuple[int, ToolCall]]


class ToolThread:
    """One tool call, to be run in a thread; `stop` may be called from any other."""

    def __init__(self, tools: ag03.Tools, call: ToolCall) -> None:
        self._tools, self._call = tools, call
        self._lock = threading.Lock()
        self._stopped = False
        self._running: tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]] | None = None

    def run(self) -> ToolResult:
        """Run the call on an event loop of this thread."""
        return asyncio.run(self._main())

    def stop(self) -> None:
        """Cancel the call, or keep it from beginning."""
        with self._lock:
            self._stopped = True
            if self._running is not None:
                loop, task = self._running
                with suppress(RuntimeError):  # its loop is closed: the call is over
                    loop.call_soon_threadsafe(task.cancel)

    async def _main(self) -> ToolResult:
        task = asyncio.current_task()
        with self._lock:
            if self._stopped or task is None:
                return STOPPED
            self._running = asyncio.get_running_loop(), task
        try:
            return await asyncio.wait_for(self._tools.call(self._call), GUARD)
        except asyncio.CancelledError:
            return STOPPED
        except Exception as error:  # noqa: BLE001 - whatever a tool raises is for the model to read
            return ToolResult(f"{self._call.name} failed: {error!r}", is_error=True)


class Agent:
    """Keeps what every run needs, under the names of the contract."""

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
        self.provider, self.tools, self.system, self.name = provider, tools, system, name
        self.call_options = dict(call_options or {})
        self.max_iter, self.max_parallel_tools = max_iter, max_parallel_tools
        self.max_tokens = budget.max_tokens if budget is not None else None
        self.max_tool_calls = budget.max_tool_calls if budget is not None else None
        self.gate, self.approvals = gate, set(approvals)
        self.step_runner: ag03.StepRunner = step_runner if step_runner is not None else ag03.Direct()
        self.tracer: Tracer = tracer if tracer is not None else NoOpTracer()

    def invoke(self, messages: Sequence[Message]) -> Run:
        """A run over a copy of the messages."""
        copied = list(messages)
        if self.system and [message.role for message in copied[:1]] != ["system"]:
            copied = [Message("system", self.system), *copied]
        return Run(self, copied)


class Run:
    """One run, its pool of threads, and its stream."""

    def __init__(self, agent: Agent, messages: list[Message]) -> None:
        self._agent, self._messages = agent, messages
        self._usage = Usage()
        self._last: Message | None = None
        self._number = self._model_calls = self._tool_calls = 0
        self._slots = asyncio.Semaphore(agent.max_parallel_tools)
        self._events: list[Event] = []
        self._readers: list[asyncio.Event] = []
        self._task: asyncio.Task[Message] | None = None

    async def events(self) -> AsyncIterator[Event]:
        """Every event from the first on."""
        task, place, news = self._begin(), 0, asyncio.Event()
        self._readers.append(news)
        while place < len(self._events) or not task.done():
            news.clear()
            for event in self._events[place:]:
                place += 1
                yield event
            if place == len(self._events) and not task.done():
                await news.wait()

    async def result(self) -> Message:
        """The answer; cancelled here, the task and its threads end first."""
        return await self._begin()

    def transcript(self) -> Sequence[Message]:
        """The messages so far."""
        return self._messages[:]

    def usage(self) -> Usage:
        """The sum so far."""
        return self._usage

    def _begin(self) -> asyncio.Task[Message]:
        if self._task is None:
            self._task = asyncio.create_task(self._run())
            self._task.add_done_callback(self._ended)
        return self._task

    def _ended(self, task: asyncio.Task[Message]) -> None:
        _ = task.cancelled() or task.exception()  # looked at: nobody has to ask for the result
        self._wake()

    def _wake(self) -> None:
        for news in self._readers:
            news.set()

    def _emit(self, kind: ag03.EventKind, **fields: Any) -> None:
        self._events.append(Event(kind, self._number, **fields))
        self._wake()

    async def _run(self) -> Message:
        agent = self._agent
        with (
            ThreadPoolExecutor(agent.max_parallel_tools, "tool") as pool,
            agent.tracer.start_as_current_span(ag03.SPAN_RUN, attributes={ag03.AGENT_NAME: agent.name}) as span,
        ):
            try:
                answer = await self._iterate(pool)
            except ag03.LoopError as error:
                error.message, error.usage, error.transcript = self._last, self._usage, tuple(self._messages)
                self._emit("error", error=error)
                raise
            except Exception as error:
                self._emit("error", error=error)
                raise
            finally:
                span.set_attribute(ag03.ITERATIONS, self._model_calls)
        self._emit("done")
        return answer

    async def _iterate(self, pool: ThreadPoolExecutor) -> Message:
        limit = self._agent.max_tokens
        turn = self._resumed_turn()
        if turn:
            self._number = 1
            await self._play(turn, pool, len(self._messages))
        for _ in range(self._agent.max_iter):
            if limit is not None and self._usage.total >= limit:
                raise ag03.BudgetError("tokens", self._usage.total, limit)
            before = len(self._messages)
            reply = await self._ask()
            if not reply.tool_calls:
                return reply
            if limit is not None and self._usage.total > limit:
                raise ag03.BudgetError("tokens", self._usage.total, limit)
            await self._play(list(enumerate(reply.tool_calls)), pool, before)
        raise ag03.MaxIterError

    def _resumed_turn(self) -> Turn:
        answers: list[str | None] = []
        for message in self._messages[::-1]:
            if message.role == "tool":
                answers.append(message.tool_call_id)
                continue
            turn = [each for each in enumerate(message.tool_calls) if not _take(answers, each[1].id)]
            self._last = message if turn else None
            return turn
        return []

    async def _ask(self) -> Message:
        agent = self._agent
        self._number += 1
        self._model_calls += 1
        attributes = {ag03.REQUEST_MODEL: agent.provider.model}
        with agent.tracer.start_as_current_span(ag03.SPAN_LLM, kind=SpanKind.CLIENT, attributes=attributes) as span:
            reply = await agent.step_runner.run(ag03.llm_step(self._number), "llm", self._guarded_reply)
            message, usage = reply.message(), reply.usage()
            span.set_attribute(ag03.INPUT_TOKENS, usage.input_tokens)
            span.set_attribute(ag03.OUTPUT_TOKENS, usage.output_tokens)
        self._usage, self._last = self._usage + usage, message
        self._messages.append(message)
        self._emit("usage", usage=usage)
        return message

    async def _guarded_reply(self) -> ag03.Accumulator:
        async with asyncio.timeout(GUARD):
            return await self._read_reply()

    async def _read_reply(self) -> ag03.Accumulator:
        agent, reply = self._agent, ag03.Accumulator()
        try:
            async for chunk in agent.provider.stream(self._messages[:], agent.tools.definitions(), agent.call_options):
                reply.add(chunk)
                if isinstance(chunk, ag03.TextChunk):
                    self._emit("text", text=chunk.text)
        except Exception:
            self._messages.append(reply.message())  # whatever came
            raise
        return reply

    async def _play(self, turn: Turn, pool: ThreadPoolExecutor, before: int) -> None:
        """All of a turn; cancelled, the transcript goes back to its length `before`."""
        try:
            verdicts = await self._ask_gate(turn)
            self._tool_calls += len(turn)
            limit = self._agent.max_tool_calls
            if limit is not None and self._tool_calls > limit:
                raise ag03.BudgetError("tool calls", self._tool_calls, limit)
            calls = [self._one(*each, verdict, pool) for each, verdict in zip(turn, verdicts, strict=True)]
            outcomes = await asyncio.gather(*calls, return_exceptions=True)  # cancelled, it waits for all of them
        except asyncio.CancelledError:
            del self._messages[before:]
            raise
        answers = []
        for (_, call), outcome in zip(turn, outcomes, strict=True):
            if isinstance(outcome, BaseException):
                raise outcome
            answers.append(Message("tool", outcome.content, tool_call_id=call.id))
        self._messages += answers

    async def _ask_gate(self, turn: Turn) -> list[Verdict]:
        verdicts: list[Verdict] = [Allow() for _ in turn]
        if self._agent.gate is None:
            return verdicts
        context = ag03.CallContext(any(message.role == "tool" for message in self._messages), self._number)
        pending = []
        for place, (_, call) in enumerate(turn):
            verdict = await self._agent.gate.decide(call, context)
            if isinstance(verdict, Deny):
                verdicts[place] = verdict
            elif isinstance(verdict, NeedApproval) and verdict.marker not in self._agent.approvals:
                pending.append(ag03.Pending(call, verdict.marker, verdict.reason))
        if pending:
            for item in pending:
                self._note(item.call, ag03.OUTCOME_NEEDS_APPROVAL)
            raise ag03.ApprovalError(pending)
        return verdicts

    async def _one(self, index: int, call: ToolCall, verdict: Verdict, pool: ThreadPoolExecutor) -> ToolResult:
        self._emit("tool_call", call=call, verdict=verdict)
        if isinstance(verdict, Deny):
            self._note(call, ag03.OUTCOME_DENIED)
            result = ToolResult(ag03.DENIED_PREFIX + verdict.reason, is_error=True)
        else:
            tracer, attributes = self._agent.tracer, {ag03.TOOL_NAME: call.name}
            with tracer.start_as_current_span(ag03.tool_span(call.name), attributes=attributes) as span:
                step = ag03.tool_step(self._number, index, call.name)
                result = await self._agent.step_runner.run(step, "tool", lambda: self._in_thread(call, pool))
                span.set_attribute(ag03.OUTCOME, ag03.OUTCOME_ERROR if result.is_error else ag03.OUTCOME_OK)
        self._emit("tool_result", call=call, result=result)
        return result

    async def _in_thread(self, call: ToolCall, pool: ThreadPoolExecutor) -> ToolResult:
        async with self._slots:
            thread, context = ToolThread(self._agent.tools, call), contextvars.copy_context()
            future = asyncio.get_running_loop().run_in_executor(pool, context.run, thread.run)
            try:
                return await asyncio.wait_for(asyncio.shield(future), GUARD)
            except TimeoutError:
                return ToolResult(f"{call.name} took longer than {GUARD:.0f} s", is_error=True)
            finally:
                thread.stop()
                while not future.done():
                    with suppress(asyncio.CancelledError):
                        await asyncio.wait([future])

    def _note(self, call: ToolCall, outcome: str) -> None:
        attributes = {ag03.TOOL_NAME: call.name, ag03.OUTCOME: outcome}
        self._agent.tracer.start_span(ag03.tool_span(call.name), attributes=attributes).end()


def _take(answers: list[str | None], call_id: str) -> bool:
    """Use up one answer to the call, if there is one."""
    with suppress(ValueError):
        answers.remove(call_id)
        return True
    return False
