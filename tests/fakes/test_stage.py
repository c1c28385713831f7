"""The stage: a test decides who goes on next, whatever thread and event loop they wait in."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Callable, Sequence

import pytest

from looptck_fakes import Stage


async def until(condition: Callable[[], bool]) -> None:
    """Let others run until the condition holds; the limit is only there so that a broken fake hangs nobody."""
    async with asyncio.timeout(30):
        while not condition():  # noqa: ASYNC110 - a stage tells nobody that somebody came
            await asyncio.sleep(0)


async def enter(stage: Stage, key: object, finished: list[object]) -> None:
    await stage.hold(key)
    finished.append(key)


def keys(stage: Stage) -> list[object]:
    return [held.key for held in stage.held]


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))), ids=str)
def test_they_finish_in_the_order_in_which_they_are_released(order: Sequence[int]) -> None:
    async def run() -> list[object]:
        stage, finished = Stage(), list[object]()
        async with asyncio.TaskGroup() as tasks:
            for key in range(4):
                tasks.create_task(enter(stage, key, finished))
            await until(lambda: len(stage.held) == 4)
            waiting = stage.held
            for number, key in enumerate(order, start=1):
                stage.release(waiting[key])
                await until(lambda number=number: len(finished) == number)  # type: ignore[misc]
        return finished

    assert asyncio.run(run()) == list(order)


def test_the_held_are_listed_in_the_order_they_came_and_nobody_goes_on_alone() -> None:
    async def run() -> None:
        stage, finished = Stage(), list[object]()
        async with asyncio.TaskGroup() as tasks:
            for key in ("c", "a", "b"):
                tasks.create_task(enter(stage, key, finished))
            await until(lambda: len(stage.held) == 3)
            for _ in range(100):
                await asyncio.sleep(0)
            assert keys(stage) == ["c", "a", "b"]
            assert finished == []
            stage.open()

    asyncio.run(run())


def test_whoever_is_released_is_gone_from_the_list_before_it_runs() -> None:
    async def run() -> None:
        stage, finished = Stage(), list[object]()
        async with asyncio.TaskGroup() as tasks:
            for key in ("a", "b"):
                tasks.create_task(enter(stage, key, finished))
            await until(lambda: len(stage.held) == 2)
            stage.release(stage.held[0])
            assert keys(stage) == ["b"]
            assert finished == []
            stage.release(stage.held[0])

    asyncio.run(run())


def test_two_who_wait_under_the_same_key_are_two() -> None:
    async def run() -> None:
        stage, finished = Stage(), list[object]()
        async with asyncio.TaskGroup() as tasks:
            for _ in range(2):
                tasks.create_task(enter(stage, "same", finished))
            await until(lambda: len(stage.held) == 2)
            first, second = stage.held
            assert first != second
            stage.release(second)
            await until(lambda: bool(finished))
            assert stage.held == (first,)
            stage.release(first)

    asyncio.run(run())


def test_releasing_one_twice_lets_nobody_else_go() -> None:
    async def run() -> None:
        stage, finished, faults = Stage(), list[object](), list[object]()
        asyncio.get_running_loop().set_exception_handler(lambda _loop, context: faults.append(context))
        async with asyncio.TaskGroup() as tasks:
            for key in ("a", "b"):
                tasks.create_task(enter(stage, key, finished))
            await until(lambda: len(stage.held) == 2)
            first = stage.held[0]
            stage.release(first)
            stage.release(first)
            await until(lambda: bool(finished))
            stage.release(first)
            await asyncio.sleep(0)
            assert (keys(stage), finished, faults) == (["b"], ["a"], [])
            stage.open()

    asyncio.run(run())


def test_an_open_stage_holds_nobody_now_or_later() -> None:
    async def run() -> list[object]:
        stage, finished = Stage(), list[object]()
        async with asyncio.TaskGroup() as tasks:
            for key in ("a", "b"):
                tasks.create_task(enter(stage, key, finished))
            await until(lambda: len(stage.held) == 2)
            stage.open()
            assert stage.held == ()
        async with asyncio.timeout(30):
            await enter(stage, "late", finished)
        return finished

    assert asyncio.run(run()) == ["a", "b", "late"]


def test_one_who_is_cancelled_waits_no_more() -> None:
    async def run() -> None:
        stage, finished = Stage(), list[object]()
        tasks = [asyncio.create_task(enter(stage, key, finished)) for key in ("a", "b")]
        await until(lambda: len(stage.held) == 2)
        gone = stage.held[0]
        tasks[0].cancel()
        with pytest.raises(asyncio.CancelledError):
            await tasks[0]
        assert keys(stage) == ["b"]
        stage.release(gone)
        stage.release(stage.held[0])
        await tasks[1]
        assert finished == ["b"]

    asyncio.run(run())


# ---------------------------------------------------------------------------------------------- threads and event loops


def in_threads(work: Callable[[int], object], number: int = 2) -> list[threading.Thread]:
    threads = [threading.Thread(target=work, args=(place,), daemon=True) for place in range(number)]
    for thread in threads:
        thread.start()
    return threads


def joined(threads: list[threading.Thread]) -> bool:
    """Whether all of them ended; the limit is only there so that a broken fake hangs nobody."""
    for thread in threads:
        thread.join(30)
    return not any(thread.is_alive() for thread in threads)


def test_those_who_wait_in_other_threads_finish_in_the_order_of_release() -> None:
    stage, finished = Stage(), list[object]()

    async def two(place: int) -> None:
        async with asyncio.TaskGroup() as tasks:
            for number in range(2):
                tasks.create_task(enter(stage, (place, number), finished))

    threads = in_threads(lambda place: asyncio.run(two(place)))
    asyncio.run(until(lambda: len(stage.held) == 4))
    waiting = {held.key: held for held in stage.held}
    order = [(1, 1), (0, 0), (1, 0), (0, 1)]
    for number, key in enumerate(order, start=1):
        stage.release(waiting[key])
        asyncio.run(until(lambda number=number: len(finished) == number))  # type: ignore[misc]
    assert joined(threads)
    assert finished == order


def test_opening_wakes_those_who_wait_in_other_threads() -> None:
    stage, finished = Stage(), list[object]()
    threads = in_threads(lambda place: asyncio.run(enter(stage, place, finished)), number=4)
    asyncio.run(until(lambda: len(stage.held) == 4))
    stage.open()
    assert joined(threads)
    assert set(finished) == {0, 1, 2, 3}


def test_one_may_release_who_waits_in_another_event_loop() -> None:
    """Two loops that take turns: each lets the other one go on."""
    stage, finished = Stage(), list[object]()

    async def partner(place: int) -> None:
        other = 1 - place
        task = asyncio.create_task(enter(stage, place, finished))
        await until(lambda: other in keys(stage) or other in finished)
        for held in stage.held:
            if held.key == other:
                stage.release(held)
        await task

    assert joined(in_threads(lambda place: asyncio.run(partner(place))))
    assert set(finished) == {0, 1}
    assert stage.held == ()


def test_releasing_who_waited_in_a_loop_that_is_closed_is_no_error() -> None:
    stage = Stage()

    async def abandon() -> None:
        task = asyncio.create_task(stage.hold("gone"))
        await until(lambda: len(stage.held) == 1)
        held.append(stage.held[0])
        task.cancel()

    held = list(stage.held)
    asyncio.run(abandon())
    assert stage.held == ()
    stage.release(held[0])
