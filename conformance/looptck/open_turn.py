"""Which calls a transcript leaves open: those of its last turn that have no answer. Pure."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from looptck.contract.ag03 import Message, ToolCall


def open_calls(messages: Sequence[Message]) -> list[ToolCall]:
    """The calls of the last assistant message that no tool message behind it answers.

    Each tool message answers one call: of two calls under one id with one answer the second is open. None are open
    where the transcript ends with anything but such a turn and tool messages.
    """
    answered: Counter[str | None] = Counter()
    for message in reversed(messages):
        if message.role != "tool":
            return [call for call in message.tool_calls if not _taken(answered, call.id)]
        answered[message.tool_call_id] += 1
    return []


def _taken(answered: Counter[str | None], call_id: str) -> bool:
    answered[call_id] -= 1
    return answered[call_id] >= 0
