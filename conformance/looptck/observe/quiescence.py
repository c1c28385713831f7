"""An asyncio event loop with the real clock that knows when nothing more can happen.

Quiescent means: no ready callback, no I/O, no timer due soon, and every other thread asleep with unchanged
context-switch counters. Where the loop is alone (no other thread, no timer, no socket) that is a proof and is told at
once. Otherwise it is an observation over a window, so it may only be used to judge upper bounds. Whoever wants to
conclude that something will *not* happen any more asks for a `proof`: a loop that backs off, or waits for a thread, a
process or a connection, may be alive whatever its threads look like, and is waited for until the deadline.

Thread states are read from /proc. Where there is none, a settling window without any recorded activity stands in.
"""

from __future__ import annotations

import asyncio
import os
import selectors
import sys
import threading
import time
from concurrent.futures import thread as executor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable

Certainty = Literal["certain", "threads", "window"]
"""What a quiescence rests on: a proof, sleeping threads, or a window in which nothing was recorded."""
LATE: Literal["late"] = "late"
"""What a waiter is told when its deadline passes first."""

POLL = 0.002
"""Seconds between two looks at the other threads."""
HORIZON = 1.0
"""Where no proof is asked for, a timer due later than this many seconds is a guard, not something about to happen."""
WAITING = 0.02
"""Seconds between two looks where only a proof, or the deadline, ends the waiting."""
SETTLE_AT_LEAST, SETTLE_TIMES = 0.1, 3
"""Where thread states tell nothing (a poller, no /proc): the least window in seconds, and how much longer it is."""

_PROC_TASKS = "/proc/self/task"
HAS_PROC = os.path.isdir(_PROC_TASKS)  # noqa: PTH112 - asked once, no Path needed


@dataclass(slots=True)
class _Waiter:
    """Who waits for quiescence: how long a window it needs, and what counts as activity."""

    future: asyncio.Future[Certainty | Literal["late"]]
    deadline: float
    proof: Callable[[], bool]
    patience: Callable[[], float]
    activity: Callable[[], int]
    last_activity: int
    active_at: float
    snapshot: dict[str, str] | None = None
    stable_at: float = field(default_factory=time.monotonic)

    def note(self, now: float) -> None:
        """Look whether anything was recorded."""
        if self.activity() != self.last_activity:
            self.last_activity, self.active_at = self.activity(), now

    def settled(self, now: float) -> bool:
        """Whether nothing was recorded for as long as makes a poller, or a loop whose threads are hidden, quiescent."""
        return now - self.active_at >= max(SETTLE_AT_LEAST, self.patience() * SETTLE_TIMES)


class _Selector(selectors.DefaultSelector):
    """The selector that asyncio would use, which asks the loop before it blocks."""

    owner: QuiescentLoop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        waiter = self.owner.waiter
        self.owner.turns += 1
        if waiter is None:
            return super().select(timeout)
        if time.monotonic() >= waiter.deadline:
            self.owner.tell(waiter, LATE)
            return super().select(0)
        if timeout is not None and timeout <= 0:
            self.owner.look_while_busy(waiter)
            return super().select(timeout)
        # The threads first: one that wakes this loop and is gone by the next look has left its mark when I/O is asked.
        threads = other_threads(self.owner.strangers)
        ready = super().select(0)
        if ready:
            waiter.stable_at = time.monotonic()
            return ready
        pause = self.owner.look(waiter, timeout, threads, alone=len(self.get_map()) <= 1)
        return [] if pause is None else super().select(pause)


