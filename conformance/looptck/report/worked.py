"""A run as the rows of a worked example, the way section 3 of the specification tells one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from looptck.contract.ag03 import Usage
from looptck.suite.evidence import call_line, tokens
from looptck_fakes import GateAsked, ModelAnswered, ModelAsked, StepEnded, ToolEnded, ToolStarted

if TYPE_CHECKING:
    from looptck.contract.ag03 import Message
    from looptck.suite.evidence import Evidence

_SHORT = 60
_LAST = 4


@dataclass(slots=True)
class Row:
    """One model call and what the loop did with the reply; the first row of a run is its start, before any."""

    step: str
    before: str
    model: str = ""
    did: list[str] = field(default_factory=list)
    usage: str = ""


def rows(evidence: Evidence) -> list[Row]:
    """The run of an observation, invocation by invocation."""
    return [row for place in range(len(evidence.observation.invocations)) for row in _rows(evidence, place)]


def _rows(evidence: Evidence, place: int) -> list[Row]:
    many = len(evidence.observation.invocations) > 1
    label = f"run {place + 1}, " if many else ""
    seen = evidence.invocation(place)
    found = [Row(f"{label}start", _brief(seen.input))]
    spent, served, starts = Usage(), 0, {}
    following = evidence.observation.invocations[place + 1 :]
    last = following[0].began if following and following[0].began >= seen.ended else len(evidence.observation.records)
    for record in evidence.observation.records[seen.began : last]:
        if isinstance(record, ModelAsked):
            if record.script != str(place):
                continue
            served += 1
            turns = evidence.asked(place).turns
            turn = turns[served - 1] if served <= len(turns) else None
            spent += turn.usage.usage() if turn is not None and turn.usage is not None else Usage()
            said = _reply(evidence, place, served - 1) if turn is not None else "nothing: beyond its script"
            found.append(Row(f"{label}model {served}", _brief(record.messages), said, usage=tokens(spent)))
        elif isinstance(record, ToolStarted):
            starts[record.run] = record.call
            found[-1].did.append(f"runs {record.call.id} {record.call.name}")
        elif isinstance(record, ToolEnded) and record.how != "returned" and record.run in starts:
            found[-1].did.append(f"{starts[record.run].id} {record.how}")
        elif isinstance(record, GateAsked):
            found[-1].did.append(f"gate about {record.call.id}: {record.verdict}")
        elif isinstance(record, StepEnded) and record.how in {"refused", "replayed"}:
            found[-1].did.append(f"step {record.how}")
        elif isinstance(record, ModelAnswered) and record.how != "whole":
            found[-1].did.append(f"reply ended: {record.how}")
    found[-1].did.append(f"ends: {evidence.ending(place)}")
    return [row for row in found if row.did or row.model] if not found[0].did else found


def _reply(evidence: Evidence, place: int, number: int) -> str:
    message = evidence.reply(number, place)
    parts = [repr(_clip(message.content))] if message.content or not message.tool_calls else []
    return ", ".join([*parts, *(_clip(call_line(call)) for call in message.tool_calls)])


def _brief(messages: tuple[Message, ...]) -> str:
    """Messages by role, calls and answers by id; of a long list the last ones."""
    parts = []
    for message in messages:
        ids = message.tool_call_id or ", ".join(call.id for call in message.tool_calls)
        parts.append(f"{message.role}({ids})" if ids else message.role)
    earlier = len(parts) - _LAST
    return ", ".join([f"{earlier} earlier", *parts[-_LAST:]] if earlier > 1 else parts)


def _clip(text: str) -> str:
    return text if len(text) <= _SHORT else text[: _SHORT - 1] + "…"
