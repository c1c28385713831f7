"""A state machine: a pure function from state and input to state and actions, and an interpreter that polls.

Every decision of the loop (limits, verdicts, what to append, what to tell) is in `step`, which does no I/O. The
interpreter does what it is told and feeds the outcome back; it looks at running tools every few milliseconds rather
than awaiting them, and so do readers of events. Its readings: the gate is asked before the tool-call budget is looked
at, and `used` is what was done; results are told in call order once the whole turn is in; siblings of a step that fails
finish; a cancelled run answers the calls that it cut off.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from opentelemetry.trace import NoOpTracer, SpanKind, Tracer

from looptck.contract import ag03
from looptck.contract.ag03 import Allow, Deny, Event, Message, NeedApproval, ToolCall, ToolResult, Usage, Verdict

POLL = 0.005
"""Seconds between two looks at what is running."""
CUT_OFF = ToolResult("error: cancelled", is_error=True)
Calls: TypeAlias = tuple[tuple[int, ToolCall], ...]


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
        return Run(self, messages)


@dataclass(frozen=True, slots=True)
class State:
    """All that a decision depends on. `number` is the one that the turn's steps, gate questions and events carry."""

    messages: tuple[Message, ...]
    usage: Usage = field(default_factory=Usage)
    number: int = 0
    asked: int = 0
    called: int = 0
    calls: Calls = ()
    verdicts: tuple[Verdict, ...] = ()
    last: Message | None = None


@dataclass(frozen=True, slots=True)
class Begun:
    """Input: the run begins."""


@dataclass(frozen=True, slots=True)
class Replied:
    """Input: the model replied."""

    message: Message
    usage: Usage


@dataclass(frozen=True, slots=True)
class Judged:
    """Input: the gate gave its verdicts on the calls of the turn."""

    verdicts: tuple[Verdict, ...]


@dataclass(frozen=True, slots=True)
class Ran:
    """Input: what the allowed calls gave, by index; with `cut`, the run was cancelled and some may be missing."""

    results: Mapping[int, ToolResult]
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Ask:
    """Action: call the model."""


@dataclass(frozen=True, slots=True)
class Judge:
    """Action: ask the gate about the calls of the turn."""

    context: ag03.CallContext


@dataclass(frozen=True, slots=True)
class Dispatch:
    """Action: run these calls."""

    calls: Calls


@dataclass(frozen=True, slots=True)
class Mark:
    """Action: trace a call that does not run."""

    call: ToolCall
    outcome: str


@dataclass(frozen=True, slots=True)
class Stop:
    """Action: end the run."""

    outcome: Message | ag03.LoopError


Input: TypeAlias = Begun | Replied | Judged | Ran
Action: TypeAlias = Event | Mark | Ask | Judge | Dispatch | Stop
Step: TypeAlias = tuple[State, list[Action]]


def step(agent: Agent, state: State, given: Input) -> Step:
    """What follows from an input. Its actions end with the one whose outcome is the next input, or with `Stop`."""
    match given:
        case Begun():
            return _resumed(state) or _next_model_call(agent, state)
        case Replied(message, usage):
            messages, total = (*state.messages, message), state.usage + usage
            state = replace(
                state, messages=messages, usage=total, last=message, calls=tuple(enumerate(message.tool_calls))
            )
            told: list[Action] = [Event("usage", state.number, usage=usage)]
            if not state.calls:
                return state, [*told, Stop(message)]
            if agent.budget and agent.budget.max_tokens is not None and total.total > agent.budget.max_tokens:
                return state, [*told, Stop(ag03.BudgetError("tokens", total.total, agent.budget.max_tokens))]
            return state, [*told, _judge(state)]
        case Judged(verdicts):
            return _judged(agent, replace(state, verdicts=verdicts))
        case Ran(results, cut):
            return _ran(agent, state, results, cut=cut)


def _judge(state: State) -> Judge:
    return Judge(ag03.CallContext(any(message.role == "tool" for message in state.messages), state.number))


def _resumed(state: State) -> Step | None:
    """The turn that the input leaves open, numbered 1; None where it leaves none."""
    end = max((i for i, message in enumerate(state.messages) if message.role != "tool"), default=None)
    if end is None:
        return None
    answers = [message.tool_call_id for message in state.messages[end + 1 :]]
    rest: list[tuple[int, ToolCall]] = []
    for index, call in enumerate(state.messages[end].tool_calls):
        if call.id in answers:
            answers.remove(call.id)
        else:
            rest.append((index, call))
    if not rest:
        return None
    state = replace(state, number=1, calls=tuple(rest), last=state.messages[end])
    return state, [_judge(state)]


