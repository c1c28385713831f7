"""With one slot for tools it raises what `except Exception` does not catch. Else it is the reference."""

from __future__ import annotations

from collections.abc import Sequence

import looptck_reference
from looptck.contract.ag03 import Message
from looptck_reference.stream import Stream


class GameOver(BaseException):
    """Neither an Exception nor one of Python's own exits."""


class Agent(looptck_reference.Agent):
    """The reference, that raises in that one situation."""

    def invoke(self, messages: Sequence[Message]) -> Stream:
        """Raise, or run."""
        if self.max_parallel_tools == 1:
            raise GameOver("no more coins")
        return super().invoke(messages)