class QuiescentLoop(asyncio.SelectorEventLoop):
    """The event loop; `strangers` are thread ids that were there before any loop under test and do not count."""

    def __init__(self, strangers: frozenset[str] = frozenset()) -> None:
        selector = _Selector()
        selector.owner = self
        self.waiter: _Waiter | None = None
        self.turns = 0
        self.strangers = strangers
        super().__init__(selector)

    def quiet(
        self,
        patience: Callable[[], float],
        activity: Callable[[], int],
        deadline: float,
        proof: Callable[[], bool] = lambda: False,
    ) -> asyncio.Future[Certainty | Literal["late"]]:
        """A future that is done once the loop is quiescent, or with `LATE` at the deadline (of `time.monotonic`).

        `patience()` is the window in seconds that an uncertain quiescence must last, asked anew at every look;
        `activity()` is a number that changes whenever the run got anywhere; `proof()` is whether nothing short of a
        proof will do. One caller at a time; the deadline is no timer of the loop, which would make every quiescence
        uncertain.
        """
        future: asyncio.Future[Certainty | Literal["late"]] = self.create_future()
        self.waiter = _Waiter(future, deadline, proof, patience, activity, activity(), time.monotonic())
        return future

    def look(
        self, waiter: _Waiter, timeout: float | None, threads: dict[str, str] | None, *, alone: bool
    ) -> float | None:
        """Seconds to wait for events before the next look, or None when the loop is quiescent (the waiter is told).

        `threads` are the other threads, looked at before it was asked whether there is any I/O.
        """
        if waiter.future.done():
            self.waiter = None
            return timeout
        if timeout is None and alone and threads == {}:
            self.tell(waiter, "certain")
            return None
        now = time.monotonic()
        waiter.note(now)
        if threads is None or threads != waiter.snapshot:
            waiter.snapshot, waiter.stable_at = threads, now
        still = now - max(waiter.stable_at, waiter.active_at)
        if waiter.proof():
            idle = threads is not None and still >= waiter.patience() and all_idle(threads)
            if timeout is not None or not alone or not idle:
                return min(WAITING, WAITING if timeout is None else timeout)
        timer_soon = timeout is not None and timeout < HORIZON
        if HAS_PROC and not timer_soon and threads is not None and still >= waiter.patience():
            self.tell(waiter, "threads")
            return None
        asleep = threads is not None or not HAS_PROC
        if asleep and waiter.settled(now):
            self.tell(waiter, "window")
            return None
        return POLL if timeout is None else min(POLL, timeout)

    def look_while_busy(self, waiter: _Waiter) -> None:
        """Callbacks are ready: a loop that only ever yields is quiescent once nothing is recorded for a window."""
        now = time.monotonic()
        waiter.note(now)
        if not waiter.proof() and waiter.settled(now) and other_threads(self.strangers) is not None:
            self.tell(waiter, "window")

    def tell(self, waiter: _Waiter, certainty: Certainty | Literal["late"]) -> None:
        """Let the waiter know, once."""
        self.waiter = None
        if not waiter.future.done():
            waiter.future.set_result(certainty)


def other_threads(strangers: frozenset[str]) -> dict[str, str] | None:
    """Context-switch counters of every other thread of this process by thread id.

    None when one is not asleep, or has just ended: then somebody who lives may be missing from what was seen.
    """
    me = str(threading.get_native_id())
    if not HAS_PROC:
        return dict.fromkeys(threads_now() - strangers - {me}, "")
    statuses = _statuses()
    if statuses is None:
        return None
    found = {}
    for thread in statuses.keys() - strangers - {me}:
        status = statuses[thread]
        if status.split("State:\t", 1)[1][0] != "S":
            return None
        found[thread] = status[status.index("voluntary_ctxt") :]
    return found


def _statuses() -> dict[str, str] | None:
    """What /proc says of each thread of this process, or None where one ended while it was asked.

    A listing of threads stops early when the thread that it stands at ends, without an error, and misses those behind
    that one: of 20,000 threads that ended beside a living one, 450 hid it. So all that are listed have to be there
    still, and to be as many as the process says that it has.
    """
    statuses, status = {}, ""
    try:
        for thread in os.listdir(_PROC_TASKS):  # noqa: PTH208 - runs at every look
            with open(f"{_PROC_TASKS}/{thread}/status") as file:  # noqa: PTH123 - see above
                statuses[thread] = status = file.read()
    except OSError:
        return None
    number = status.split("Threads:\t", 1)[1].split("\n", 1)[0]
    return statuses if len(statuses) == int(number) else None


_AT_REST = executor._worker.__code__  # noqa: SLF001 - where a worker waits for work


def all_idle(threads: dict[str, str]) -> bool:
    """Whether each of these threads is an executor's worker without work: nobody but the loop could give it any."""
    known = {str(thread.native_id): thread.ident or 0 for thread in threading.enumerate()}
    frames = sys._current_frames()  # noqa: SLF001 - documented, for all its name
    return all(getattr(frames.get(known.get(name, 0)), "f_code", None) is _AT_REST for name in threads)


_strangers: frozenset[str] | None = None


def strangers() -> frozenset[str]:
    """The threads that were there before any loop under test, its import included; noted when first asked for."""
    global _strangers  # noqa: PLW0603 - a fact of the process
    if _strangers is None:
        _strangers = threads_now()
    return _strangers


def threads_now() -> frozenset[str]:
    """Ids of the threads that exist now, as `other_threads` names them."""
    if HAS_PROC:
        while (statuses := _statuses()) is None:
            pass  # threads come and go: the next look tells
        return frozenset(statuses)
    return frozenset(str(thread.native_id) for thread in threading.enumerate())
