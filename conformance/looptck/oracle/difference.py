"""What an observation has that the prediction has not, or the other way round: which requirement it breaks. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from looptck.contract.ag03 import DENIED_PREFIX
from looptck.requirements import requirements
from looptck.suite.evidence import line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from looptck.contract.ag03 import Message
    from looptck.oracle.predicted import Line


ROUND = 10
"""How far a run has gone with a round."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference between what was predicted and what was seen.

    `requirement` is the id of the record that it breaks, `about` says in a few words where. `expected` and `seen` are
    JSON values. `at` tells how far the run went as predicted: of several predictions the one that held longest is told.
    """

    requirement: str
    about: str
    expected: Any
    seen: Any
    at: int = 0

    def resting_on(self, record: str | None) -> Difference:
        """The same difference in a run that rests on good sense: it is held against that record."""
        return self if record is None else replace(self, requirement=record)


def told_rather(profile: str, found: Sequence[Difference], than: Sequence[Difference] | None) -> bool:
    """Whether the differences from one prediction are told rather than those from another.

    Whoever reads the specification in a way that leaves nothing broken but good sense breaks no must. Else the
    prediction that held longest is told, and of two that held as long the one with fewer differences.
    """
    if than is None:
        return True
    levels = requirements(profile)
    one, other = (
        (all(levels[each.requirement].level == "should" for each in side), side[0].at, -len(side))
        for side in (found, than)
    )
    return one > other


def same_lines(expected: Sequence[Line], seen: Sequence[Message]) -> bool:
    """Whether these are the messages: of a failed tool's text any prefix is accepted."""
    return shown(expected) == shown_beside(expected, seen)


def shown(expected: Sequence[Line]) -> list[str]:
    """Predicted messages as lines."""
    return [line(one.message) for one in expected]


def shown_beside(expected: Sequence[Line], seen: Sequence[Message]) -> list[str]:
    """Messages as lines; a text that is accepted though it is not the predicted one is shown as that."""
    lines = []
    for place, message in enumerate(seen):
        one = expected[place] if place < len(expected) else None
        accepted = one is not None and (one.any_text or (one.loose and one.message.content in message.content))
        as_predicted = one is not None and accepted and message.role == one.message.role
        lines.append(line(replace(message, content=one.message.content) if one and as_predicted else message))
    return lines


def broken_by(expected: Sequence[Line], seen: Sequence[Message], otherwise: str) -> str:
    """The requirement that a list of messages breaks: what it is that is not as predicted; else `otherwise`."""
    ours, theirs = shown(expected), shown_beside(expected, seen)
    if sorted(ours) == sorted(theirs):
        return "results-in-call-order"
    place = next((n for n, (one, other) in enumerate(zip(ours, theirs, strict=False)) if one != other), None)
    systems = [sum(one.startswith("system: ") for one in side) for side in (ours, theirs)]
    if systems[0] != systems[1]:
        return _system(expected, *systems)
    if place is not None and seen[place].role == expected[place].message.role == "tool":
        one, other = expected[place].message, seen[place]
        if one.content.startswith(DENIED_PREFIX):
            return "denied-text"
        return "results-matched-by-id" if one.tool_call_id != other.tool_call_id else otherwise
    return otherwise


def _system(expected: Sequence[Line], ours: int, theirs: int) -> str:
    if theirs > ours:
        return "system-prompt-once" if ours else "system-prompt-none"
    return "system-prompt-first" if expected[0].message.role == "system" else "system-prompt-late"
