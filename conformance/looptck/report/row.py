"""A row of a worked example: one model call and what the loop did with its reply; and how its messages are told."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_LAST = 4
BEYOND = "asked the model beyond the end of the scenario's script, where it fails as any model may"
"""What is said of a run that ended so. Whether the loop asked too often or the scenario is short, the check tells."""


@dataclass(slots=True)
class Row:
    """One model call and what the loop did with the reply; the first row of a run may be its start, before any."""

    step: str
    before: str
    model: str = ""
    did: list[str] = field(default_factory=list)
    usage: str = ""


def latest(messages: Sequence[str]) -> str:
    """Messages in one line; of a long list how many there are before the last few, and these."""
    earlier = len(messages) - _LAST
    return ", ".join([f"{earlier} earlier", *messages[-_LAST:]] if earlier > 1 else messages)
