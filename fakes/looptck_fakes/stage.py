"""A place where fakes wait until somebody lets them go on: it decides in which order things finish."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from dataclasses import dataclass, field


@dataclass(frozen=True, eq=False, slots=True)
class Held:
    """Somebody who waits on a stage. `key` tells who: the call of a tool, the number of a model request."""

    key: object
    _loop: asyncio.AbstractEventLoop = field(repr=False)
    _future: asyncio.Future[None] = field(repr=False)

    def _let_go(self) -> None:
        if not self._future.done():
            self._future.set_result(None)


class Stage:
    """Holds whoever enters, in any thread and event loop, until `release` or `open`.

    >>> async def finished():
    ...     stage, done = Stage(), []
    ...     async def work(name):
    ...         await stage.hold(name)
    ...         done.append(name)
    ...     async with asyncio.TaskGroup() as tasks:
    ...         for name in ("first", "second"):
    ...             tasks.create_task(work(name))
    ...         while len(stage.held) < 2:
    ...             await asyncio.sleep(0)
    ...         for held in reversed(stage.held):
    ...             stage.release(held)
    ...     return done
    >>> asyncio.run(finished())
    ['second', 'first']
    """

    def __init__(self) -> None:
        self._held: list[Held] = []
        self._open = False
        self._lock = threading.Lock()

    @property
    def held(self) -> tuple[Held, ...]:
        """Those who wait, in the order they came."""
        with self._lock:
            return tuple(self._held)

    async def hold(self, key: object) -> None:
        """Wait until released; returns at once on an open stage."""
        loop = asyncio.get_running_loop()
        held = Held(key, loop, loop.create_future())
        with self._lock:
            if self._open:
                return
            self._held.append(held)
        try:
            await held._future  # noqa: SLF001 - the two classes are one mechanism
        finally:
            with self._lock, contextlib.suppress(ValueError):
                self._held.remove(held)

    def release(self, held: Held) -> None:
        """Let one go on. It leaves `held` at once, so that nobody releases it twice."""
        with self._lock, contextlib.suppress(ValueError):
            self._held.remove(held)
        with contextlib.suppress(RuntimeError):  # its event loop is closed: nobody waits there any more
            held._loop.call_soon_threadsafe(held._let_go)  # noqa: SLF001 - see above

    def open(self) -> None:
        """Let everybody go on, now and later."""
        with self._lock:
            self._open = True
        for held in self.held:
            self.release(held)
