"""Reading entries of Stryker's schema as a tool would that has only them and the source."""

from __future__ import annotations

from typing import Any


def replayed(source: str, entries: list[dict[str, Any]]) -> str:
    """The source with the replacement of each entry in place of its location; they overlap nowhere."""
    for entry in sorted(entries, key=lambda entry: _offset(source, entry["location"]["start"]), reverse=True):
        start, end = (_offset(source, entry["location"][key]) for key in ("start", "end"))
        source = source[:start] + entry["replacement"] + source[end:]
    return source


def _offset(source: str, position: dict[str, int]) -> int:
    """Where a position is: lines and columns count from 1, columns in units of UTF-16."""
    lines = source.split("\n")
    line = lines[position["line"] - 1]
    before = line.encode("utf-16-le")[: 2 * (position["column"] - 1)]
    assert len(before) == 2 * (position["column"] - 1), "behind the end of the line"
    return sum(len(above) + 1 for above in lines[: position["line"] - 1]) + len(before.decode("utf-16-le"))
