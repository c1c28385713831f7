"""The contract of the profile `ag03`: the gated, durable, traced loop (section 4 of its specification).

A loop is a class `Agent` that is given four seams (a provider, tools, a gate, a step runner) and optional limits, and
whose `invoke` starts one run. The shared words of `looptck.contract.messages` are exported here too, so that an
implementation needs this one import.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypeVar, runtime_checkable

from looptck.contract.messages import (
    Accumulator,
    CallChunk,
    Chunk,
    Message,
    Role,
    TextChunk,
    ToolCall,
    ToolDefinition,
    ToolResult,
    Usage,
    UsageChunk,
)

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer

__all__ = [
    "AGENT_NAME",
    "DEFAULT_MAX_ITER",
    "DEFAULT_MAX_PARALLEL_TOOLS",
    "DENIED_PREFIX",
    "INPUT_TOKENS",
    "ITERATIONS",
    "OUTCOME",
    "OUTCOME_DENIED",
    "OUTCOME_ERROR",
    "OUTCOME_NEEDS_APPROVAL",
    "OUTCOME_OK",
    "OUTPUT_TOKENS",
    "REQUEST_MODEL",
    "SPAN_LLM",
    "SPAN_RUN",
    "SPAN_TOOL",
    "TOOL_NAME",
    "Accumulator",
    "Agent",
    "Allow",
    "ApprovalError",
    "Budget",
    "BudgetError",
    "CallChunk",
    "CallContext",
    "Chunk",
    "Deny",
    "Direct",
    "Event",
    "EventKind",
    "Gate",
    "LoopError",
    "MaxIterError",
    "Message",
    "NeedApproval",
    "Pending",
    "Provider",
    "Role",
    "StepKind",
    "StepRunner",
    "Stream",
    "TextChunk",
    "ToolCall",
    "ToolDefinition",
    "ToolResult",
    "Tools",
    "Usage",
    "UsageChunk",
    "Verdict",
    "llm_step",
    "tool_span",
    "tool_step",
]

T = TypeVar("T")

DEFAULT_MAX_ITER = 8
"""Model calls that a run may make when nothing else is said (section 2.2)."""
DEFAULT_MAX_PARALLEL_TOOLS = 4
"""Tools in flight at once when nothing else is said (section 2.3)."""
DENIED_PREFIX = "error: denied by policy: "
"""What precedes the gate's reason in the tool message of a denied call (section 2.5)."""

# Section 2.7: span names, attribute names and the values of the outcome.
SPAN_RUN = "agent.run"
SPAN_LLM = "agent.llm_call"
SPAN_TOOL = "agent.tool"
AGENT_NAME = "gen_ai.agent.name"
ITERATIONS = "tl.agent.iterations"
REQUEST_MODEL = "gen_ai.request.model"
INPUT_TOKENS = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
TOOL_NAME = "gen_ai.tool.name"
OUTCOME = "tl.tool.outcome"
OUTCOME_OK = "ok"
OUTCOME_ERROR = "error"
OUTCOME_DENIED = "denied"
OUTCOME_NEEDS_APPROVAL = "needs_approval"

StepKind: TypeAlias = Literal["llm", "tool"]


def llm_step(iteration: int) -> str:
    """The step name of the model call of an iteration, counted from 1 (section 2.6)."""
    return f"llm/{iteration}"


def tool_step(iteration: int, index: int, name: str) -> str:
    """The step name of a tool call: `index` is its place in the turn, counted from 0 (section 2.6)."""
    return f"tool/{iteration}/{index}/{name}"


def tool_span(name: str) -> str:
    """The name of the span of one call of the tool `name` (section 2.7)."""
    return f"{SPAN_TOOL} {name}"


@dataclass(frozen=True, slots=True)
class Allow:
    """The call may run."""


@dataclass(frozen=True, slots=True)
class Deny:
    """The call must not run; the model reads the reason after `DENIED_PREFIX`."""

    reason: str


@dataclass(frozen=True, slots=True)
class NeedApproval:
    """Nothing of this turn may run until somebody approves the marker."""

    marker: str
    reason: str = ""


Verdict: TypeAlias = Allow | Deny | NeedApproval


@dataclass(frozen=True, slots=True)
class CallContext:
    """What the gate is told beside the call (section 2.5).

    `tainted`: the context holds a tool message, whoever put it there; `iter` is the number that the turn's steps carry.
    """

    tainted: bool
    iter: int


class Provider(Protocol):
    """A model. `stream` yields the chunks of one reply and raises where the model fails."""

    model: str

    def stream(
        self, messages: Sequence[Message], tools: Sequence[ToolDefinition], options: Mapping[str, Any]
    ) -> AsyncIterator[Chunk]:
        """Ask the model once. `options` is the agent's `call_options`, empty where none were given."""
        ...


class Tools(Protocol):
    """A registry of tools."""

    def definitions(self) -> Sequence[ToolDefinition]:
        """What the model is told of, with every model call."""
        ...

    async def call(self, call: ToolCall) -> ToolResult:
        """Run one call. A tool's own failure comes back as a result with `is_error`; it is never raised."""
        ...


