"""A durable step runner over a journal in memory: it can be stopped at any step, and go on from where another stopped.

Stopped means: as if the process had ended there. What the journal holds by then is all that is left; the runner raises
`StoppedError` for every step from then on, and what the stopped run still does is nobody's business.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar, cast

from looptck_fakes.runners import RecordingRunner, RefusedStepError, StoppedError
from looptck_fakes.stage import Stage

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from looptck.contract.ag03 import StepKind
    from looptck_fakes.recorder import Recorder

T = TypeVar("T")
STOPPED = "the run was stopped"


class UnknownWriteError(RefusedStepError):
    """A tool step had begun, and how it ended was never recorded: whether its work was done nobody knows."""


@dataclass(frozen=True, slots=True)
class StopAt:
    """Where a run is stopped: so many steps begin and end, and when the last of them has, the run is over.

    Steps that come later wait and never begin. With `lost` the outcome of the last one is not recorded, although its
    work was done. With `overtaken` the last one is the step that comes behind it, and the one overtaken never begins:
    of calls that run at once a later one is recorded and an earlier one is not.

        >>> [number for number in range(1, 6) if StopAt(after=3).admits(number)]
        [1, 2, 3]
        >>> [number for number in range(1, 6) if StopAt(after=3, overtaken=True).admits(number)]
        [1, 2, 4]
    """

    after: int
    lost: bool = False
    overtaken: bool = False

    def admits(self, number: int) -> bool:
        """Whether the step that comes as number so and so, counted from 1, may begin."""
        return number < self.after or self.ends(number)

    def ends(self, number: int) -> bool:
        """Whether it is the last one."""
        return number == (self.after + 1 if self.overtaken else self.after) and self.after > 0


class DurableRunner(RecordingRunner):
    """A `StepRunner` that goes on from the journal of the runner `before`, and is stopped where `stop` says.

    A step that the journal holds is given back. A tool step that had begun and whose outcome the journal lacks is a
    write of unknown outcome and refused: with `error`, the same object each time, or else an `UnknownWriteError`. A
    model step in that state is a read, and is done again. Any other step is done and recorded.

        >>> import asyncio
        >>> async def pay():
        ...     return "paid"
        >>> first = DurableRunner(stop=StopAt(after=1))
        >>> asyncio.run(first.run("tool/1/0/pay", "tool", pay))
        Traceback (most recent call last):
        looptck_fakes.runners.StoppedError: the run was stopped
        >>> asyncio.run(DurableRunner(first).run("tool/1/0/pay", "tool", pay))
        'paid'
        >>> first = DurableRunner(stop=StopAt(after=1, lost=True))
        >>> asyncio.run(first.run("tool/1/0/pay", "tool", pay))
        Traceback (most recent call last):
        looptck_fakes.runners.StoppedError: the run was stopped
        >>> asyncio.run(DurableRunner(first).run("tool/1/0/pay", "tool", pay))
        Traceback (most recent call last):
        looptck_fakes.durable.UnknownWriteError: step 'tool/1/0/pay' had begun and its outcome was never recorded
    """

    def __init__(
        self,
        before: RecordingRunner | None = None,
        *,
        stop: StopAt | None = None,
        error: Exception | None = None,
        recorder: Recorder | None = None,
    ) -> None:
        super().__init__(recorder=recorder)
        if before is not None:
            self.journal.update(before.journal)
            self.begun.update(before.begun)
        self.unknown = frozenset(
            name for name, kind in self.begun.items() if kind == "tool" and name not in self.journal
        )
        self.stopped = False
        self._stop_at = stop
        self._error = error
        self._lock = threading.Lock()
        self._arrived = self._ended = 0
        self._waiting = Stage()

    @property
    def waiting(self) -> bool:
        """Whether a step waits for the run to be stopped."""
        return bool(self._waiting.held)

    def stop(self) -> None:
        """Stop the run now: nothing begins any more, nothing is recorded, and whoever waits is told."""
        self.stopped = True
        self._waiting.open()

    async def run(self, name: str, kind: StepKind, work: Callable[[], Awaitable[T]]) -> T:
        """Give back, refuse or do a step. Raises `StoppedError` when the run is stopped."""
        if self.stopped:
            raise StoppedError(STOPPED)
        return await super().run(name, kind, work)

    async def _perform(self, name: str, kind: StepKind, work: Callable[[], Awaitable[T]]) -> tuple[str, T]:
        if name in self.journal:
            return "replayed", cast("T", self.journal[name])
        if name in self.unknown:
            msg = f"step {name!r} had begun and its outcome was never recorded"
            raise self._error or UnknownWriteError(msg)
        if self._stop_at is None:
            return await super()._perform(name, kind, work)
        return await self._until_stopped(self._stop_at, name, kind, work)

    async def _until_stopped(
        self, at: StopAt, name: str, kind: StepKind, work: Callable[[], Awaitable[T]]
    ) -> tuple[str, T]:
        with self._lock:
            self._arrived += 1
            number, none_open = self._arrived, self._ended == at.after
        if not at.admits(number):
            self._became[name] = "stopped"
            if none_open:
                self.stop()
            await self._waiting.hold(name)
            raise StoppedError(STOPPED)
        self.begun[name] = kind
        kept = False
        try:
            value = await work()
            kept = not (self.stopped or (at.lost and at.ends(number)))
            self._became[name] = "done" if kept else "lost"
            if kept:
                self.journal[name] = value
        finally:
            over = self._count(at)
        if not kept:
            await self._waiting.hold(name)
        if over or not kept:
            raise StoppedError(STOPPED)
        return "done", value

    def _count(self, at: StopAt) -> bool:
        """One more has ended; True, and the run is stopped, when it was the last."""
        with self._lock:
            self._ended += 1
            over = self._ended == at.after
        if over:
            self.stop()
        return over
