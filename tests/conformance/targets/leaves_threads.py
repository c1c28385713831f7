"""Every run leaves a thread behind that waits for ever and is no daemon; the answers are those of the reference."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import looptck_reference
from looptck.contract.ag03 import Message
from looptck_reference.stream import Stream


class Agent(looptck_reference.Agent):
    """The reference with a thread that would keep the interpreter from exiting."""

    def invoke(self, messages: Sequence[Message]) -> Stream:
        """Start the thread, and run."""
        threading.Thread(target=threading.Event().wait).start()
        return super().invoke(messages)
