"""A run as the rows of a worked example, the way section 3 of the specification tells one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from looptck.contract.ag03 import Usage
from looptck.refused import refused, without_stream
from looptck.report.row import BEYOND, Row, latest
from looptck.suite.evidence import tokens, written_line
from looptck_fakes import GateAsked, ModelAnswered, ModelAsked, StepEnded, StepStarted, ToolEnded, ToolStarted

if TYPE_CHECKING:
    from looptck.contract.ag03 import Message
    from looptck.observation import AnyRecord, Observation
    from looptck.report.model import Verdict
    from looptck.scenario import Scenario, Turn
    from looptck.suite.evidence import Evidence

_SHORT = 60


def rows(evidence: Evidence) -> list[Row]:
    """The run of an observation, invocation by invocation."""
    return [row for place in range(len(evidence.observation.invocations)) for row in _rows(evidence, place)]


def _rows(evidence: Evidence, place: int) -> list[Row]:
    many = len(evidence.observation.invocations) > 1
    label = f"run {place + 1}, " if many else ""
    seen, turns = evidence.invocation(place), evidence.asked(place).turns
    found = [Row(f"{label}start", _brief(seen.input))]
    spent, served, deeds = Usage(), evidence.replies_kept(place), _Deeds(_calls_of_others(evidence, place))
    following = evidence.observation.invocations[place + 1 :]
    last = following[0].began if following and following[0].began >= seen.ended else len(evidence.observation.records)
    for record in evidence.observation.records[seen.began : last]:
        if not isinstance(record, ModelAsked):
            found[-1].did += deeds.of(record)
        elif record.script == str(place):
            turn = turns[served] if served < len(turns) else None
            served += 1
            spent += _spent(turn)
            found.append(Row(f"{label}model {served}", _brief(record.messages), _said(turn), usage=tokens(spent)))
    found[-1].did.append(f"ends: {evidence.ending(place)}")
    return [row for row in found if row.did or row.model] if not found[0].did else found


class _Deeds:
    """Puts into words what a loop did between two model calls. `others` are the ids of calls that are not its own."""

    def __init__(self, others: set[str]) -> None:
        self._others = others
        self._running: dict[int, str] = {}
        self._steps: dict[int, str] = {}

    def of(self, record: AnyRecord) -> list[str]:
        """The words for one record; none for what goes without saying."""
        words = []
        match record:
            case ToolStarted(call=call) | GateAsked(call=call) if call.id in self._others:
                pass
            case ToolStarted(run=run, call=call):
                self._running[run] = call.id
                words = [f"runs {call.id} {call.name}"]
            case ToolEnded(run=run, how="raised" | "cancelled" as how) if run in self._running:
                words = [f"{self._running[run]} {how}"]
            case GateAsked(call=call, verdict=verdict):
                words = [f"gate about {call.id}: {verdict}"]
            case StepStarted(step=step, name=name):
                self._steps[step] = name
            case StepEnded(step=step, how="refused" | "replayed" | "lost" as how):
                words = [f"step {self._steps.get(step, step)} {how}"]
            case ModelAnswered(how="error" | "closed" as how):
                words = [f"reply ended: {how}"]
        return words


def _calls_of_others(evidence: Evidence, place: int) -> set[str]:
    """Ids of the calls that belong to invocations at the same time, and not to this one."""
    seen = evidence.invocation(place)
    ids = [{call.id for call in asked.calls()} for asked in evidence.scenario.invocations]
    at_once = [
        number
        for number, other in enumerate(evidence.observation.invocations)
        if number != place and other.began < seen.ended and seen.began < other.ended
    ]
    return {call_id for number in at_once for call_id in ids[number]} - ids[place]


def _spent(turn: Turn | None) -> Usage:
    """What a reply that arrived whole has cost."""
    return turn.usage.usage() if turn is not None and turn.usage is not None and _failure(turn) is None else Usage()


def _said(turn: Turn | None) -> str:
    """What the model returned."""
    if turn is None:
        return "nothing: beyond its script"
    message, failure = turn.message(), _failure(turn)
    parts = [repr(_clip(message.content))] if message.content or not message.tool_calls else []
    reply = ", ".join([*parts, *(_clip(written_line(call)) for call in message.tool_calls)])
    return reply if failure is None else failure.format(reply)


def _failure(turn: Turn) -> str | None:
    """How a reply fails that the scenario lets fail, around the reply itself; None for one that arrives whole."""
    if turn.error is None:
        return None
    return {"before": "an error", "middle": "a part of {}, then an error", "after": "{}, then an error"}[turn.error_at]


def _brief(messages: tuple[Message, ...]) -> str:
    """Messages by role, calls and answers by id; of a long list the last ones."""
    parts = []
    for message in messages:
        ids = message.tool_call_id or ", ".join(call.id for call in message.tool_calls)
        parts.append(f"{message.role}({ids})" if ids else message.role)
    return latest(parts)


def _clip(text: str) -> str:
    return text if len(text) <= _SHORT else text[: _SHORT - 1] + "…"


def obstacle(scenario: Scenario, observation: Observation) -> tuple[Verdict, str] | None:
    """What keeps an observation from being judged although it was made."""
    if refused(scenario, observation):
        return None
    for seen in observation.invocations:
        if seen.status == "timeout":
            return "incomplete", "the real-time limit passed before the run ended"
        for said in without_stream(seen):
            return "fail", f"the loop could not be invoked: {said}"
    return None


def remarks(evidence: Evidence) -> list[str]:
    """What helps to understand a failed check: a run without a result, an unexpected error, what was not offered."""
    found = []
    for place, seen in enumerate(evidence.observation.invocations):
        if seen.status == "unfinished":
            found.append("nothing more could happen, and there was no result")
        elif seen.error is not None and seen.error.kind == "script_exhausted" and seen.status == "failed":
            found.append(f"run {place + 1} {BEYOND}")
        elif seen.error is not None and seen.error.kind == "other" and seen.status == "failed":
            found.append(f"run {place + 1} raised {seen.error.text}")
        found += seen.problems
    return found
