"""The contract of the profile `lesson4`: the metered agent loop, synchronous, returning instead of raising.

A loop offers two classes side by side: `Agent`, whose `run` calls the model, dispatches its calls and stops for one of
six named reasons (a seventh is a planner's), and `Budget`, the meter. What they are given (a model, a registry, a
tracer) and what a run gives back (`Run`, `Step`) are protocols here; the words that pass between them are concrete.
Section names in the docstrings are the headings of the lesson.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol, TypeAlias, runtime_checkable

from looptck.contract.messages import Usage

__all__ = [
    "OUTPUT_FATAL",
    "OUTPUT_REPEATED",
    "OUTPUT_STEPS",
    "RUN_SPAN",
    "Agent",
    "Budget",
    "Completion",
    "FatalToolError",
    "MessageDict",
    "Model",
    "Registry",
    "Run",
    "Span",
    "Step",
    "Stop",
    "ToolCall",
    "ToolError",
    "ToolResult",
    "Tracer",
    "Usage",
]

MessageDict: TypeAlias = dict[str, Any]
"""A message as it is sent: `role` and `content`; `tool_calls` on a proposing turn; `tool_call_id` and `name` on a
tool's answer."""

RUN_SPAN = "agent.run"
"""The name of the span of a run. The lesson names only its attributes: `stop`, the word of the reason, and `steps`, the
number of steps of an answered run."""
OUTPUT_FATAL = "Stopped: the run hit an unrecoverable tool error."
"""The output of a run that a fatal tool error ended."""
OUTPUT_STEPS = "Stopped: reached the {steps}-step limit without an answer."
"""The output of a run that its step ceiling ended, with the ceiling."""
OUTPUT_REPEATED = "Stopped: repeated the same {tool} call {times} times without progress."
"""The output of a run that a repeated call ended, with the tool's name and how often it was asked for."""


class Stop(StrEnum):
    """Why a run ended; there is no unnamed way for it to end ("The loop, in full")."""

    ANSWERED = "answered"
    STEP_BUDGET = "step_budget_exhausted"
    TOKEN_BUDGET = "token_budget_exhausted"  # noqa: S105 - tokens of a model
    COST_BUDGET = "cost_budget_exhausted"
    REPEATED_CALL = "repeated_identical_call"
    TOOL_FATAL = "fatal_tool_error"
    NO_PROGRESS = "no_progress"
    """Reserved for a planner above the loop; the loop itself never stops for it."""


class ToolError(Exception):
    """A tool's own failure: the registry makes it a result that the model reads."""


class FatalToolError(Exception):
    """A failure that no answer of the model can mend: it leaves `dispatch` and ends the run."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call that the model asks for; the arguments are parsed already."""

    id: str
    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What became of a call: `ok` is false where it was denied, unknown, invalid or failed."""

    tool_call_id: str
    name: str
    content: str
    ok: bool = True

    def as_message(self) -> MessageDict:
        """The tool message that answers the call, matched to it by id."""
        return {"role": "tool", "tool_call_id": self.tool_call_id, "name": self.name, "content": self.content}


@dataclass(frozen=True, slots=True)
class Completion:
    """One reply of the model, and the tokens it took."""

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage = field(default_factory=Usage)

    @property
    def wants_tools(self) -> bool:
        """Whether the reply asks for tools; one that does not is the answer."""
        return bool(self.tool_calls)

    def as_message(self) -> MessageDict:
        """The assistant message of the reply, with its calls where it has any."""
        message: MessageDict = {"role": "assistant", "content": self.text}
        if self.tool_calls:
            message["tool_calls"] = [
                {"id": call.id, "name": call.name, "arguments": dict(call.arguments)} for call in self.tool_calls
            ]
        return message


class Model(Protocol):
    """A model that answers at once."""

    def complete(
        self,
        messages: Sequence[MessageDict],
        tools: Sequence[Mapping[str, Any]] | None = None,
        max_output_tokens: int | None = None,
        temperature: float | None = None,
    ) -> Completion:
        """The next reply. `tools` is None where the request has no tools: that is not the same as an empty list."""
        ...


class Registry(Protocol):
    """The tools of an agent."""

    def schemas(self) -> Sequence[Mapping[str, Any]]:
        """What the model is told of the tools; empty where there are none."""
        ...

    def dispatch(self, call: ToolCall) -> ToolResult:
        """Run one call. Failed, denied and unknown calls are results; only `FatalToolError` is raised."""
        ...


class Span(Protocol):
    """A span while it is open."""

    def set(self, **attributes: str | float | bool) -> None:
        """Set attributes."""
        ...


class Tracer(Protocol):
    """Where spans go."""

    def span(self, name: str) -> AbstractContextManager[Span]:
        """Open a span for the duration of a `with` block."""
        ...


@runtime_checkable
class Budget(Protocol):
    """The meter: four independent ceilings, and the prices that the fourth needs. Prices are per 1,000 tokens."""

    max_steps: int
    max_total_tokens: int | None
    max_cost: float | None
    repeat_limit: int
    price_per_1k_input: float
    price_per_1k_output: float

    def cost_of(self, input_tokens: int, output_tokens: int) -> float:
        """What so many tokens cost, in the currency of the prices."""
        ...


@runtime_checkable
class Step(Protocol):
    """One turn of the model and what its tools did."""

    index: int
    completion: Completion
    tool_results: list[ToolResult]

    @property
    def requested_names(self) -> list[str]:
        """What the model asked for, denied calls among it."""
        ...

    @property
    def succeeded_names(self) -> list[str]:
        """What ran and came back well."""
        ...

    @property
    def blocked_names(self) -> list[str]:
        """What was asked for and denied, invalid or failed."""
        ...


@runtime_checkable
class Run(Protocol):
    """A finished run. `ok` is true only where it was answered; look at it before using `output`."""

    output: str
    stop: Stop
    steps: Sequence[Step]
    messages: Sequence[MessageDict]
    input_tokens: int
    output_tokens: int
    cost: float

    @property
    def ok(self) -> bool:
        """Whether `stop` is `Stop.ANSWERED`."""
        ...

    @property
    def step_count(self) -> int:
        """The number of steps."""
        ...

    def requested_tools(self) -> list[str]:
        """The requested names of all steps, which answer whether the model tried."""
        ...

    def trajectory(self) -> list[str]:
        """The succeeded names of all steps, which answer whether it happened."""
        ...

    def blocked_tools(self) -> list[str]:
        """The blocked names of all steps."""
        ...

    def used_tool(self, name: str) -> bool:
        """Whether the tool is in the trajectory."""
        ...

    def requested_tool(self, name: str) -> bool:
        """Whether the model asked for the tool."""
        ...


@runtime_checkable
class Agent(Protocol):
    """The loop. It owns nothing of a run: several runs of one agent share no state."""

    def __init__(
        self,
        model: Model,
        registry: Registry,
        budget: Budget | None = None,
        system: str | None = None,
        max_output_tokens: int | None = None,
        temperature: float | None = None,
        tracer: Tracer | None = None,
    ) -> None:
        """Take the model, the tools and the meter."""
        ...

    def run(self, task: str, history: Sequence[MessageDict] | None = None) -> Run:
        """Run the loop on a task. Always returns, whatever ceiling is hit; `history` stays untouched."""
        ...
