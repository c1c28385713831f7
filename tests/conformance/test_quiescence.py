"""The event loop that knows when nothing more can happen: what it calls quiet, what not, and on what grounds."""

from __future__ import annotations

import asyncio
import hashlib
import socket
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from looptck.observe import quiescence
from looptck.observe.quiescence import HAS_PROC, LATE, QuiescentLoop, other_threads, threads_now

SHORT, WIDE, PLENTY = 0.02, 0.2, 20.0
"""Seconds: a window for what is really asleep, one for what only seems so, and a deadline that no test reaches."""

needs_proc = pytest.mark.skipif(not HAS_PROC, reason="thread states are read from /proc")


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
    ) -> str:
        """What the loop tells when `set_up` has made the situation."""
        loop = QuiescentLoop(self.strangers)

        async def asking() -> str:
            kept = set_up(loop)
            told = await loop.quiet(lambda: patience, lambda: self.progress, time.monotonic() + within)
            del kept
            return told

        try:
            return loop.run_until_complete(asking())
        finally:
            for task in asyncio.all_tasks(loop):
                task.cancel()
            loop.run_until_complete(asyncio.sleep(0))
            loop.close()


@pytest.fixture
def situation() -> Iterator[Situation]:
    made = Situation()
    yield made
    made.over.set()
    for thread in made.threads:
        thread.join()


# what is quiet


def test_a_loop_with_nothing_to_do_is_quiet_for_certain(situation: Situation) -> None:
    assert situation.ask() == "certain"


def test_coroutines_that_wait_for_each_other_are_quiet_for_certain(situation: Situation) -> None:
    assert situation.ask(lambda loop: [loop.create_task(waiting()) for _ in range(3)]) == "certain"


def test_coroutines_are_not_quiet_before_each_has_come_as_far_as_it_can(situation: Situation) -> None:
    turns = []

    async def walk() -> None:
        for turn in range(500):
            await asyncio.sleep(0)
            turns.append(turn)
        await waiting()

    assert situation.ask(lambda loop: [loop.create_task(walk()) for _ in range(2)]) == "certain"
    assert len(turns) == 1000


@needs_proc
def test_a_sleeping_thread_is_quiet_after_the_window(situation: Situation) -> None:
    situation.thread(situation.over.wait)
    assert situation.ask() == "threads"


@needs_proc
def test_a_tool_in_a_thread_is_quiet_after_the_window(situation: Situation) -> None:
    assert situation.ask(lambda loop: loop.run_in_executor(None, situation.over.wait)) == "threads"


@needs_proc
def test_an_open_connection_without_data_is_quiet_after_the_window(situation: Situation) -> None:
    here, there = socket.socketpair()
    with here, there:
        assert situation.ask(lambda loop: loop.add_reader(here, lambda: None)) == "threads"


@needs_proc
def test_a_timer_that_is_due_much_later_is_a_guard(situation: Situation) -> None:
    fired: list[str] = []
    assert situation.ask(lambda loop: loop.call_later(3600, fired.append, "guard")) == "threads"
    assert fired == []


def test_a_thread_that_polls_is_quiet_when_nothing_was_recorded_for_a_longer_window(situation: Situation) -> None:
    situation.thread(lambda: poll(situation.over))
    assert situation.ask() == "window"


def test_a_coroutine_that_polls_by_the_clock_is_quiet_when_nothing_was_recorded(situation: Situation) -> None:
    async def tick() -> None:
        while True:  # noqa: ASYNC110 - what is polled for never comes
            await asyncio.sleep(0.001)

    assert situation.ask(lambda loop: loop.create_task(tick())) == "window"


def test_a_coroutine_that_only_ever_yields_is_quiet_when_nothing_was_recorded(situation: Situation) -> None:
    assert situation.ask(lambda loop: loop.create_task(yielding())) == "window"


@needs_proc
def test_a_coroutine_that_yields_is_not_quiet_while_a_thread_computes(situation: Situation) -> None:
    data = bytes(1_000_000)

    def compute() -> None:
        while not situation.over.is_set():
            hashlib.sha256(data).digest()

    situation.thread(compute)
    assert situation.ask(lambda loop: loop.create_task(yielding()), within=0.4) == LATE


def test_threads_that_were_there_before_are_not_looked_at(situation: Situation) -> None:
    situation.thread(lambda: poll(situation.over))
    situation.strangers = threads_now()
    assert situation.ask() == "certain"


# what is not


def test_a_coroutine_that_only_ever_yields_is_not_quiet_before_the_longer_window_is_full(situation: Situation) -> None:
    assert situation.ask(lambda loop: loop.create_task(yielding()), patience=PLENTY, within=0.2) == LATE


