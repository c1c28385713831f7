"""Iterations are counted on from where a run of the same input broke off: the journal is asked for other steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from looptck.contract.ag03 import LoopError
from looptck_reference import loop
from looptck_reference.stream import Stream

if TYPE_CHECKING:
    from collections.abc import Sequence

    from looptck.contract.ag03 import Message


class Run(loop.Run):
    broken_off: ClassVar[dict[tuple[Message, ...], int]] = {}

    async def loop(self) -> Message:
        question = tuple(self.messages)
        self.iter = self.broken_off.pop(question, 0)
        try:
            return await super().loop()
        except LoopError:
            raise
        except Exception:
            self.broken_off[question] = self.iter
            raise


class Agent(loop.Agent):
    def invoke(self, messages: Sequence[Message]) -> Stream:
        run = Run(self, messages)
        return Stream(run, run.events, run.traced)
