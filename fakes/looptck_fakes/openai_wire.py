"""How a scripted reply looks on the wire of an OpenAI-compatible server: the events of a stream, or one object."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from looptck.contract.messages import CallChunk, TextChunk, Usage, UsageChunk
from looptck_fakes.turns import Turn

DONE = b"data: [DONE]\n\n"
"""The event that ends a stream."""


@dataclass(frozen=True, slots=True)
class Head:
    """What every event of one answer repeats: its id, the model, and whether the request asked for usage."""

    id: str
    model: str
    include_usage: bool = False

    def node(self, kind: str, choices: list[dict[str, Any]]) -> dict[str, Any]:
        """The object around the choices."""
        return {"id": self.id, "object": kind, "created": 0, "model": self.model, "choices": choices}

    def part(self, delta: dict[str, Any] | None, finish_reason: str | None = None) -> dict[str, Any]:
        """One part of a streamed answer; without a delta its choices are empty."""
        choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish_reason}]
        node = self.node("chat.completion.chunk", choices)
        return {**node, "usage": None} if self.include_usage else node


def stream_events(turn: Turn, head: Head) -> Iterator[bytes]:
    """The server-sent events of a turn, `DONE` at the end.

    First the role, then text, fragments of calls, the finish reason and, where it was asked for, the usage. A turn
    with an error in the middle or after breaks off there with an event that holds the error, and without `DONE`.
    """
    for node in _nodes(turn, head):
        yield sse(node)
        if "error" in node:
            return
    yield DONE


def _nodes(turn: Turn, head: Head) -> Iterator[dict[str, Any]]:
    yield head.part({"role": "assistant", "content": None if turn.calls else ""})
    for chunk in turn.text_chunks():
        yield from _node(chunk, head)
    fragments = turn.call_chunks()
    middle = (len(fragments) + 1) // 2
    for fragment in fragments[:middle]:
        yield from _node(fragment, head)
    if turn.error is not None and turn.error_at == "middle":
        yield error_body(str(turn.error), "server_error")
    for fragment in fragments[middle:]:
        yield from _node(fragment, head)
    yield head.part({}, _finish_reason(turn))
    if turn.usage is not None:
        yield from _node(UsageChunk(turn.usage), head)
    if turn.error is not None:
        yield error_body(str(turn.error), "server_error")


def _node(chunk: TextChunk | CallChunk | UsageChunk, head: Head) -> Iterator[dict[str, Any]]:
    if isinstance(chunk, TextChunk):
        yield head.part({"content": chunk.text})
    elif isinstance(chunk, CallChunk):
        yield head.part({"tool_calls": [_call_delta(chunk)]})
    elif head.include_usage:
        yield {**head.part(None), "usage": _usage(chunk.usage)}


def _call_delta(chunk: CallChunk) -> dict[str, Any]:
    """A fragment as the wire has it: id, type and name only where they are told."""
    function = {"name": chunk.name} if chunk.name else {}
    told = {"id": chunk.id, "type": "function"} if chunk.id else {}
    return {"index": chunk.index, **told, "function": {**function, "arguments": chunk.arguments}}


def completion(turn: Turn, head: Head) -> dict[str, Any]:
    """The turn as one object, for a request that asked for no stream. Usage is part of it where the turn has one."""
    message: dict[str, Any] = {"role": "assistant", "content": "".join(turn.text) or None}
    if turn.calls:
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in turn.calls
        ]
    choice = {"index": 0, "message": message, "finish_reason": _finish_reason(turn)}
    node = head.node("chat.completion", [choice])
    return node if turn.usage is None else {**node, "usage": _usage(turn.usage)}


def sse(node: dict[str, Any]) -> bytes:
    """One server-sent event."""
    return b"data: " + json.dumps(node).encode("ascii") + b"\n\n"


def error_body(message: str, kind: str) -> dict[str, Any]:
    """An error as such servers report it."""
    return {"error": {"message": message, "type": kind, "param": None, "code": None}}


def _finish_reason(turn: Turn) -> str:
    return "tool_calls" if turn.calls else "stop"


def _usage(usage: Usage) -> dict[str, int]:
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.total,
    }