def _next_model_call(agent: Agent, state: State) -> Step:
    limit = agent.budget.max_tokens if agent.budget else None
    if state.asked >= agent.max_iter:
        return state, [Stop(ag03.MaxIterError())]
    if limit is not None and state.usage.total >= limit:
        return state, [Stop(ag03.BudgetError("tokens", state.usage.total, limit))]
    return replace(state, number=state.number + 1, asked=state.asked + 1), [Ask()]


def _judged(agent: Agent, state: State) -> Step:
    judged = list(zip(state.calls, state.verdicts, strict=True))
    pending = [ag03.Pending(call, v.marker, v.reason) for (_, call), v in judged if isinstance(v, NeedApproval)]
    if pending:
        marks = [Mark(item.call, ag03.OUTCOME_NEEDS_APPROVAL) for item in pending]
        return state, [*marks, Stop(ag03.ApprovalError(pending))]
    limit = agent.budget.max_tool_calls if agent.budget else None
    if limit is not None and state.called + len(state.calls) > limit:
        return state, [Stop(ag03.BudgetError("tool calls", state.called, limit))]
    told: list[Action] = [Event("tool_call", state.number, call=call, verdict=v) for (_, call), v in judged]
    told += [Mark(call, ag03.OUTCOME_DENIED) for (_, call), v in judged if isinstance(v, Deny)]
    allowed = tuple(each for each, v in judged if isinstance(v, Allow))
    return replace(state, called=state.called + len(state.calls)), [*told, Dispatch(allowed)]


def _ran(agent: Agent, state: State, results: Mapping[int, ToolResult], *, cut: bool) -> Step:
    told: list[Action] = []
    answers = []
    verdicts = state.verdicts or tuple(Allow() for _ in state.calls)
    for (index, call), verdict in zip(state.calls, verdicts, strict=True):
        result = results.get(index, CUT_OFF)
        if isinstance(verdict, Deny):
            result = ToolResult(ag03.DENIED_PREFIX + verdict.reason, is_error=True)
        told.append(Event("tool_result", state.number, call=call, result=result))
        answers.append(Message("tool", result.content, tool_call_id=call.id))
    state = replace(state, messages=(*state.messages, *answers), calls=(), verdicts=())
    if cut:
        return state, told
    state, further = _next_model_call(agent, state)
    return state, told + further