class Gate(Protocol):
    """Policy: asked about every call of a turn before any of them runs."""

    async def decide(self, call: ToolCall, context: CallContext) -> Verdict:
        """The verdict on one call."""
        ...


class StepRunner(Protocol):
    """What makes a loop durable: every model call and every tool call is a named step of it (section 2.6)."""

    async def run(self, name: str, kind: StepKind, work: Callable[[], Awaitable[T]]) -> T:
        """Do the work and return its value, or return the value recorded for `name` without doing it.

        An error of the runner itself (a refused replay, say) is raised and ends the run.
        """
        ...


class Direct:
    """The step runner that just does the work."""

    async def run(self, name: str, kind: StepKind, work: Callable[[], Awaitable[T]]) -> T:  # noqa: ARG002 - the seam
        """Do the work."""
        return await work()


@dataclass(frozen=True, slots=True)
class Budget:
    """Ceilings for one run (section 2.4); None means no ceiling.

    `max_tokens` counts input and output of every model call, `max_tool_calls` the calls of every turn.
    """

    max_tokens: int | None = None
    max_tool_calls: int | None = None


EventKind: TypeAlias = Literal["text", "usage", "tool_call", "tool_result", "done", "error"]


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened in a run; `kind` tells which of the other fields are filled.

    `text`: a piece of a reply. `usage`: of that one model call. `tool_call`: the call, and its verdict where a gate
    gave one. `tool_result`: the call and its result. `done`: the run has its answer. `error`: the run ended without.
    """

    kind: EventKind
    iter: int
    text: str = ""
    call: ToolCall | None = None
    verdict: Verdict | None = None
    result: ToolResult | None = None
    usage: Usage | None = None
    error: BaseException | None = None


@dataclass(frozen=True, slots=True)
class Pending:
    """A call that waits for approval under `marker`."""

    call: ToolCall
    marker: str
    reason: str = ""


class LoopError(Exception):
    """A run that ended without an answer because of a rule of the loop.

    `message` is the last assistant message (None before the first), `transcript` and `usage` are those so far: what
    was paid for is not lost with the exception.
    """

    def __init__(
        self,
        text: str,
        *,
        message: Message | None = None,
        transcript: Sequence[Message] = (),
        usage: Usage | None = None,
    ) -> None:
        super().__init__(text)
        self.message = message
        self.transcript = tuple(transcript)
        self.usage = usage if usage is not None else Usage()


class MaxIterError(LoopError):
    """The iteration cap was reached before the model answered (section 2.2)."""

    def __init__(
        self,
        text: str = "the iteration cap was reached",
        *,
        message: Message | None = None,
        transcript: Sequence[Message] = (),
        usage: Usage | None = None,
    ) -> None:
        super().__init__(text, message=message, transcript=transcript, usage=usage)


class BudgetError(LoopError):
    """A budget would be, or was, passed (section 2.4).

    `resource` says which in any words, such as `tokens`; `used` and `limit` are counts of it.
    """

    def __init__(
        self,
        resource: str,
        used: int,
        limit: int,
        *,
        message: Message | None = None,
        transcript: Sequence[Message] = (),
        usage: Usage | None = None,
    ) -> None:
        super().__init__(
            f"{resource} budget: {used} against {limit}", message=message, transcript=transcript, usage=usage
        )
        self.resource = resource
        self.used = used
        self.limit = limit


class ApprovalError(LoopError):
    """Calls wait for approval; the transcript ends with the message that proposed them (section 2.5)."""

    def __init__(
        self,
        pending: Sequence[Pending],
        *,
        message: Message | None = None,
        transcript: Sequence[Message] = (),
        usage: Usage | None = None,
    ) -> None:
        markers = ", ".join(item.marker for item in pending)
        super().__init__(f"approval needed: {markers}", message=message, transcript=transcript, usage=usage)
        self.pending = tuple(pending)


@runtime_checkable
class Stream(Protocol):
    """One run."""

    def events(self) -> AsyncIterator[Event]:
        """The events of the run, in order; ends when the run does. Reading them is optional."""
        ...

    async def result(self) -> Message:
        """The answer. Raises what ended the run. Cancelling the task that awaits it cancels the run."""
        ...

    def transcript(self) -> Sequence[Message]:
        """The input, with the system message where one was added, and everything appended so far."""
        ...

    def usage(self) -> Usage:
        """The sum over every model call so far."""
        ...


@runtime_checkable
class Agent(Protocol):
    """What an implementation offers; one agent may be invoked many times, also at once."""

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
        """Take the seams and the limits; work starts with `invoke` at the earliest."""
        ...

    def invoke(self, messages: Sequence[Message]) -> Stream:
        """Start one run over the messages, which stay untouched.

        An input whose last turn proposes calls that nobody has answered is resumed: they are dispatched before the
        model is asked. Where the gate wants approval for one, the agent's `approvals` hold the markers that somebody
        has approved (section 2.5).
        """
        ...
