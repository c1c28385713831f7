"""The lines of sources and of diffs. A line ends with a line feed and with nothing else, as for git and for Python."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

NO_NEWLINE = "\\ "
"""How the line of a diff begins that says that the one above has no newline; its words depend on locale and tool."""
_LINE = re.compile(r"[^\n]*\n|[^\n]+")


def lines_of(text: str) -> list[str]:
    """The lines with their endings, the last one perhaps without; `str.splitlines` also breaks at form feeds."""
    return _LINE.findall(text)


def diff_of(old: Sequence[str], new: Sequence[str], place: str) -> str:
    """A unified diff of the lines of a file, which says it where a last line has no newline."""
    told = difflib.unified_diff(old, new, place, place)
    return "".join(line if line.endswith("\n") else f"{line}\n{NO_NEWLINE}No newline at end of file\n" for line in told)
