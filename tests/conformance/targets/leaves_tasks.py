"""Every run leaves a task behind that will never end; the answers are those of the reference."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import looptck_reference
from looptck.contract.ag03 import Message
from looptck_reference.stream import Stream

kept: set[asyncio.Task[None]] = set()


class Agent(looptck_reference.Agent):
    """The reference with a housekeeper that is never dismissed."""

    def invoke(self, messages: Sequence[Message]) -> Stream:
        """Start the housekeeper, and run."""
        kept.add(asyncio.get_running_loop().create_task(housekeeping()))
        return super().invoke(messages)


async def housekeeping() -> None:
    """Wait for work that never comes."""
    await asyncio.Future()
