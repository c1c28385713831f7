"""What the messages of a run say and what they may be: answers of calls, what is left of a reply. Pure."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from looptck.contract.ag03 import DENIED_PREFIX, Message, ToolCall
from looptck.oracle.predicted import Line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from looptck.oracle.predicted import Planned
    from looptck.scenario import Call, Turn


def numbers(lines: Sequence[Line], *first: int) -> tuple[int, ...]:
    """Numbers of an iteration: those given, and the ordinals among the turns or assistant messages of the input."""
    turns = sum(bool(line.message.tool_calls) for line in lines)
    return tuple(dict.fromkeys((*first, turns, sum(line.message.role == "assistant" for line in lines))))


def unfit(call: Call) -> str:
    """What the arguments of a call are where they are no JSON object, in a few words; nothing where they are one."""
    if not call.arguments.strip():
        return "no text"
    try:
        return "" if isinstance(json.loads(call.arguments), dict) else "no object"
    except (ValueError, RecursionError):
        return "no JSON"


def answer(one: Planned) -> Line:
    """The tool message of a call: of a failed tool the text may stand behind a prefix; what a loop says is its own."""
    call = one.call
    if one.fate == "invalid":
        return Line(Message("tool", call.answer, tool_call_id=call.id), any_text=True)
    if one.fate == "denied":
        text = DENIED_PREFIX + call.reason
        return Line(Message("tool", text, tool_call_id=call.id), any_text=call.verdict == "raise")
    text = call.answer if call.raises is None else call.raises
    return Line(Message("tool", text, tool_call_id=call.id), loose=call.is_error or call.raises is not None)


def parts(turn: Turn | None) -> Iterable[Message]:
    """What may have been kept of a reply that failed: its text so far, with or without calls."""
    if turn is None or turn.error_at == "before":
        return (Message("assistant"),)
    text, calls = "".join(turn.text), arrived(turn)
    whole = tuple(call for call, proposed in zip(calls, turn.calls, strict=False) if call == proposed.call())
    return (Message("assistant", text, kept) for kept in dict.fromkeys(((), whole, calls)))


def arrived(turn: Turn) -> tuple[ToolCall, ...]:
    """The calls of a reply that failed behind its text, as far as they had come.

    In the middle that is half of all fragments, which come in rounds; the last round brings ids and names.
    """
    fragments, calls = turn.fragments, len(turn.calls)
    came = fragments * calls if turn.error_at == "after" else (fragments * calls + 1) // 2
    rounds, more = divmod(came, calls) if calls else (0, 0)
    found = []
    for place, call in enumerate(turn.calls):
        pieces = rounds + (place < more)
        whole = pieces == fragments
        if pieces:
            text = call.arguments[: len(call.arguments) * pieces // fragments]
            found.append(ToolCall(call.id if whole else "", call.name if whole else "", text))
    return tuple(found)
