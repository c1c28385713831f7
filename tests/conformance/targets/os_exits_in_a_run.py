"""With one slot for tools it leaves the process at once. Else it is the reference."""

from __future__ import annotations

import os
from collections.abc import Sequence

import looptck_reference
from looptck.contract.ag03 import Message
from looptck_reference.stream import Stream


class Agent(looptck_reference.Agent):
    """The reference, that leaves in that one situation."""

    def invoke(self, messages: Sequence[Message]) -> Stream:
        """Leave, or run."""
        if self.max_parallel_tools == 1:
            os._exit(0)
        return super().invoke(messages)