class Run:
    """The interpreter of one run, and its stream."""

    def __init__(self, agent: Agent, messages: Sequence[Message]) -> None:
        self._agent = agent
        system = agent.system and not (messages and messages[0].role == "system")
        self._state = State((Message("system", agent.system), *messages) if system else tuple(messages))
        self._runner = agent.step_runner if agent.step_runner is not None else ag03.Direct()
        self._tracer = agent.tracer if agent.tracer is not None else NoOpTracer()
        self._results: dict[int, ToolResult] = {}
        self._events: list[Event] = []
        self._task: asyncio.Task[Message] | None = None

    async def events(self) -> AsyncIterator[Event]:
        """Every event from the first on."""
        task, place = self._begin(), 0
        while True:
            over = task.done()
            for event in self._events[place:]:
                place += 1
                yield event
            if over:
                return
            await asyncio.sleep(POLL)

    async def result(self) -> Message:
        """The answer."""
        return await self._begin()

    def transcript(self) -> tuple[Message, ...]:
        """The messages so far."""
        return self._state.messages

    def usage(self) -> Usage:
        """The sum so far."""
        return self._state.usage

    def _begin(self) -> asyncio.Task[Message]:
        if self._task is None:
            self._task = asyncio.create_task(self._run())
            self._task.add_done_callback(lambda task: task.cancelled() or task.exception())
        return self._task

    async def _run(self) -> Message:
        attributes = {ag03.AGENT_NAME: self._agent.name}
        with self._tracer.start_as_current_span(ag03.SPAN_RUN, attributes=attributes) as span:
            try:
                answer = await self._interpret()
            except Exception as error:
                self._events.append(Event("error", self._state.number, error=error))
                raise
            except asyncio.CancelledError:
                if self._state.calls:
                    self._take(Ran(self._results, cut=True))
                raise
            finally:
                span.set_attribute(ag03.ITERATIONS, self._state.asked)
            self._events.append(Event("done", self._state.number))
            return answer

    async def _interpret(self) -> Message:
        given: Input = Begun()
        while True:
            match self._take(given):
                case Ask():
                    given = await self._ask()
                case Judge(context):
                    given = await self._judge(context)
                case Dispatch(calls):
                    given = await self._dispatch(calls)
                case Stop(ag03.LoopError() as error):
                    state = self._state
                    error.message, error.transcript, error.usage = state.last, state.messages, state.usage
                    raise error
                case Stop(Message() as answer):
                    return answer
                case other:
                    raise AssertionError(other)

    def _take(self, given: Input) -> Action:
        """One step; tells and marks what it says, and returns the action that is left to do."""
        self._state, actions = step(self._agent, self._state, given)
        for action in actions:
            if isinstance(action, Event):
                self._events.append(action)
            elif isinstance(action, Mark):
                attributes = {ag03.TOOL_NAME: action.call.name, ag03.OUTCOME: action.outcome}
                self._tracer.start_span(ag03.tool_span(action.call.name), attributes=attributes).end()
        return actions[-1]

    async def _ask(self) -> Replied:
        attributes = {ag03.REQUEST_MODEL: self._agent.provider.model}
        start_span = self._tracer.start_as_current_span
        with start_span(ag03.SPAN_LLM, kind=SpanKind.CLIENT, attributes=attributes) as span:
            replied = await self._runner.run(ag03.llm_step(self._state.number), "llm", self._reply)
            span.set_attribute(ag03.INPUT_TOKENS, replied.usage.input_tokens)
            span.set_attribute(ag03.OUTPUT_TOKENS, replied.usage.output_tokens)
        return replied

    async def _reply(self) -> Replied:
        agent, reply = self._agent, ag03.Accumulator()
        options = dict(agent.call_options or {})
        async for chunk in agent.provider.stream(self._state.messages, agent.tools.definitions(), options):
            reply.add(chunk)
            if isinstance(chunk, ag03.TextChunk):
                self._events.append(Event("text", self._state.number, text=chunk.text))
        return Replied(reply.message(), reply.usage())

    async def _judge(self, context: ag03.CallContext) -> Judged:
        verdicts: list[Verdict] = []
        for _, call in self._state.calls:
            verdict = Allow() if self._agent.gate is None else await self._agent.gate.decide(call, context)
            approved = isinstance(verdict, NeedApproval) and verdict.marker in self._agent.approvals
            verdicts.append(Allow() if approved else verdict)
        return Judged(tuple(verdicts))

    async def _dispatch(self, calls: Calls) -> Ran:
        """Keep at most so many calls running, looking again and again, until none is left."""
        self._results = {}
        waiting, running, failures = list(calls), set[asyncio.Task[None]](), list[BaseException]()
        try:
            while waiting or running:
                while waiting and len(running) < self._agent.max_parallel_tools:
                    running.add(asyncio.create_task(self._tool(*waiting.pop(0))))
                await asyncio.sleep(POLL)
                ended = {task for task in running if task.done()}
                running -= ended
                failures += [error for task in ended if (error := task.exception()) is not None]
                if failures:
                    waiting.clear()
        finally:
            await _end(running)
        if failures:
            raise failures[0]
        return Ran(self._results)

    async def _tool(self, index: int, call: ToolCall) -> None:
        async def work() -> ToolResult:
            try:
                return await self._agent.tools.call(call)
            except Exception as error:  # noqa: BLE001 - whatever a tool raises is for the model to read
                return ToolResult(repr(error), is_error=True)

        attributes = {ag03.TOOL_NAME: call.name}
        with self._tracer.start_as_current_span(ag03.tool_span(call.name), attributes=attributes) as span:
            result = await self._runner.run(ag03.tool_step(self._state.number, index, call.name), "tool", work)
            span.set_attribute(ag03.OUTCOME, ag03.OUTCOME_ERROR if result.is_error else ag03.OUTCOME_OK)
        self._results[index] = result


async def _end(tasks: set[asyncio.Task[None]]) -> None:
    """Cancel the tasks and see them end, however often this is cancelled meanwhile."""
    for task in tasks:
        task.cancel()
    while running := [task for task in tasks if not task.done()]:
        with suppress(asyncio.CancelledError):
            await asyncio.wait(running)
