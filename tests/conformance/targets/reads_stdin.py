"""With one slot for tools it asks whoever sits at the keyboard. Else it is the reference."""

from __future__ import annotations

from collections.abc import Sequence

import looptck_reference
from looptck.contract.ag03 import Message
from looptck_reference.stream import Stream


class Agent(looptck_reference.Agent):
    """The reference, that asks before it runs in that one situation."""

    def invoke(self, messages: Sequence[Message]) -> Stream:
        """Ask, and run."""
        if self.max_parallel_tools == 1:
            input("May I? ")
        return super().invoke(messages)
