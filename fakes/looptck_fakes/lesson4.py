"""Fakes for the profile lesson4: a scripted model, a registry with decided outcomes, a tracer that keeps its spans.

>>> model = FakeModel([tool_call("search", {"q": "a"}), "done"])
>>> registry = FakeRegistry({"search": "found", "refund": Denied("not allowed")})
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from looptck.contract.lesson4 import Completion, FatalToolError, MessageDict, ToolCall, ToolError, ToolResult
from looptck_fakes.provider import ScriptExhaustedError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Denied", "FakeModel", "FakeRegistry", "FakeSpan", "FakeTracer", "Outcome", "Reply", "tool_call"]

Reply: TypeAlias = Completion | str | ToolCall | Sequence[ToolCall] | Exception
"""A scripted turn: a completion as it is, a text, one call, several calls, or an error that the model raises."""


def tool_call(name: str, arguments: Mapping[str, Any] | None = None, *, id: str = "") -> ToolCall:  # noqa: A002 - a field
    """A call for a script; the model numbers those without an id."""
    return ToolCall(id, name, arguments if arguments is not None else {})


MOST_BEYOND = 100
"""Calls beyond its script that a model still records."""


class FakeModel:
    """A `Model` that replies with its script and keeps what it was sent, as snapshots, in `calls`.

    Each entry of `calls` is a dictionary of `messages`, `tools`, `max_output_tokens` and `temperature`. Asked beyond
    the script it records the call and raises `ScriptExhaustedError`; past `MOST_BEYOND` such calls it only raises, so
    that somebody who asks for ever does not fill the memory.
    """

    def __init__(self, replies: Sequence[Reply]) -> None:
        taken = {call.id for reply in replies for call in _calls(reply)}
        numbers = (number for number in count(1) if f"call_{number}" not in taken)
        self._replies = [_completion(reply, numbers) for reply in replies]
        self.calls: list[dict[str, Any]] = []

    @property
    def call_count(self) -> int:
        """How often the model was asked."""
        return len(self.calls)

    def complete(
        self,
        messages: Sequence[MessageDict],
        tools: Sequence[Mapping[str, Any]] | None = None,
        max_output_tokens: int | None = None,
        temperature: float | None = None,
    ) -> Completion:
        """The next reply of the script."""
        place = len(self.calls)
        if place < len(self._replies) + MOST_BEYOND:
            self.calls.append(
                {
                    "messages": copy.deepcopy(list(messages)),
                    "tools": copy.deepcopy(tools),
                    "max_output_tokens": max_output_tokens,
                    "temperature": temperature,
                }
            )
        if place >= len(self._replies):
            msg = f"the script has no reply for model call {place + 1}"
            raise ScriptExhaustedError(msg)
        reply = self._replies[place]
        if isinstance(reply, Exception):
            raise reply
        return reply


@dataclass(frozen=True, slots=True)
class Denied:
    """An outcome: the registry does not let the call through."""

    reason: str = "denied"


Outcome: TypeAlias = str | Denied | ToolError | FatalToolError | Callable[[ToolCall], "Outcome"]


class FakeRegistry:
    """A `Registry` whose outcomes come from a table by tool name, and that keeps what it was asked to dispatch.

    A string is an answer, `Denied` and `ToolError` become results that are not ok, `FatalToolError` is raised, and a
    function is asked with the call. An unknown tool is a result that is not ok. An empty table has no schemas.
    """

    def __init__(self, tools: Mapping[str, Outcome]) -> None:
        self._tools = dict(tools)
        self.dispatched: list[ToolCall] = []

    def schemas(self) -> list[dict[str, Any]]:
        """A bare schema for each tool of the table."""
        return [{"name": name, "parameters": {"type": "object"}} for name in self._tools]

    def dispatch(self, call: ToolCall) -> ToolResult:
        """Record the call and give its outcome."""
        self.dispatched.append(replace(call, arguments=copy.deepcopy(dict(call.arguments))))
        outcome = self._tools.get(call.name, ToolError(f"unknown tool {call.name}"))
        while callable(outcome):
            outcome = outcome(call)
        if isinstance(outcome, FatalToolError):
            raise outcome
        if isinstance(outcome, Denied):
            return ToolResult(call.id, call.name, f"denied: {outcome.reason}", ok=False)
        if isinstance(outcome, ToolError):
            return ToolResult(call.id, call.name, f"error: {outcome}", ok=False)
        return ToolResult(call.id, call.name, outcome)


@dataclass(slots=True)
class FakeSpan:
    """A span that was opened: its name, its attributes, and whether it has ended."""

    name: str
    attributes: dict[str, Any] = field(default_factory=dict)
    ended: bool = False

    def set(self, **attributes: str | float | bool) -> None:
        """Set attributes."""
        self.attributes |= attributes

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.ended = True


class FakeTracer:
    """A `Tracer` that keeps its spans in the order they were opened."""

    def __init__(self) -> None:
        self.spans: list[FakeSpan] = []

    def span(self, name: str) -> FakeSpan:
        """Open a span; leaving its `with` block ends it, and nothing else does."""
        span = FakeSpan(name)
        self.spans.append(span)
        return span


def _calls(reply: Reply) -> Sequence[ToolCall]:
    if isinstance(reply, Completion):
        return reply.tool_calls
    if isinstance(reply, ToolCall):
        return (reply,)
    return () if isinstance(reply, str | Exception) else reply


def _completion(reply: Reply, numbers: Iterator[int]) -> Completion | Exception:
    if isinstance(reply, Exception):
        return reply
    if isinstance(reply, str):
        return Completion(reply)
    if isinstance(reply, ToolCall):
        reply = Completion(tool_calls=(reply,))
    if not isinstance(reply, Completion):
        reply = Completion(tool_calls=tuple(reply))
    calls = tuple(call if call.id else replace(call, id=f"call_{next(numbers)}") for call in reply.tool_calls)
    return replace(reply, tool_calls=calls)
