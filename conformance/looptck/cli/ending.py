"""SIGTERM and SIGHUP: they raise, so that whatever waits for children gets to end them, and they are remembered.

A loop in this process may swallow what is raised in it. So there it is raised again, and the command ends all the same.
"""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

AGAIN = 0.5
"""Seconds after which a loop in this process is told once more that it is over."""


class TerminatedError(KeyboardInterrupt):
    """A signal asks the command to end. What lets Ctrl-C through, asyncio and every adapter do, lets this through."""


@dataclass(slots=True)
class _State:
    """Whether such a signal has come, and whether it is to be raised more than once."""

    came: bool = False
    insists: bool = False


_state = _State()


@contextmanager
def terminating() -> Iterator[None]:
    """Signals raise, where this is the main thread; elsewhere nobody may say what a signal does."""
    _state.came = False
    if not _ours():
        yield
        return
    before = {number: signal.signal(number, _terminate) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def insisting() -> Iterator[None]:
    """While a loop runs in this process, a signal that has come is raised until it gets through, at the latest here."""
    if not _ours():
        yield
        return
    before = signal.signal(signal.SIGALRM, _terminate)
    _state.insists = True
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        _state.insists = False
        signal.signal(signal.SIGALRM, before)
    if _state.came:
        raise TerminatedError


def terminated() -> bool:
    """Whether such a signal has come."""
    return _state.came


def _ours() -> bool:
    return threading.current_thread() is threading.main_thread()


def _terminate(_number: int, _frame: object) -> None:
    _state.came = True
    if _state.insists:
        signal.setitimer(signal.ITIMER_REAL, AGAIN)
    raise TerminatedError
