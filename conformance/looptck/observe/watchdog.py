"""Lets held tools go on for a loop that blocks its event loop while it waits for them.

A loop may run its tools in threads and wait for those without `await`. Nothing of the kit on that event loop gets a
turn then, so a thread of the kit's own watches: when the event loop has had no turn for a while and every thread of
the loop is asleep, nothing more can happen by itself, and one tool is released, as the event loop would have done.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Self

from looptck.observe.quiescence import HAS_PROC, other_threads

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

LOOK = 0.02
"""Seconds between two looks; an event loop that gets no turn for this long is blocked or computes."""


class Watchdog:
    """A thread that watches for the duration of a `with` block.

    `turns()` is a number that changes with every turn of the event loop, `patience()` how long in seconds everything
    must have been asleep, `release()` lets one tool go on. Where thread states cannot be seen it does nothing.
    """

    def __init__(
        self,
        turns: Callable[[], int],
        patience: Callable[[], float],
        release: Callable[[], object],
        strangers: frozenset[str],
    ) -> None:
        self._turns, self._patience, self._release = turns, patience, release
        self._strangers = strangers - {str(threading.get_native_id())}  # the event loop's own thread is watched
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="looptck-watchdog", daemon=True)

    @property
    def native_id(self) -> str:
        """The thread's id, as the kit's other looks at threads name it."""
        return str(self._thread.native_id)

    def __enter__(self) -> Self:
        if HAS_PROC:
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._over.set()
        if HAS_PROC:
            self._thread.join()

    def _watch(self) -> None:
        before: tuple[int, dict[str, str] | None] = (-1, None)
        since = time.monotonic()
        while not self._over.wait(LOOK):
            now = (self._turns(), other_threads(self._strangers))
            if now != before or now[1] is None:
                before, since = now, time.monotonic()
            elif time.monotonic() - since >= self._patience():
                self._release()
                before = (-1, None)
