"""The loop of `my_loop.py` with one classic mistake: the budget is looked at after the spend."""

from __future__ import annotations

from collections.abc import Sequence

import my_loop

from looptck.contract.ag03 import Message, ToolCall


class Agent(my_loop.Agent):
    """The same agent, with the runs below."""

    def invoke(self, messages: Sequence[Message]) -> Run:
        """Prepare a run."""
        return Run(self, messages)


class Run(my_loop.Run):
    """A run that asks too late whether it may."""

    async def _act(self, calls: Sequence[ToolCall]) -> None:
        """One turn: by the time that its calls are counted, its tools have run."""
        await self._dispatch(calls)
        self._count(calls)