def test_a_coroutine_that_yields_is_not_quiet_while_it_gets_anywhere(situation: Situation) -> None:
    async def find() -> None:
        while situation.progress < 5_000:
            await asyncio.sleep(0)
            situation.progress += 1
        await yielding()

    assert situation.ask(lambda loop: loop.create_task(find())) == "window"
    assert situation.progress == 5_000


@needs_proc
@pytest.mark.parametrize("data", [b"", bytes(1_000_000)], ids=["in-python", "in-c"])
def test_a_thread_that_computes_is_not_quiet(situation: Situation, data: bytes) -> None:
    def compute() -> None:
        while not situation.over.is_set():
            hashlib.sha256(data).digest()

    situation.thread(compute)
    assert situation.ask(within=0.4) == LATE


def test_a_timer_that_is_due_soon_is_not_quiet(situation: Situation) -> None:
    fired: list[str] = []
    situation.ask(lambda loop: loop.call_later(0.05, fired.append, "soon"), patience=1.0)
    assert fired == ["soon"]


def test_a_thread_that_hands_something_in_is_not_quiet_before(situation: Situation) -> None:
    handed: list[str] = []

    def hand_in(loop: QuiescentLoop) -> None:
        situation.over.wait(0.05)
        loop.call_soon_threadsafe(handed.append, "late answer")

    situation.ask(lambda loop: situation.thread(lambda: hand_in(loop)), patience=1.0)
    assert handed == ["late answer"]


def test_data_that_arrives_is_taken_before_anything_is_said(situation: Situation) -> None:
    here, there = socket.socketpair()
    got: list[bytes] = []

    def listen(loop: QuiescentLoop) -> None:
        loop.add_reader(here, lambda: got.append(here.recv(1)))
        there.send(b"abc")

    with here, there:
        situation.ask(listen)
    assert got == [b"a", b"b", b"c"]


def test_a_poller_is_not_quiet_while_it_gets_anywhere(situation: Situation) -> None:
    def poll_and_find() -> None:
        for _ in range(40):
            situation.over.wait(0.005)
            situation.progress += 1
        poll(situation.over)

    situation.thread(poll_and_find)
    assert situation.ask(patience=WIDE) == "window"
    assert situation.progress == 40


# deadlines and waiters


def test_a_deadline_that_has_passed_is_late_at_once(situation: Situation) -> None:
    situation.thread(situation.over.wait)
    assert situation.ask(within=-1) == LATE


def test_the_deadline_is_told_also_where_a_window_never_gets_full(situation: Situation) -> None:
    situation.thread(situation.over.wait)
    assert situation.ask(patience=PLENTY, within=0.1) == LATE


def test_who_has_stopped_waiting_is_told_nothing(situation: Situation) -> None:
    loop = QuiescentLoop(situation.strangers)

    async def change_of_mind() -> str:
        given_up = loop.quiet(lambda: SHORT, lambda: 0, time.monotonic() + PLENTY)
        given_up.cancel()
        await asyncio.wait([given_up])
        return await loop.quiet(lambda: SHORT, lambda: 0, time.monotonic() + PLENTY)

    try:
        assert loop.run_until_complete(change_of_mind()) == "certain"
    finally:
        loop.close()


def test_a_loop_that_nobody_asks_is_an_ordinary_one(situation: Situation) -> None:
    loop = QuiescentLoop(situation.strangers)

    async def ordinary() -> str:
        return await asyncio.wait_for(asyncio.to_thread(lambda: "from a thread"), PLENTY)

    try:
        assert loop.run_until_complete(ordinary()) == "from a thread"
        loop.run_until_complete(loop.shutdown_default_executor())
    finally:
        loop.close()


# where there is no /proc


def test_without_proc_a_window_stands_in_for_thread_states(
    situation: Situation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quiescence, "HAS_PROC", False)
    situation.thread(situation.over.wait)
    assert situation.ask() == "window"


def test_without_proc_threads_that_were_there_before_are_not_looked_at(
    situation: Situation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quiescence, "HAS_PROC", False)
    situation.thread(situation.over.wait)
    situation.strangers = threads_now()
    assert situation.ask() == "certain"


def test_without_proc_threads_are_those_that_python_knows(
    situation: Situation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quiescence, "HAS_PROC", False)
    before = threads_now()
    situation.thread(situation.over.wait)
    added = threads_now() - before
    assert added == {str(situation.threads[0].native_id)}
    assert other_threads(before) == dict.fromkeys(added, "")


async def waiting() -> None:
    """Wait for what nobody will send."""
    await asyncio.Future()


async def yielding() -> None:
    """Give way to others, and do nothing else."""
    while True:  # noqa: ASYNC110 - there is nothing to wait for
        await asyncio.sleep(0)


def poll(over: threading.Event) -> None:
    """Look again and again, asleep in between."""
    while not over.wait(0.001):
        pass
