"""With one slot for tools it forks a child that stays, with every descriptor open. Else it is the reference."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence

import looptck_reference
from looptck.contract.ag03 import Message
from looptck_reference.stream import Stream


class Agent(looptck_reference.Agent):
    """The reference, that leaves a process behind in that one situation."""

    def invoke(self, messages: Sequence[Message]) -> Stream:
        """Fork a child that waits for a signal that nobody sends, and run."""
        if self.max_parallel_tools == 1 and os.fork() == 0:
            signal.pause()
            os._exit(0)
        return super().invoke(messages)
