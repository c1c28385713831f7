"""The one log that every fake writes: what a loop asked of its seams, in the order it asked.

Records are frozen values that carry their place `at` in the log, and a `type` that tells them apart as plain data.
Lists that a loop hands over are snapshotted, since a loop may go on changing them. Adding is safe from any thread.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping  # whoever turns records into JSON resolves the annotations
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

from looptck.contract.messages import Message, ToolCall, ToolDefinition, ToolResult

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True)
class ModelAsked:
    """The provider was asked; `beyond_script` tells that the script had no reply left.

    `number` counts the requests to this log from 0; `script` names the script the reply is taken from.
    """

    at: int
    number: int
    script: str
    messages: tuple[Message, ...]
    tools: tuple[ToolDefinition, ...]
    options: Mapping[str, Any]
    beyond_script: bool = False
    type: Literal["model_asked"] = "model_asked"


@dataclass(frozen=True, slots=True)
class ModelAnswered:
    """The reply of request `number` ended: whole, with the scripted error, or closed early by the loop."""

    at: int
    number: int
    how: Literal["whole", "error", "closed"]
    type: Literal["model_answered"] = "model_answered"


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """A tool began to run; `run` counts the tool runs of this log from 0, `context` is what the probe saw."""

    at: int
    run: int
    call: ToolCall
    context: str | None = None
    type: Literal["tool_started"] = "tool_started"


@dataclass(frozen=True, slots=True)
class ToolEnded:
    """Tool run `run` is over."""

    at: int
    run: int
    how: Literal["returned", "raised", "cancelled"]
    result: ToolResult | None = None
    type: Literal["tool_ended"] = "tool_ended"


@dataclass(frozen=True, slots=True)
class GateAsked:
    """The gate was asked about a call and gave its verdict."""

    at: int
    call: ToolCall
    tainted: bool
    iter: int
    verdict: Literal["allow", "deny", "need_approval", "raised"]
    type: Literal["gate_asked"] = "gate_asked"


@dataclass(frozen=True, slots=True)
class StepStarted:
    """The runner was given a step; `step` counts the steps of this log from 0."""

    at: int
    step: int
    name: str
    kind: str
    type: Literal["step_started"] = "step_started"


@dataclass(frozen=True, slots=True)
class StepEnded:
    """Step `step` is over: done, given back from the journal, refused by the runner, or ended by its work's error.

    Where a run was stopped: `lost` if its work was done and not recorded, `stopped` if it never began.
    """

    at: int
    step: int
    how: Literal["done", "replayed", "refused", "failed", "cancelled", "lost", "stopped"]
    type: Literal["step_ended"] = "step_ended"


Record: TypeAlias = ModelAsked | ModelAnswered | ToolStarted | ToolEnded | GateAsked | StepStarted | StepEnded
R = TypeVar("R")


MOST_RECORDS = 100_000
"""Records that one log holds at most; a whole run makes a few dozen."""


class TooManyRecordsError(RuntimeError):
    """A log is full, since whoever is recorded goes on without an end."""


class Recorder:
    """An append-only log, shared by the fakes of one run.

    `probe` is called when a tool starts, in the tool's own context; what it returns is kept with the record (a kit can
    note the current span with it).

        >>> from looptck_fakes import RecordingTools, ScriptedProvider
        >>> log = Recorder()
        >>> tools, provider = RecordingTools({"add": "3"}, recorder=log), ScriptedProvider([], recorder=log)
        >>> _ = provider.stream([], tools.definitions(), {})
        >>> [(record.at, record.type) for record in log.records]
        [(0, 'model_asked')]
    """

    def __init__(self, probe: Callable[[], str | None] | None = None) -> None:
        self.probe = probe or (lambda: None)
        self._records: list[Any] = []
        self._lock = threading.Lock()
        self._numbers = {"model": 0, "tool": 0, "step": 0}

    def begin(self, kind: Literal["model", "tool", "step"], make: Callable[[int, int], Any]) -> int:
        """Append `make(at, number)`; the number, which is that of this model request, tool run or step, from 0.

        Place and number are given together, so that records are numbered in their order whatever the threads do.
        Raises like `add`.
        """
        with self._lock:
            number = self._numbers[kind]
            self._append(lambda at: make(at, number))
            self._numbers[kind] += 1
        return number

    def add(self, make: Callable[[int], Any]) -> None:
        """Append `make(at)`, where `at` is the record's place in the log.

        Raises `TooManyRecordsError` at `MOST_RECORDS`: a loop that asks for ever must not fill the memory.
        """
        with self._lock:
            self._append(make)

    def _append(self, make: Callable[[int], Any]) -> None:
        if len(self._records) >= MOST_RECORDS:
            msg = f"more than {MOST_RECORDS} records: something asks for ever"
            raise TooManyRecordsError(msg)
        self._records.append(make(len(self._records)))

    @property
    def records(self) -> tuple[Any, ...]:
        """Everything so far, in order."""
        with self._lock:
            return tuple(self._records)

    def __len__(self) -> int:
        return len(self._records)

    def of(self, kind: type[R]) -> tuple[R, ...]:
        """The records of one type, in order."""
        return tuple(record for record in self.records if isinstance(record, kind))
