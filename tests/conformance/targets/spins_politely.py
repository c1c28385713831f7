"""With one slot for tools it polls for ever, each time giving its event loop a turn. Else it is the reference."""

from __future__ import annotations

import asyncio
from typing import Any

import looptck_reference
from looptck.contract.ag03 import ToolCall, ToolResult


class Agent(looptck_reference.Agent):
    """The reference, whose tools poll without end in that one situation."""

    def __init__(self, *seams: Any, **options: Any) -> None:
        super().__init__(*seams, **options)
        if self.max_parallel_tools == 1:
            self.tools.call = poll  # type: ignore[method-assign]


async def poll(call: ToolCall) -> ToolResult:  # noqa: ARG001 - the seam
    """Never stop looking."""
    while True:  # noqa: ASYNC110 - that is its mistake
        await asyncio.sleep(0)
