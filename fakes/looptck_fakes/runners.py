"""Step runners: one that records a journal, one that replays it, one that refuses."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeVar, cast

from looptck_fakes.recorder import Recorder, StepEnded, StepStarted

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Container, Mapping

    from looptck.contract.ag03 import StepKind

T = TypeVar("T")


class RefusedStepError(Exception):
    """The runner would not run a step."""


class StoppedError(Exception):
    """The run was stopped, as if its process had ended there."""


class RecordingRunner:
    """A `StepRunner` that does the work and keeps its value in `journal`, by step name.

    The journal holds the very objects that the steps returned. `begun` has the kind of every step whose work was begun.

        >>> async def work():
        ...     return "sunny"
        >>> runner = RecordingRunner()
        >>> asyncio.run(runner.run("tool/1/0/get_weather", "tool", work))
        'sunny'
        >>> runner.journal
        {'tool/1/0/get_weather': 'sunny'}
    """

    def __init__(self, *, recorder: Recorder | None = None) -> None:
        self.recorder = recorder if recorder is not None else Recorder()
        self.journal: dict[str, Any] = {}
        self.begun: dict[str, StepKind] = {}
        self._error: Exception | None = None
        self._became: dict[str, str] = {}
        """How a step ended, whatever is raised out of it, or cancels it, afterwards."""

    @property
    def steps(self) -> tuple[tuple[str, str], ...]:
        """Name and kind of every step so far, in the order they started."""
        return tuple((step.name, step.kind) for step in self.recorder.of(StepStarted))

    async def run(self, name: str, kind: StepKind, work: Callable[[], Awaitable[T]]) -> T:
        """Record the step, let `_perform` do it, record how it ended."""
        step = self.recorder.begin("step", lambda at, step: StepStarted(at, step, name, kind))
        how = "failed"
        try:
            how, value = await self._perform(name, kind, work)
        except Exception as error:
            how = "refused" if isinstance(error, RefusedStepError) or error is self._error else "failed"
            raise
        except asyncio.CancelledError:
            how = "cancelled"
            raise
        finally:
            known = self._became.get(name, how)
            self.recorder.add(lambda at: StepEnded(at, step, known))  # type: ignore[arg-type]
        return value

    async def _perform(self, name: str, kind: StepKind, work: Callable[[], Awaitable[T]]) -> tuple[str, T]:
        self.begun[name] = kind
        value = await work()
        self.journal[name] = value
        return "done", value


class ReplayingRunner(RecordingRunner):
    """A `StepRunner` that gives back what a journal holds and never does the work.

    A step that the journal does not know raises `RefusedStepError`: the run took another way than the recorded one.

        >>> async def work():
        ...     raise AssertionError("a replay does no work")
        >>> runner = ReplayingRunner({"tool/1/0/get_weather": "sunny"})
        >>> asyncio.run(runner.run("tool/1/0/get_weather", "tool", work))
        'sunny'
    """

    def __init__(self, journal: Mapping[str, Any], *, recorder: Recorder | None = None) -> None:
        super().__init__(recorder=recorder)
        self.journal.update(journal)

    async def _perform(
        self,
        name: str,
        kind: StepKind,  # noqa: ARG002 - the seam
        work: Callable[[], Awaitable[T]],  # noqa: ARG002 - the seam
    ) -> tuple[str, T]:
        if name not in self.journal:
            msg = f"the journal has no step {name!r}"
            raise RefusedStepError(msg)
        return "replayed", cast("T", self.journal[name])


class RefusingRunner(RecordingRunner):
    """A `StepRunner` that raises for the steps named in `refuse` and records the others.

    It raises `error`, the same object each time, or where none is given a new `RefusedStepError`.

        >>> async def work():
        ...     return "paid"
        >>> runner = RefusingRunner({"tool/1/0/pay"})
        >>> asyncio.run(runner.run("tool/1/0/pay", "tool", work))
        Traceback (most recent call last):
        looptck_fakes.runners.RefusedStepError: refused step 'tool/1/0/pay'
    """

    def __init__(
        self, refuse: Container[str], *, error: Exception | None = None, recorder: Recorder | None = None
    ) -> None:
        super().__init__(recorder=recorder)
        self._refuse = refuse
        self._error = error

    async def _perform(self, name: str, kind: StepKind, work: Callable[[], Awaitable[T]]) -> tuple[str, T]:
        if name in self._refuse:
            raise self._error or RefusedStepError(f"refused step {name!r}")
        return await super()._perform(name, kind, work)
