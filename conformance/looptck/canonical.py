"""When two texts of arguments are the same: as JSON values, not letter by letter.

Whether a loop hands arguments on as the model wrote them is one requirement with a check of its own; no other check
may fail over it.
"""

from __future__ import annotations

import json
from functools import lru_cache


@lru_cache(maxsize=1024)
def canonical(arguments: str) -> str:
    """The text of equal JSON values in one form, `1` and `1.0` are one number; text that is no JSON as it is."""
    try:
        return json.dumps(json.loads(arguments, parse_float=_number), sort_keys=True, ensure_ascii=False)
    except (ValueError, RecursionError):
        return arguments


def _number(text: str) -> int | float:
    number = float(text)
    return int(number) if number.is_integer() else number
