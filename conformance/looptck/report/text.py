"""Texts of a loop as reports show them: no character of theirs turns, hides or forges anything around it. Pure."""

from __future__ import annotations

import json
import re
from typing import Any

LONGEST = 700
"""Characters that a report gives to one value."""
_NO_CHARACTERS = "".join(chr(plane << 16 | last) for plane in range(17) for last in (0xFFFE, 0xFFFF))
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    f"\ufff9-\ufffb\U000e0000-\U000e007f{_NO_CHARACTERS}]"
)
"""What terminals obey, HTML or XML does not allow, UTF-8 cannot carry, or what hides or turns the text around it."""
_BREAKS = str.maketrans({"\n": "\\n", "\r": "\\r", "\t": "\\t"})
_COMMAND = re.compile(r"^((?:[^\S\n]|\x1b\[[\d;]*m)*):(?=:)", re.MULTILINE)


def text_of(value: Any) -> str:
    """A string as it is, everything else as JSON, in one line; cut where it is long."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return one_line(text if len(text) <= LONGEST else text[:LONGEST] + "…")


def visible(text: str) -> str:
    r"""The text with what cannot be seen in it as its number: `\u{1b}`. Tabs and the ends of lines stay."""
    return _HIDDEN.sub(lambda found: f"\\u{{{ord(found[0]):x}}}", text)


def one_line(text: str) -> str:
    r"""The same in one line: tabs and the ends of lines as `\t` and `\n`."""
    return visible(text.translate(_BREAKS))


def how_many(number: int, what: str) -> str:
    """So many of something, in words."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def message_of(verdict: str, message: str) -> str:
    """The message of a check with this verdict: a fault has the lines of its traceback, everything else is in one."""
    return visible(message.strip()) if verdict == "fault" else one_line(message.strip())


def no_commands(text: str) -> str:
    """Lines of a log of GitHub Actions that it takes no command from, in either of the forms that it knows."""
    return _COMMAND.sub(r"\1\\u{3a}", text).replace("##[", "\\u{23}#[")
