"""Importing it starts a pool with a busy worker; a process forked afterwards would not have the worker."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import looptck_reference
from looptck.contract.ag03 import Message
from looptck_reference.stream import Stream

POOL = ThreadPoolExecutor(1)
POOL.submit(int).result()


class Agent(looptck_reference.Agent):
    """The reference, that asks its pool before each run."""

    def invoke(self, messages: Sequence[Message]) -> Stream:
        """Have the worker do something, and run."""
        POOL.submit(int).result()
        return super().invoke(messages)
