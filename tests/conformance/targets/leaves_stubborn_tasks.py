"""With one slot for tools it leaves a task behind that swallows its cancellation. Else it is the reference."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence

import looptck_reference
from looptck.contract.ag03 import Message
from looptck_reference.stream import Stream

kept: set[asyncio.Task[None]] = set()


class Agent(looptck_reference.Agent):
    """The reference with a housekeeper that will not be dismissed."""

    def invoke(self, messages: Sequence[Message]) -> Stream:
        """Start the housekeeper in that one situation, and run."""
        if self.max_parallel_tools == 1:
            kept.add(asyncio.get_running_loop().create_task(stay()))
        return super().invoke(messages)


async def stay() -> None:
    """Wait for work that never comes, whoever asks to stop."""
    while True:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.Future()
