"""A run of the profile lesson4 as the rows of a worked example, and the remarks beside a failed check."""

from __future__ import annotations

from typing import TYPE_CHECKING

from looptck.contract.messages import Usage
from looptck.lesson4.evidence import answer, calls_as_written, dispatched, written
from looptck.report.row import BEYOND, Row, latest
from looptck_fakes import ScriptExhaustedError

if TYPE_CHECKING:
    from looptck.lesson4.evidence import Evidence


def rows(evidence: Evidence) -> list[Row]:
    """The runs of an observation, model call by model call."""
    return [row for place in range(len(evidence.observation.runs)) for row in _rows(evidence, place)]


def _rows(evidence: Evidence, place: int) -> list[Row]:
    label = f"run {place + 1}, " if len(evidence.observation.runs) > 1 else ""
    seen, replies = evidence.run(place), evidence.task(place).replies
    found, spent, rest = [Row(f"{label}start", "")], Usage(), list(seen.dispatched)
    for number, request in enumerate(seen.requests):
        row = Row(f"{label}step {number}", latest([message.role for message in request.messages]))
        if number < len(replies):
            reply = replies[number]
            spent += reply.usage.usage()
            row.model = ", ".join(written(reply.asks)) or repr(reply.text)
            row.usage = f"{spent.input_tokens} / {spent.output_tokens}"
            for ask, line in zip(reply.asks, dispatched(reply.asks), strict=True):
                if line in rest:
                    rest.remove(line)
                    row.did.append(answer(ask) if ask.outcome != "fatal" else f"runs {ask.id}: fatal")
        else:
            row.model = "nothing: beyond its script"
        found.append(row)
    shown = calls_as_written(evidence.scenario)
    found[-1].did += [f"also runs {shown.get(line, line)}" for line in rest]
    found[-1].did.append(f"ends: {evidence.ending(place)}")
    return found[1:] if not found[0].did else found


def remarks(evidence: Evidence) -> list[str]:
    """What helps to understand a failed check: what was raised, and what a run did not offer."""
    found = []
    for place, seen in enumerate(evidence.observation.runs):
        if seen.status == "raised":
            beyond = seen.raised.startswith(ScriptExhaustedError.__name__)
            found.append(f"run {place + 1} {BEYOND}" if beyond else f"run {place + 1} raised {seen.raised}")
        found += seen.problems
    return found
