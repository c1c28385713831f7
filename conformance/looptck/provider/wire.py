"""The chat completions format, without I/O: what is sent for a request, and what the answer's JSON says in chunks.

Strict where silence would falsify a run (a fragment without an index, two ids for one call, counts that are not whole
numbers), indifferent to fields that it does not know.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from looptck.contract.messages import CallChunk, TextChunk, Usage, UsageChunk
from looptck.provider.errors import ProviderError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from looptck.contract.messages import Chunk, Message, ToolCall, ToolDefinition

T = TypeVar("T")

RESERVED = frozenset({"model", "messages", "tools", "stream", "stream_options"})
"""Fields of a request that call options may not set: the first three are the loop's words, the others ours."""
DONE = "[DONE]"
"""The data of the event that ends a stream."""


def request_body(
    model: str, messages: Sequence[Message], tools: Sequence[ToolDefinition], options: Mapping[str, Any]
) -> bytes:
    """The body of a streamed request, as JSON in ASCII (so that text with lone surrogates survives).

    `tools` is left out where there are none: servers refuse an empty list. Raises `ValueError` for an option that is
    reserved, and `TypeError` or `ValueError` for one that has no JSON form.
    """
    if taken := sorted(RESERVED & options.keys()):
        raise ValueError(f"call options may not set {', '.join(taken)}")
    body: dict[str, Any] = {
        **options,
        "model": model,
        "messages": [_message(message) for message in messages],
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if tools:
        body["tools"] = [_tool(tool) for tool in tools]
    return json.dumps(body, default=_as_dict, allow_nan=False).encode("ascii")


def _message(message: Message) -> dict[str, Any]:
    wire: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        wire["content"] = message.content or None
        wire["tool_calls"] = [_call(call) for call in message.tool_calls]
    if message.tool_call_id is not None:
        wire["tool_call_id"] = message.tool_call_id
    return wire


def _call(call: ToolCall) -> dict[str, Any]:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


def _tool(tool: ToolDefinition) -> dict[str, Any]:
    parameters = tool.parameters or {"type": "object", "properties": {}}
    function = {"name": tool.name, "description": tool.description, "parameters": parameters}
    return {"type": "function", "function": function}


def _as_dict(value: object) -> dict[Any, Any]:
    """What json does not know: schemas and options may be read-only mappings."""
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


class ReplyReader:
    """Reads one answer, event by event of a stream, or as the one object of a server that does not stream.

    Of a stream, `done` is true once nothing more may come, `complete` once it has said that it ends: with `[DONE]`, or
    at least with a finish reason.
    """

    def __init__(self) -> None:
        self.done = False
        self.complete = False
        self._named: dict[tuple[int, str], str] = {}

    def event(self, data: str) -> Iterator[Chunk]:
        """The chunks of the data of one server-sent event. Raises `ProviderError`."""
        if data.strip() == DONE:
            self.done = self.complete = True
            return
        node = parse(data)
        for choice in _choices(node):
            yield from self._said(_field(choice, "delta", dict, {}))
            self.complete = self.complete or bool(_field(choice, "finish_reason", str, ""))
        yield from _usage(node)

    def whole(self, text: str) -> Iterator[Chunk]:
        """The chunks of a completion that came as one object. Raises `ProviderError`."""
        node = parse(text)
        choices = _choices(node)
        if not choices:
            raise ProviderError("a completion without a choice")
        yield from self._said(_field(choices[0], "message", dict, {}), by_place=True)
        yield from _usage(node)

    def _said(self, node: dict[str, Any], *, by_place: bool = False) -> Iterator[Chunk]:
        if text := _field(node, "content", str, ""):
            yield TextChunk(text)
        for place, call in enumerate(_objects(node, "tool_calls")):
            index = place if by_place else _field(call, "index", int, -1)
            if index < 0:
                raise ProviderError(f"a fragment of a tool call without its index: {json.dumps(call)}")
            function = _field(call, "function", dict, {})
            yield CallChunk(
                index,
                id=self._once(index, "id", _field(call, "id", str, "")),
                name=self._once(index, "name", _field(function, "name", str, "")),
                arguments=_field(function, "arguments", str, ""),
            )

    def _once(self, index: int, what: str, value: str) -> str:
        """The value where it is new, nothing where it repeats: some servers send ids and names with every fragment."""
        known = self._named.get((index, what), "")
        if not value or value == known:
            return ""
        if known:
            raise ProviderError(f"two {what}s for the call at index {index}: {known!r} and {value!r}")
        self._named[index, what] = value
        return value


def parse(text: str) -> dict[str, Any]:
    """One JSON object of an answer. Raises `ProviderError` where it is none, or is an error object."""
    try:
        node = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ProviderError(f"not JSON: {text!r}") from error
    if not isinstance(node, dict):
        raise ProviderError(f"not a JSON object: {text!r}")
    if node.get("error"):
        raise ProviderError(f"the model server reported an error: {error_text(text)}")
    return node


def error_text(body: str) -> str:
    """The message inside the body of an error answer, or the body where it has none of the usual shapes."""
    try:
        node = json.loads(body)
    except (ValueError, RecursionError):
        return body
    for key in ("error", "message", "detail"):
        node = node.get(key, node) if isinstance(node, dict) else node
    return node if isinstance(node, str) else body


def _choices(node: dict[str, Any]) -> list[dict[str, Any]]:
    """The first choice, in a list that is empty where the object has none (as the one with the usage has)."""
    if "choices" not in node:
        raise ProviderError(f"not a part of a chat completion: {json.dumps(node)}")
    return [choice for choice in _objects(node, "choices") if not choice.get("index")]


def _objects(node: dict[str, Any], key: str) -> list[dict[str, Any]]:
    values = _field(node, key, list, [])
    if not all(isinstance(value, dict) for value in values):
        raise ProviderError(f"{key} is {json.dumps(values)}, which is not a list of objects")
    return values


def _usage(node: dict[str, Any]) -> Iterator[UsageChunk]:
    usage = _field(node, "usage", dict, {})
    if usage:
        yield UsageChunk(Usage(_field(usage, "prompt_tokens", int, 0), _field(usage, "completion_tokens", int, 0)))


def _field(node: dict[str, Any], key: str, kind: type[T], default: T) -> T:
    """The value under `key`, or the default where it is missing or null."""
    value = node.get(key)
    if value is None:
        return default
    if type(value) is not kind:
        raise ProviderError(f"{key} is {json.dumps(value)}, which is not of type {kind.__name__}")
    return value
