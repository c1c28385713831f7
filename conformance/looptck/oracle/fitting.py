"""Sequences in which something may stand or be missing, or have any text, beside what was seen. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


@dataclass(frozen=True, slots=True)
class Item:
    """An element that has to stand at its place, or may where it is not `needed`; `fits` accepts more than itself."""

    value: Any
    needed: bool = True
    fits: Callable[[Any], bool] | None = None

    def accepts(self, seen: Any) -> bool:
        """Whether this is the element."""
        return bool(seen == self.value) or (self.fits is not None and self.fits(seen))


def fit(pattern: Sequence[Item], seen: Sequence[Any], *, more: bool = False) -> bool:
    """Whether a sequence has all that it has to have, in order, and nothing that it may not; `more` may follow it."""
    places = {0}
    for item in pattern:
        behind = {place + 1 for place in places if place < len(seen) and item.accepts(seen[place])}
        places = behind if item.needed else behind | places
    return bool(places) if more else len(seen) in places


def needed(pattern: Sequence[Item]) -> list[Any]:
    """What has to be there: what is told of a pattern that does not fit."""
    return [item.value for item in pattern if item.needed]
