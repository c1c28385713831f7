"""What the messages of a run say and what they may be: open turns, answers of calls, what is left of a reply. Pure."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

from looptck.contract.ag03 import DENIED_PREFIX, Message
from looptck.oracle.predicted import Line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from looptck.oracle.predicted import Planned
    from looptck.scenario import Call, Turn


def numbers(lines: Sequence[Line], *first: int) -> tuple[int, ...]:
    """Numbers of an iteration: those given, and the ordinals among the turns or assistant messages of the input."""
    turns = sum(bool(line.message.tool_calls) for line in lines)
    return tuple(dict.fromkeys((*first, turns, sum(line.message.role == "assistant" for line in lines))))


def open_turn(lines: Sequence[Line]) -> tuple[Message, tuple[int, ...]] | None:
    """The last turn where calls of it have no answer: its message, and the places of those calls."""
    answered: Counter[str | None] = Counter()
    for line in reversed(lines):
        message = line.message
        if message.role == "tool":
            answered[message.tool_call_id] += 1
        elif message.role == "assistant":
            places = []
            for index, call in enumerate(message.tool_calls):
                answered[call.id] -= 1
                if answered[call.id] < 0:
                    places.append(index)
            return (message, tuple(places)) if places else None
        else:
            return None
    return None


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


def parts(turn: Turn) -> Iterable[Message]:
    """What may have been kept of a reply that failed."""
    whole = turn.message()
    return () if turn.error_at == "before" else (whole, Message("assistant", whole.content))
