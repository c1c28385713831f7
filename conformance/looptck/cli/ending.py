"""SIGTERM and SIGHUP: they raise, so that whatever waits for children gets to end them, and they are remembered.

A loop in this process may swallow what is raised in it; the command ends all the same, as soon as it has the next turn.
"""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_came: list[int] = []
"""The signals that have come."""


class TerminatedError(KeyboardInterrupt):
    """A signal asks the command to end. What lets Ctrl-C through, asyncio and every adapter do, lets this through."""


@contextmanager
def terminating() -> Iterator[None]:
    """Signals raise, where this is the main thread; elsewhere nobody may say what a signal does."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _came.clear()
    before = {number: signal.signal(number, _terminate) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _terminate(number: int, _frame: object) -> None:
    _came.append(number)
    raise TerminatedError


def terminated() -> bool:
    """Whether such a signal has come."""
    return bool(_came)


def end_if_terminated() -> None:
    """Raise `TerminatedError` once more where one has come and nothing has ended by it."""
    if _came:
        raise TerminatedError
