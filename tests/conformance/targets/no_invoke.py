"""A class whose method goes by another name than `invoke`."""

from __future__ import annotations

from typing import Any


class Agent:
    """A loop to be run, not invoked."""

    def __init__(self, **options: Any) -> None:
        self.options = options

    def run(self, question: str) -> str:
        """Answer."""
        return question
