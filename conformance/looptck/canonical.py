"""When two texts of arguments are the same: as JSON values, not letter by letter.

Whether a loop hands arguments on as the model wrote them is one requirement with a check of its own; no other check
may fail over it.
"""

from __future__ import annotations

import json
from functools import lru_cache


@lru_cache(maxsize=1024)
def canonical(arguments: str) -> str:
    """The text of equal JSON values in one form; text that is no JSON as it is."""
    try:
        return json.dumps(json.loads(arguments), sort_keys=True, ensure_ascii=False)
    except (ValueError, RecursionError):
        return arguments
