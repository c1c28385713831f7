"""The event loop that knows when nothing more can happen: what it calls quiet, what not, and on what grounds."""

from __future__ import annotations

import asyncio
import hashlib
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from tests.conformance.situations import PLENTY, SHORT, WIDE, Situation

from looptck.observe import quiescence
from looptck.observe.quiescence import HAS_PROC, LATE, QuiescentLoop, other_threads, threads_now

BACK_OFF = 0.2
"""Seconds that a timer is set for, or that a deadline leaves: ten times a short window."""

needs_proc = pytest.mark.skipif(not HAS_PROC, reason="thread states are read from /proc")


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
    assert situation.ask(lambda loop: loop.create_task(polling(0.001))) == "window"


def test_a_coroutine_that_only_ever_yields_is_quiet_when_nothing_was_recorded(situation: Situation) -> None:
    assert situation.ask(lambda loop: loop.create_task(polling(0))) == "window"


@needs_proc
def test_a_coroutine_that_yields_is_not_quiet_while_a_thread_computes(situation: Situation) -> None:
    data = bytes(1_000_000)

    def compute() -> None:
        while not situation.over.is_set():
            hashlib.sha256(data).digest()

    situation.thread(compute)
    assert situation.ask(lambda loop: loop.create_task(polling(0)), within=0.4) == LATE


def test_threads_that_were_there_before_are_not_looked_at(situation: Situation) -> None:
    situation.thread(lambda: poll(situation.over))
    situation.strangers = threads_now()
    assert situation.ask() == "certain"


# what is not


def test_a_coroutine_that_only_ever_yields_is_not_quiet_before_the_longer_window_is_full(situation: Situation) -> None:
    assert situation.ask(lambda loop: loop.create_task(polling(0)), patience=PLENTY, within=0.2) == LATE


def test_a_coroutine_that_yields_is_not_quiet_while_it_gets_anywhere(situation: Situation) -> None:
    async def find() -> None:
        while situation.progress < 5_000:
            await asyncio.sleep(0)
            situation.progress += 1
        await polling(0)

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


def test_a_thread_that_wakes_the_loop_and_is_gone_has_been_heard(
    situation: Situation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ends at the worst moment: just before the look at the threads, which therefore finds none."""
    loops: list[QuiescentLoop] = []

    async def walk() -> None:
        for _ in range(3):
            await asyncio.sleep(0)
        situation.progress += 1

    def look(strangers: frozenset[str]) -> dict[str, str]:
        assert strangers == situation.strangers
        if loops:
            loop = loops.pop()
            loop.call_soon_threadsafe(lambda: loop.create_task(walk()))
        return {}

    monkeypatch.setattr(quiescence, "other_threads", look)
    assert situation.ask(loops.append) == "certain"
    assert situation.progress == 1


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


# what is no proof, however long it lasts


def set_for(seconds: float, situation: Situation) -> Callable[[QuiescentLoop], object]:
    """A loop that records something when a timer fires."""

    def fire() -> None:
        situation.progress += 1

    return lambda loop: loop.call_later(seconds, fire)


def test_a_timer_is_waited_for_where_a_proof_is_asked_for(situation: Situation) -> None:
    assert situation.ask(set_for(BACK_OFF, situation), proof=True) == "certain"
    assert situation.progress == 1


def test_where_none_is_asked_for_it_delays_nothing(situation: Situation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quiescence, "HORIZON", 7200)
    assert situation.ask(set_for(3600, situation)) == "window"
    assert situation.progress == 0


def test_a_timer_behind_the_deadline_is_none(situation: Situation) -> None:
    assert situation.ask(lambda loop: loop.call_later(3600, print), within=BACK_OFF, proof=True) == LATE


@pytest.mark.parametrize("pause", [0, 0.001, 0.06])
def test_a_poller_is_none(situation: Situation, pause: float) -> None:
    assert situation.ask(lambda loop: loop.create_task(polling(pause)), within=BACK_OFF, proof=True) == LATE


def test_a_thread_that_sleeps_is_none(situation: Situation) -> None:
    situation.thread(situation.over.wait)
    assert situation.ask(within=BACK_OFF, proof=True) == LATE


def test_a_connection_is_none(situation: Situation) -> None:
    here, there = socket.socketpair()
    with here, there:
        assert situation.ask(lambda loop: loop.add_reader(here, lambda: None), within=BACK_OFF, proof=True) == LATE


def test_an_executor_at_work_is_none(situation: Situation) -> None:
    def at_work(loop: QuiescentLoop) -> object:
        return loop.run_in_executor(None, situation.over.wait)

    assert situation.ask(at_work, within=BACK_OFF, proof=True) == LATE


def test_workers_without_work_change_nothing(situation: Situation) -> None:
    done = threading.Event()
    assert situation.ask(lambda loop: loop.run_in_executor(None, done.set), proof=True) == "threads"
    assert done.is_set()


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


# what a listing of threads misses


@needs_proc
def test_a_thread_that_ends_while_it_is_looked_hides_none_that_lives(situation: Situation) -> None:
    for _ in range(500):
        ends, lives = threading.Event(), threading.Event()
        ending, living = (threading.Thread(target=event.wait) for event in (ends, lives))
        ending.start()
        living.start()
        ends.set()
        looks = [other_threads(situation.strangers) for _ in range(3)]
        lives.set()
        ending.join()
        living.join()
        assert [seen for seen in looks if seen is not None and str(living.native_id) not in seen] == []


@needs_proc
@pytest.mark.parametrize("change", [lambda names: [*names, "0"], lambda names: names[:1]], ids=["gone", "hidden"])
def test_a_listing_that_is_not_whole_tells_nothing_and_is_made_again(
    change: Callable[[list[str]], list[str]], situation: Situation, monkeypatch: pytest.MonkeyPatch
) -> None:
    situation.thread(situation.over.wait)
    whole, listed, changes = threads_now(), os.listdir, [change]

    def list_tasks(path: str) -> list[str]:
        return changes.pop()(listed(path)) if changes else listed(path)

    monkeypatch.setattr(os, "listdir", list_tasks)
    assert other_threads(situation.strangers) is None
    changes.append(change)
    assert threads_now() == whole


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


async def polling(pause: float) -> None:
    """Give way to others, for so many seconds, and do nothing else."""
    while True:  # noqa: ASYNC110 - what is polled for never comes
        await asyncio.sleep(pause)


def poll(over: threading.Event) -> None:
    """Look again and again, asleep in between."""
    while not over.wait(0.001):
        pass
