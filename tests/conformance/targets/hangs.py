"""With one slot for tools its result never comes: it waits for what nobody will send. Else it is the reference."""

from __future__ import annotations

import asyncio
from typing import Any

import looptck_reference
from looptck.contract.ag03 import ToolCall, ToolResult


class Agent(looptck_reference.Agent):
    """The reference, whose tools never answer in that one situation."""

    def __init__(self, *seams: Any, **options: Any) -> None:
        super().__init__(*seams, **options)
        if self.max_parallel_tools == 1:
            self.tools.call = never  # type: ignore[method-assign]


async def never(call: ToolCall) -> ToolResult:  # noqa: ARG001 - the seam
    """Wait for a future that nobody completes."""
    return await asyncio.Future()
