"""What a chat completion request says, whatever its client's dialect. Pure; it takes any bytes and raises nothing."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, cast

from looptck.canonical import canonical
from looptck.contract.messages import Message, Role, ToolCall

_ROLES = {"developer": "system"}
"""Roles that are other names of one: newer models of the original server call the system prompt so."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A request: its messages in the contract's form, the names of its tools, and the whole body."""

    messages: tuple[Message, ...]
    tools: tuple[str, ...]
    body: dict[str, Any]

    @property
    def stream(self) -> bool:
        """Whether it asks for a stream."""
        return self.body.get("stream") is True


def read(raw: bytes) -> Asked | None:
    """The request, or None where it is none that a server of this kind would take."""
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    if not isinstance(body, dict) or not isinstance(body.get("model"), str):
        return None
    if not isinstance(body.get("messages"), list):
        return None
    return Asked(tuple(map(message_of, body["messages"])), tuple(_tools(body)), body)


def message_of(node: Any) -> Message:
    """A message. Absent, null and empty content are the same, and so are a text and its parts; other keys are free."""
    if not isinstance(node, dict):
        return Message(cast("Role", "(no message)"), json.dumps(node))
    role, answers = str(node.get("role")), node.get("tool_call_id")
    calls = tuple(_call(call) for call in _list(node.get("tool_calls")))
    text = content_text(node.get("content"))
    return Message(cast("Role", _ROLES.get(role, role)), text, calls, None if answers is None else str(answers))


def content_text(content: Any) -> str:
    """The text of a message's content; of parts that are no text, their JSON."""
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list):
        return json.dumps(content)
    return "".join(_part(part) for part in content)


def is_json(text: str) -> bool:
    """Whether arguments parse at all."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def comparable(message: Message) -> Message:
    """The message with the arguments of its calls in the one form."""
    calls = tuple(ToolCall(call.id, call.name, canonical(call.arguments)) for call in message.tool_calls)
    return Message(message.role, message.content, calls, message.tool_call_id)


def _part(part: Any) -> str:
    if isinstance(part, str):
        return part
    text = part.get("text", part.get("refusal")) if isinstance(part, dict) else None
    return text if isinstance(text, str) else json.dumps(part)


def _call(node: Any) -> ToolCall:
    call = node if isinstance(node, dict) else {}
    function = call.get("function")
    known = function if isinstance(function, dict) else {}
    arguments = known.get("arguments")
    text = arguments if isinstance(arguments, str) else json.dumps({} if arguments is None else arguments)
    return ToolCall(str(call.get("id")), str(known.get("name")), canonical(text))


def _tools(body: dict[str, Any]) -> list[str]:
    """The names of the tools, those of the older field `functions` too."""
    nodes = [tool.get("function", tool) for tool in _list(body.get("tools")) if isinstance(tool, dict)]
    nodes += _list(body.get("functions"))
    return [str(node.get("name")) for node in nodes if isinstance(node, dict)]


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
