"""The words that every profile shares: messages, tool calls, results, usage, and the chunks of a streamed reply.

All of them are frozen values. Text is `str`, counts are whole tokens, and arguments stay the JSON text that the model
wrote: whether it parses is the business of the tool, not of the loop.
"""

from __future__ import annotations

from collections.abc import Mapping  # whoever resolves the annotations needs the name
from dataclasses import dataclass, field
from typing import Any, Literal, NoReturn, TypeAlias

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call that a model proposes (section 2.1, an element of C_t).

    `arguments` is the JSON text exactly as the model wrote it; it may be malformed.
    """

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool answered, as the model will read it; a tool's own failure has `is_error` (section 2.6)."""

    content: str
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Message:
    """One entry of a transcript.

    `tool_calls` is filled on an assistant message that proposes calls, `tool_call_id` on the tool message that answers
    one of them.
    """

    role: Role
    content: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that a model call spent, or several calls together. Added with `+`."""

    input_tokens: int = 0
    output_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        """The sum, field by field."""
        if not isinstance(other, Usage):
            return NotImplemented
        return Usage(self.input_tokens + other.input_tokens, self.output_tokens + other.output_tokens)

    @property
    def total(self) -> int:
        """Input and output tokens together: what a token budget is compared with (section 2.4)."""
        return self.input_tokens + self.output_tokens


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """A tool as the model is told of it. `parameters` is a JSON Schema object for the arguments."""

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TextChunk:
    """The next piece of the reply's text."""

    text: str


@dataclass(frozen=True, slots=True)
class CallChunk:
    """A fragment of the call at position `index` of the reply.

    Fragments of several calls may be interleaved. `id` and `name` arrive once, on any fragment, and are empty on the
    others; `arguments` is the next piece of the JSON text.
    """

    index: int
    id: str = ""
    name: str = ""
    arguments: str = ""


@dataclass(frozen=True, slots=True)
class UsageChunk:
    """The usage of this model call so far: a total, not an increment, so the last one of a reply counts."""

    usage: Usage


Chunk: TypeAlias = TextChunk | CallChunk | UsageChunk


class _PartialCall:
    """One call while its fragments arrive."""

    __slots__ = ("arguments", "id", "name")

    def __init__(self) -> None:
        self.id = ""
        self.name = ""
        self.arguments: list[str] = []


class Accumulator:
    """Folds the chunks of one reply into one assistant message and its usage.

    Calls come out in the order of their `index`, whatever the order in which their fragments arrived.
    """

    def __init__(self) -> None:
        self._text: list[str] = []
        self._calls: dict[int, _PartialCall] = {}
        self._usage = Usage()

    def add(self, chunk: Chunk) -> None:
        """Take the next chunk. Raises `TypeError` for anything that is not a chunk."""
        if isinstance(chunk, TextChunk):
            self._text.append(chunk.text)
        elif isinstance(chunk, CallChunk):
            call = self._calls.setdefault(chunk.index, _PartialCall())
            call.id = chunk.id or call.id
            call.name = chunk.name or call.name
            call.arguments.append(chunk.arguments)
        elif isinstance(chunk, UsageChunk):
            self._usage = chunk.usage
        else:
            self._refuse(chunk)

    def _refuse(self, chunk: object) -> NoReturn:
        msg = f"not a chunk of a reply: {chunk!r}"
        raise TypeError(msg)

    def message(self) -> Message:
        """The assistant message of what arrived so far."""
        calls = (self._calls[index] for index in sorted(self._calls))
        return Message(
            role="assistant",
            content="".join(self._text),
            tool_calls=tuple(ToolCall(call.id, call.name, "".join(call.arguments)) for call in calls),
        )

    def usage(self) -> Usage:
        """The last usage that was reported; zero where none was."""
        return self._usage
