"""What a check expected beside what it saw, row by row: the same rows for every form of the report. Pure."""

from __future__ import annotations

from itertools import zip_longest
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from looptck.report.text import one_line, text_of

if TYPE_CHECKING:
    from collections.abc import Mapping

_NOTHING = object()
"""In place of the element that the shorter of two lists does not have."""
_AS_IT_IS: Mapping[str, str] = MappingProxyType({})


class Pair(NamedTuple):
    """A row: what it is about (empty for a single value), both sides as text, and whether the values are not the same.

    The sides are cut where they are long, so two that differ may read the same.
    """

    label: str
    expected: str
    seen: str
    differs: bool


def pairs(expected: Any, seen: Any, shown: Mapping[str, str] = _AS_IT_IS) -> list[Pair]:
    """The rows of two JSON values: element by element for two lists, key by key for two mappings.

    Values are compared as they are; then what `shown` has other words for, wherever it stands, is told in these.
    """
    if isinstance(expected, list) and isinstance(seen, list):
        both = enumerate(zip_longest(expected, seen, fillvalue=_NOTHING), 1)
        return [_pair(str(number), *sides, shown) for number, sides in both] or [
            Pair("", "nothing", "nothing", differs=False)
        ]
    if isinstance(expected, dict) and isinstance(seen, dict):
        found: list[Pair] = []
        for key in dict.fromkeys([*expected, *seen]):
            one, other = expected.get(key), seen.get(key)
            if isinstance(one, list) and isinstance(other, list):
                found += [pair._replace(label=f"{key} {pair.label}") for pair in pairs(one, other, shown)]
            else:
                found.append(_pair(key, one, other, shown))
        return found
    return [_pair("", expected, seen, shown)]


def _pair(label: str, one: Any, other: Any, shown: Mapping[str, str]) -> Pair:
    return Pair(one_line(label), _side(one, shown), _side(other, shown), differs=one != other)


def _side(value: Any, shown: Mapping[str, str]) -> str:
    return "(nothing)" if value is _NOTHING else text_of(in_words_of(value, shown))


def in_words_of(value: Any, shown: Mapping[str, str]) -> Any:
    """A JSON value in whose texts each part that `shown` has other words for is told in these."""
    if isinstance(value, str):
        for part, words in shown.items():
            value = value.replace(part, words)
        return value
    if isinstance(value, list):
        return [in_words_of(item, shown) for item in value]
    if isinstance(value, dict):
        return {key: in_words_of(item, shown) for key, item in value.items()}
    return value
