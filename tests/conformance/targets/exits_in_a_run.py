"""With one slot for tools it calls sys.exit in the middle of a run. Else it is the reference."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import looptck_reference
from looptck.contract.ag03 import Message
from looptck_reference.stream import Stream


class Agent(looptck_reference.Agent):
    """The reference, that exits in that one situation."""

    def invoke(self, messages: Sequence[Message]) -> Stream:
        """Exit, or run."""
        if self.max_parallel_tools == 1:
            sys.exit("I give up")
        return super().invoke(messages)
