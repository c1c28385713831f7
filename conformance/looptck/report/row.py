"""A row of a worked example: one model call and what the loop did with its reply."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Row:
    """One model call and what the loop did with the reply; the first row of a run may be its start, before any."""

    step: str
    before: str
    model: str = ""
    did: list[str] = field(default_factory=list)
    usage: str = ""
