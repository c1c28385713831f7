"""What a check expected beside what it saw, row by row: the same rows for every form of the report. Pure."""

from __future__ import annotations

from itertools import zip_longest
from typing import Any, NamedTuple

from looptck.report.text import one_line, text_of

_NOTHING = object()
"""In place of the element that the shorter of two lists does not have."""


class Pair(NamedTuple):
    """A row: what it is about (empty for a single value), both sides as text, and whether the values are not the same.

    The sides are cut where they are long, so two that differ may read the same.
    """

    label: str
    expected: str
    seen: str
    differs: bool


def pairs(expected: Any, seen: Any) -> list[Pair]:
    """The rows of two JSON values: element by element for two lists, key by key for two mappings."""
    if isinstance(expected, list) and isinstance(seen, list):
        both = enumerate(zip_longest(expected, seen, fillvalue=_NOTHING), 1)
        return [_pair(str(number), *sides) for number, sides in both] or [Pair("", "nothing", "nothing", differs=False)]
    if isinstance(expected, dict) and isinstance(seen, dict):
        found: list[Pair] = []
        for key in dict.fromkeys([*expected, *seen]):
            one, other = expected.get(key), seen.get(key)
            if isinstance(one, list) and isinstance(other, list):
                found += [pair._replace(label=f"{key} {pair.label}") for pair in pairs(one, other)]
            else:
                found.append(_pair(key, one, other))
        return found
    return [_pair("", expected, seen)]


def _pair(label: str, one: Any, other: Any) -> Pair:
    return Pair(one_line(label), _side(one), _side(other), differs=one != other)


def _side(value: Any) -> str:
    return "(nothing)" if value is _NOTHING else text_of(value)
