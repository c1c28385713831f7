"""`invoke` returns the answer itself, no stream to await it from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from looptck.contract.ag03 import Message


class Agent:
    """A loop that is done when `invoke` returns."""

    def __init__(self, **options: Any) -> None:
        self.options = options

    def invoke(self, messages: Sequence[Message]) -> Message:
        """Repeat the question."""
        return Message("assistant", messages[-1].content)
