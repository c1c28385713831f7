"""Once a step was given back, a step that the runner refuses is shown to the model as a tool that failed."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from looptck.contract.ag03 import ToolResult
from looptck_reference import loop
from looptck_reference.stream import Stream

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from looptck.contract.ag03 import Message, StepKind, StepRunner

T = TypeVar("T")


class Resuming:
    """A step runner that knows whether it has given anything back."""

    def __init__(self, runner: StepRunner) -> None:
        self.runner = runner
        self.resumed = False

    async def run(self, name: str, kind: StepKind, work: Callable[[], Awaitable[T]]) -> T:
        done = False

        async def noted() -> T:
            nonlocal done
            done = True
            return await work()

        try:
            value = await self.runner.run(name, kind, noted)
        except Exception as error:
            if kind == "tool" and self.resumed and not done:
                return ToolResult(f"{type(error).__name__}: {error}", is_error=True)  # type: ignore[return-value]
            raise
        self.resumed = self.resumed or not done
        return value


class Agent(loop.Agent):
    def invoke(self, messages: Sequence[Message]) -> Stream:
        self.step_runner = Resuming(self.step_runner)
        run = loop.Run(self, messages)
        return Stream(run, run.events, run.traced)
