"""What the tests of quiescence share: a loop in which something goes on, and the question whether that is quiet."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable

from looptck.observe.quiescence import QuiescentLoop, threads_now

SHORT, WIDE, PLENTY = 0.02, 0.2, 20.0
"""Seconds: a window for what is really asleep, one for what only seems so, and a deadline that no test reaches."""


class Situation:
    """A loop in which something goes on, and the question whether that is quiet."""

    def __init__(self) -> None:
        self.strangers = threads_now()
        self.over = threading.Event()
        self.threads: list[threading.Thread] = []
        self.progress = 0

    def thread(self, work: Callable[[], object]) -> None:
        """Start a thread that has to end when `over` is set."""
        thread = threading.Thread(target=work)
        self.threads.append(thread)
        thread.start()

    def ask(
        self,
        set_up: Callable[[QuiescentLoop], object] = lambda _loop: None,
        *,
        patience: float = SHORT,
        within: float = PLENTY,
        proof: bool = False,
        activity: Callable[[], int] | None = None,
    ) -> str:
        """What the loop tells when `set_up` has made the situation."""
        loop = QuiescentLoop(self.strangers)

        async def asking() -> str:
            kept = set_up(loop)
            deadline = time.monotonic() + within
            told = await loop.quiet(lambda: patience, activity or (lambda: self.progress), deadline, lambda: proof)
            del kept
            return told

        try:
            return loop.run_until_complete(asking())
        finally:
            for task in asyncio.all_tasks(loop):
                task.cancel()
            loop.run_until_complete(asyncio.sleep(0))
            loop.close()
