"""With one slot for tools it computes for ever and never gives its event loop a turn. Else it is the reference."""

from __future__ import annotations

from collections.abc import Sequence

import looptck_reference
from looptck.contract.ag03 import Message
from looptck_reference.stream import Stream


class Agent(looptck_reference.Agent):
    """The reference, that spins in that one situation."""

    def invoke(self, messages: Sequence[Message]) -> Stream:
        """Spin, or run."""
        while self.max_parallel_tools == 1:
            pass
        return super().invoke(messages)
