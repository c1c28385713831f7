"""Run blocking work beside the event loop, in such a way that none of it is left when the call is over."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["run_in_thread"]

T = TypeVar("T")


async def run_in_thread(work: Callable[[], T]) -> T:
    """Do the work in a thread of the loop's default executor, with the caller's context variables.

    A thread cannot be stopped. Cancelled while the work still waits for a thread, the work is never begun; cancelled
    later, this waits until the work is done, however often it is cancelled meanwhile, and then raises
    `CancelledError`. Either way nothing runs on afterwards.
    """
    claim = threading.Lock()  # taken once, by the thread that begins or by the cancellation that forestalls it

    def claimed() -> T | None:
        return work() if claim.acquire(blocking=False) else None

    context = contextvars.copy_context()
    running = asyncio.get_running_loop().run_in_executor(None, context.run, claimed)
    try:
        return cast("T", await asyncio.shield(running))
    except asyncio.CancelledError:
        if claim.acquire(blocking=False):
            running.cancel()
        while not running.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([running])
        raise
