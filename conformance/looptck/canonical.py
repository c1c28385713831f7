"""When two texts of arguments are the same: as JSON values, not letter by letter.

Whether a loop hands arguments on as the model wrote them is one requirement with a check of its own; no other check
may fail over it. Reports show arguments in the order in which the model wrote them, and only there does it count.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


@lru_cache(maxsize=1024)
def canonical(arguments: str) -> str:
    """The text of equal JSON values in one form, `1` and `1.0` are one number; text that is no JSON as it is."""
    try:
        return json.dumps(json.loads(arguments, parse_float=_number), sort_keys=True, ensure_ascii=False)
    except (ValueError, RecursionError):
        return arguments


def in_order(arguments: str) -> str:
    """The canonical text but for the keys, which stay in their order: what reports show, and nothing is compared by."""
    try:
        return json.dumps(json.loads(arguments, parse_float=_number), ensure_ascii=False)
    except (ValueError, RecursionError):
        return arguments


def as_written(lines: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Of calls as lines, the canonical one and the one to show: the latter by the former, where they are not the same.

    A call that is written in several orders is left out: which of them a canonical line stands for is not known.
    """
    shown: dict[str, set[str]] = {}
    for line, written in lines:
        shown.setdefault(line, set()).add(written)
    return {line: written.pop() for line, written in shown.items() if len(written) == 1 and line not in written}


def _number(text: str) -> int | float:
    number = float(text)
    return int(number) if number.is_integer() else number
