"""With one slot for tools it prints more than any pipe holds, on both streams. Else it is the reference."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import looptck_reference
from looptck.contract.ag03 import Message
from looptck_reference.stream import Stream

LINES = 4_000
LINE = "debug: " + "x" * 250 + "\n"


class Agent(looptck_reference.Agent):
    """The reference, that talks too much in that one situation."""

    def invoke(self, messages: Sequence[Message]) -> Stream:
        """Print two megabytes, and run."""
        if self.max_parallel_tools == 1:
            for _ in range(LINES):
                sys.stdout.write(LINE)
                sys.stderr.write(LINE)
        return super().invoke(messages)
