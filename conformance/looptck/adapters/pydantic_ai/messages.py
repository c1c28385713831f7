"""Messages of the contract as messages of the framework, and back.

The framework groups: a `ModelRequest` holds everything between two replies, a `ModelResponse` one reply. The contract
has one message for each part. A tool message of the framework knows its tool's name and whether it is an error; where
the contract's text is all there is, an error is the framework's JSON object with the key `error`, which it makes for
models that have no other way to be told.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence

from pydantic_ai.messages import (
    BaseToolCallPart,
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    RetryFeedbackPart,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from looptck.contract.ag03 import Message, ToolCall

UNKNOWN_TOOL = "unknown"
"""The name of the tool that a tool message answers, where no call before it has its id."""


def to_framework(messages: Iterable[Message]) -> list[ModelMessage]:
    """A transcript as the framework's history: what stands between two replies is one request."""
    history: list[ModelMessage] = []
    names: dict[str | None, str] = {}
    for message in messages:
        if message.role == "assistant":
            names |= {call.id: call.name for call in message.tool_calls}
            history.append(ModelResponse(parts=parts_of(message)))
        elif history and isinstance(history[-1], ModelRequest):
            history[-1].parts = [*history[-1].parts, _part(message, names)]
        else:
            history.append(ModelRequest(parts=[_part(message, names)]))
    return history


def parts_of(message: Message) -> list[ModelResponsePart]:
    """The parts of a reply: its text, where there is any, and its calls."""
    parts: list[ModelResponsePart] = [TextPart(message.content)] if message.content else []
    return parts + [ToolCallPart(call.name, call.arguments, tool_call_id=call.id) for call in message.tool_calls]


def _part(message: Message, names: dict[str | None, str]) -> ModelRequestPart:
    if message.role == "system":
        return SystemPromptPart(message.content)
    if message.role == "tool":
        name = names.get(message.tool_call_id, UNKNOWN_TOOL)
        return ToolReturnPart(name, message.content, tool_call_id=message.tool_call_id or "")
    return UserPromptPart(message.content)


def from_framework(history: Iterable[ModelMessage]) -> list[Message]:
    """The framework's history as a transcript. Raises `TypeError` for a part that the contract has no word for."""
    return [message for item in history for message in _messages(item)]


def _messages(item: ModelMessage) -> Iterator[Message]:
    if isinstance(item, ModelResponse):
        yield reply(item)
    else:
        for part in item.parts:
            yield _message(part)


def _message(part: ModelRequestPart) -> Message:
    if isinstance(part, SystemPromptPart):
        return Message("system", part.content)
    if isinstance(part, UserPromptPart):
        return Message("user", _text(part.content))
    if isinstance(part, ToolReturnPart):
        return Message("tool", part.model_response_str(), tool_call_id=part.tool_call_id)
    if isinstance(part, RetryFeedbackPart):  # the framework's own words, in the voice in which the model reads them
        text = part.content if isinstance(part.content, str) else json.dumps(part.content, default=str)
        return Message("system" if part.retry.cause == "no_output" else "user", text)
    raise TypeError(f"the contract has no message for a {part.part_kind} part")


def _text(content: str | Sequence[object]) -> str:
    if isinstance(content, str):
        return content
    pieces = [item for item in content if isinstance(item, str)]
    if len(pieces) < len(content):
        raise TypeError("the contract has no message for a prompt that is not text")
    return "\n\n".join(pieces)


def reply(response: ModelResponse) -> Message:
    """One reply as the contract's assistant message. Raises `TypeError` for parts beside text and calls."""
    strange = [part.part_kind for part in response.parts if not isinstance(part, TextPart | ToolCallPart)]
    if strange:
        raise TypeError(f"the contract has no message for a {strange[0]} part")
    text = "".join(part.content for part in response.parts if isinstance(part, TextPart))
    return Message("assistant", text, tuple(tool_call(part) for part in response.tool_calls))


def tool_call(part: BaseToolCallPart) -> ToolCall:
    """A call; its arguments stay the model's text where the framework has kept it."""
    arguments = part.args if isinstance(part.args, str) else part.args_as_json_str()
    return ToolCall(part.tool_call_id, part.tool_name, arguments)


def open_calls(messages: Sequence[Message]) -> list[str]:
    """Ids of the calls of the last reply that no message after it answers, in call order."""
    answered: set[str | None] = set()
    for message in reversed(messages):
        if message.role == "assistant":
            return [call.id for call in message.tool_calls if call.id not in answered]
        answered.add(message.tool_call_id)
    return []
