"""An observation: what the kit saw of a loop in one scenario, from its own side, as plain data.

It holds the fakes' log, the spans, and how each invocation ended. Checks are pure functions of it; it can be saved,
sent through a pipe and judged later.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import Field

from looptck.contract.ag03 import Message, ToolCall, ToolResult, Usage
from looptck.wire import json_of
from looptck_fakes import GateAsked, ModelAnswered, ModelAsked, StepEnded, StepStarted, ToolEnded, ToolStarted

AnyRecord = Annotated[
    ModelAsked | ModelAnswered | ToolStarted | ToolEnded | GateAsked | StepStarted | StepEnded,
    Field(discriminator="type"),
]


@dataclass(frozen=True, slots=True)
class PendingSeen:
    """An element of `ApprovalError.pending`."""

    call: ToolCall
    marker: str
    reason: str


@dataclass(frozen=True, slots=True)
class ErrorSeen:
    """An exception that ended an invocation.

    `scripted` tells how it relates to the scenario's own error: the same object, an exception that has it in its chain
    of causes, or neither. `text` names the type. The other fields are those of the contract's errors, where it is one.
    """

    kind: Literal["max_iter", "budget", "approval", "script_exhausted", "other"]
    text: str
    scripted: Literal["same", "cause", "no"] = "no"
    resource: str | None = None
    used: int | None = None
    limit: int | None = None
    pending: tuple[PendingSeen, ...] = ()
    message: Message | None = None
    transcript: tuple[Message, ...] | None = None
    usage: Usage | None = None


@dataclass(frozen=True, slots=True)
class EventSeen:
    """An event that was read; `verdict` and `error` by their kind."""

    kind: str
    iter: int
    text: str = ""
    call: ToolCall | None = None
    verdict: str | None = None
    result: ToolResult | None = None
    usage: Usage | None = None
    error: str | None = None


Status = Literal["answered", "failed", "cancelled", "unfinished", "timeout", "no_interface", "stopped"]


@dataclass(frozen=True, slots=True)
class InvocationSeen:
    """How one invocation went.

    `began` and `ended` are places in the log. `unfinished`: nothing more could happen and there was no result.
    `timeout`: the real-time limit passed. `no_interface`: the loop lacks a method; `problems` says which, and lists
    whatever else was odd about the values that the loop gave back. `stopped`: the scenario stopped it, and what it gave
    back, if anything, is left out.
    """

    status: Status
    began: int
    ended: int
    input: tuple[Message, ...]
    message: Message | None = None
    error: ErrorSeen | None = None
    transcript: tuple[Message, ...] | None = None
    usage: Usage | None = None
    events: tuple[EventSeen, ...] = ()
    events_ended: bool = False
    input_untouched: bool = True
    again: str | None = None
    in_flight_at_end: int = 0
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SpanSeen:
    """A span that the loop started. Spans are numbered as they start; `parent` is empty at a root.

    `began` and `finished` are places in the log, the number of records before them; None where that is not known, or
    not yet. They make no difference between two observations: where a thread stood meanwhile is chance.
    """

    id: str
    parent: str
    name: str
    kind: str
    attributes: dict[str, Any]
    status: str
    ended: bool
    began: int | None = field(default=None, compare=False)
    finished: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Observation:
    """Everything seen in one scenario.

    `levels` are the numbers of tools in flight each time nothing more could happen, `http` the request bodies that the
    model server was sent, `leftovers` the tasks still alive when all was over.
    """

    scenario: str
    records: tuple[AnyRecord, ...] = ()
    invocations: tuple[InvocationSeen, ...] = ()
    spans: tuple[SpanSeen, ...] = ()
    levels: tuple[int, ...] = ()
    http: tuple[dict[str, Any], ...] = ()
    leftovers: tuple[str, ...] = ()
    settled_by: Literal["certain", "threads", "window"] = "certain"
    died: str | None = None
    """Set where there is no observation: how the process that should have made it ended."""
    blame: Literal["loop", "limit", "target", "kit"] = "loop"
    output: str = field(default="", compare=False)


to_json, from_json = json_of(Observation)
