"""What the provider raises when the model server, or the way to it, fails."""

from __future__ import annotations

_LONGEST = 300
"""Characters of a message that are kept: a server may answer with a whole web page."""


class ProviderError(Exception):
    """A model call that failed, told in one line.

    `status` is the HTTP status where the server answered with an error status, and None for everything else: no
    connection, a stream that was cut, an answer that is not a chat completion, an error reported inside a stream.
    """

    def __init__(self, message: str, *, status: int | None = None) -> None:
        super().__init__(one_line(message))
        self.status = status


def one_line(text: str) -> str:
    """The text with every run of white space as one space, cut to a length that fits a report."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
