"""A loop of its own mind: its constructor knows none of the contract's options."""

from __future__ import annotations

from collections.abc import Sequence

from looptck.contract.ag03 import Message


class Agent:
    """Wants a model's name, and brings everything else itself."""

    def __init__(self, model_name: str) -> None:
        self.model_name = model_name

    def invoke(self, messages: Sequence[Message]) -> Message:
        """Never reached."""
        return messages[-1]
