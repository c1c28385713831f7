"""A value of a finding as text, for every kind of report."""

from __future__ import annotations

import json
from typing import Any

LONGEST = 700
"""Characters that a report gives to one value."""


def text_of(value: Any) -> str:
    """A string as it is, everything else as JSON; cut where it is long."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST else text[:LONGEST] + "…"
