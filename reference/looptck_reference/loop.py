"""The reference loop of the profile ag03: ask, act on the reply's calls, keep their results, and so on to the answer.

`Run.loop` is the whole of section 2.1; each of the other methods is one of the places that the specification builds
into it: the iteration cap, parallel calls, budgets, gate and approvals, steps, spans.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from looptck.contract import ag03
from looptck.contract.ag03 import (
    DEFAULT_MAX_ITER,
    DEFAULT_MAX_PARALLEL_TOOLS,
    DENIED_PREFIX,
    Accumulator,
    Allow,
    ApprovalError,
    Budget,
    CallContext,
    Deny,
    Direct,
    Event,
    EventKind,
    Gate,
    LoopError,
    MaxIterError,
    Message,
    NeedApproval,
    Pending,
    Provider,
    StepRunner,
    TextChunk,
    ToolCall,
    ToolResult,
    Tools,
    Usage,
    Verdict,
)
from looptck_reference import limits
from looptck_reference.stream import EventLog, Stream
from looptck_reference.tracing import Tracing, set_attribute

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer

CANCELLED = ToolResult("error: cancelled", is_error=True)
"""What answers a call that was cut off by cancelling the run, so that no call stays open."""

Indexed = tuple[int, ToolCall]
Judged = tuple[int, ToolCall, Verdict]


class Agent:
    """The gated, durable, traced loop. Its arguments are those of `looptck.contract.ag03.Agent` (section 4)."""

    def __init__(
        self,
        provider: Provider,
        tools: Tools,
        system: str = "",
        name: str = "agent",
        call_options: Mapping[str, Any] | None = None,
        max_iter: int = DEFAULT_MAX_ITER,
        max_parallel_tools: int = DEFAULT_MAX_PARALLEL_TOOLS,
        budget: Budget | None = None,
        gate: Gate | None = None,
        step_runner: StepRunner | None = None,
        tracer: Tracer | None = None,
        approvals: Sequence[str] = (),
    ) -> None:
        self.provider = provider
        self.tools = tools
        self.system = system
        self.call_options = dict(call_options or {})
        self.max_iter = max_iter
        self.max_parallel_tools = max(max_parallel_tools, 1)  # with none at all a call would wait for ever
        self.budget = budget
        self.gate = gate
        self.step_runner: StepRunner = step_runner if step_runner is not None else Direct()
        self.tracing = Tracing(tracer, name, provider.model)
        self.approvals = frozenset(approvals)

    def invoke(self, messages: Sequence[Message]) -> Stream:
        """Start a run over the messages. Every run has a state of its own."""
        run = Run(self, messages)
        return Stream(run, run.events, run.traced)


class Run:
    """One run: the messages M_t, the usage so far, and the counts that the limits look at."""

    def __init__(self, agent: Agent, messages: Sequence[Message]) -> None:
        self.agent = agent
        self.messages = limits.with_system(agent.system, messages)
        self.usage = Usage()
        self.events = EventLog()
        self.iter = 0
        self.model_calls = 0
        self.tool_calls = 0
        self.last: Message | None = None

    async def traced(self) -> Message:
        """The run inside its span; an error leaves with what the run has so far, and as the last event."""
        with self.agent.tracing.run() as span:
            try:
                answer = await self.loop()
            except Exception as error:
                if isinstance(error, LoopError):
                    error.message, error.transcript, error.usage = self.last, tuple(self.messages), self.usage
                self._emit("error", error=error)
                raise
            finally:
                set_attribute(span, ag03.ITERATIONS, self.model_calls)
            self._emit("done")
            return answer

    async def loop(self) -> Message:
        """Section 2.1: M_t is M_{t-1}, the reply, and an answer to each of its calls; a reply without calls ends it."""
        resumed = limits.open_turn(self.messages)
        if resumed is not None:  # section 2.5: the model is not asked again for a turn that it has proposed
            self.last, calls = resumed
            self.iter = 1
            await self._act(calls)
        while self.model_calls < self.agent.max_iter:
            limits.check_tokens_for_model(self.agent.budget, self.usage)
            reply = await self._ask()
            if not reply.tool_calls:
                return reply
            limits.check_tokens_for_dispatch(self.agent.budget, self.usage)
            await self._act(tuple(enumerate(reply.tool_calls)))
        raise MaxIterError

    async def _ask(self) -> Message:
        """One model call as a named step; its reply and usage join the run."""
        self.iter += 1
        self.model_calls += 1
        with self.agent.tracing.llm_call() as span:
            reply, usage = await self.agent.step_runner.run(ag03.llm_step(self.iter), "llm", self._stream)
            set_attribute(span, ag03.INPUT_TOKENS, usage.input_tokens)
            set_attribute(span, ag03.OUTPUT_TOKENS, usage.output_tokens)
        self.usage += usage
        self.messages.append(reply)
        self.last = reply
        self._emit("usage", usage=usage)
        return reply

    async def _stream(self) -> tuple[Message, Usage]:
        """The work of a model step: fold the chunks of one reply."""
        agent = self.agent
        reply = Accumulator()
        async for chunk in agent.provider.stream(tuple(self.messages), agent.tools.definitions(), agent.call_options):
            reply.add(chunk)
            if isinstance(chunk, TextChunk):
                self._emit("text", text=chunk.text)
        return reply.message(), reply.usage()

    async def _act(self, calls: Sequence[Indexed]) -> None:
        """Sections 2.3 to 2.5: first what may forbid the turn, then its calls, then their results in call order."""
        results: list[ToolResult | None] = [None] * len(calls)
        try:
            limits.check_tool_calls(self.agent.budget, self.tool_calls, len(calls))
            self.tool_calls += len(calls)
            judged = await self._judge(calls)
            await self._dispatch(judged, results)
        except asyncio.CancelledError:
            self._append(calls, [result or CANCELLED for result in results])
            raise
        self._append(calls, results)

    async def _judge(self, calls: Sequence[Indexed]) -> list[Judged]:
        """Ask the gate about every call; raise `ApprovalError` when any of them has to wait (section 2.5)."""
        if self.agent.gate is None:
            return [(index, call, Allow()) for index, call in calls]
        context = CallContext(tainted=limits.is_tainted(self.messages), iter=self.iter)
        judged: list[Judged] = []
        for index, call in calls:
            verdict = await self.agent.gate.decide(call, context)
            if isinstance(verdict, NeedApproval) and verdict.marker in self.agent.approvals:
                verdict = Allow()
            judged.append((index, call, verdict))
        pending = [Pending(call, v.marker, v.reason) for _, call, v in judged if isinstance(v, NeedApproval)]
        if pending:
            for item in pending:
                self.agent.tracing.tool_not_run(item.call.name, ag03.OUTCOME_NEEDS_APPROVAL)
            raise ApprovalError(pending)
        return judged

    async def _dispatch(self, judged: Sequence[Judged], results: list[ToolResult | None]) -> None:
        """Run the allowed calls at once, at most `max_parallel_tools`, each result into its own slot (section 2.3)."""
        free = asyncio.Semaphore(self.agent.max_parallel_tools)

        async def one(slot: int) -> None:
            index, call, verdict = judged[slot]
            self._emit("tool_call", call=call, verdict=verdict)
            if isinstance(verdict, Deny):
                self.agent.tracing.tool_not_run(call.name, ag03.OUTCOME_DENIED)
                result = ToolResult(DENIED_PREFIX + verdict.reason, is_error=True)
            else:
                async with free:
                    result = await self._run_tool(index, call)
            results[slot] = result
            self._emit("tool_result", call=call, result=result)

        if len(judged) == 1:  # a task would only cost
            return await one(0)
        try:
            async with asyncio.TaskGroup() as group:
                for slot in range(len(judged)):
                    group.create_task(one(slot))
        except* Exception as failed:  # noqa: BLE001 - raised again, out of its group
            raise failed.exceptions[0] from None
        return None

    async def _run_tool(self, index: int, call: ToolCall) -> ToolResult:
        """One tool call as a named step, in its span (sections 2.6 and 2.7)."""

        async def work() -> ToolResult:
            try:
                return await self.agent.tools.call(call)
            except Exception as error:  # noqa: BLE001 - for the model to read: only the runner's own errors end a run
                return ToolResult(f"{type(error).__name__}: {error}", is_error=True)

        with self.agent.tracing.tool(call.name) as span:
            result = await self.agent.step_runner.run(ag03.tool_step(self.iter, index, call.name), "tool", work)
            set_attribute(span, ag03.OUTCOME, ag03.OUTCOME_ERROR if result.is_error else ag03.OUTCOME_OK)
            return result

    def _append(self, calls: Sequence[Indexed], results: Sequence[ToolResult | None]) -> None:
        """Append the answers in call order."""
        for (_, call), result in zip(calls, results, strict=True):
            assert result is not None, "a dispatched turn has a result in every slot"  # noqa: S101 - an invariant
            self.messages.append(Message("tool", result.content, tool_call_id=call.id))

    def _emit(self, kind: EventKind, **fields: Any) -> None:
        self.events.emit(Event(kind, self.iter, **fields))
