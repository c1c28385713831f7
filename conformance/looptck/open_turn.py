"""Which calls a transcript leaves open: those of its last turn that have no answer. Pure."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from looptck.contract.ag03 import Message, ToolCall


def open_turn(messages: Sequence[Message]) -> tuple[Message, tuple[int, ...]] | None:
    """The last assistant message where no tool message behind it answers some call, and the places of those calls.

    Each tool message answers one call: of two calls under one id with one answer the second is open. None where the
    transcript ends with anything but such a turn and tool messages.
    """
    answered: Counter[str | None] = Counter()
    for message in reversed(messages):
        if message.role != "tool":
            places = tuple(n for n, call in enumerate(message.tool_calls) if not _taken(answered, call.id))
            return (message, places) if places else None
        answered[message.tool_call_id] += 1
    return None


def open_calls(messages: Sequence[Message]) -> list[ToolCall]:
    """The calls that the last turn leaves open, see `open_turn`."""
    turn = open_turn(messages)
    return [] if turn is None else [turn[0].tool_calls[place] for place in turn[1]]


def _taken(answered: Counter[str | None], call_id: str) -> bool:
    answered[call_id] -= 1
    return answered[call_id] >= 0
