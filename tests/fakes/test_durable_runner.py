"""The durable runner of the fakes: what a stopped run leaves in the journal, and what the next makes of that."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from looptck_fakes import DurableRunner, RecordingRunner, StepEnded, StopAt, StoppedError, UnknownWriteError


def works(done: list[str], name: str) -> Callable[[], Awaitable[str]]:
    async def work() -> str:
        done.append(name)
        await asyncio.sleep(0)
        return f"value of {name}"

    return work


def together(runner: DurableRunner, *names: str) -> tuple[list[str], list[Any]]:
    """Steps that a loop starts at once: whose work was done, and what became of each."""
    done: list[str] = []

    async def run() -> list[Any]:
        steps = [runner.run(name, "llm" if name == "llm" else "tool", works(done, name)) for name in names]
        return list(await asyncio.gather(*steps, return_exceptions=True))

    became = asyncio.run(run())
    return done, [type(one) if isinstance(one, Exception) else one for one in became]


def ends(runner: RecordingRunner) -> list[str]:
    return sorted(record.how for record in runner.recorder.of(StepEnded))


def test_without_a_stop_it_records() -> None:
    runner = DurableRunner()
    assert together(runner, "a", "b") == (["a", "b"], ["value of a", "value of b"])
    assert runner.journal == {"a": "value of a", "b": "value of b"}
    assert (runner.stopped, runner.waiting) == (False, False)


@pytest.mark.parametrize(
    ("stop", "done", "journal", "how"),
    [
        (StopAt(0), [], [], ["stopped"]),  # the others come to a runner that is stopped
        (StopAt(1), ["a"], ["a"], ["done", "stopped", "stopped"]),
        (StopAt(2), ["a", "b"], ["a", "b"], ["done", "done", "stopped"]),
        (StopAt(2, lost=True), ["a", "b"], ["a"], ["done", "lost", "stopped"]),
        (StopAt(1, overtaken=True), ["b"], ["b"], ["done", "stopped", "stopped"]),
        (StopAt(1, lost=True, overtaken=True), ["b"], [], ["lost", "stopped", "stopped"]),
    ],
)
def test_so_many_steps_end_and_the_others_never_begin(
    stop: StopAt, done: list[str], journal: list[str], how: list[str]
) -> None:
    runner = DurableRunner(stop=stop)
    assert together(runner, "a", "b", "c")[0] == done
    assert (sorted(runner.journal), sorted(runner.begun), ends(runner)) == (journal, done, how)
    assert runner.stopped
    assert not runner.waiting


def test_the_step_that_is_stopped_never_learns_its_value() -> None:
    assert together(DurableRunner(stop=StopAt(1)), "a") == (["a"], [StoppedError])


def test_a_stopped_runner_hears_no_more() -> None:
    runner = DurableRunner(stop=StopAt(1))
    together(runner, "a")
    records = len(runner.recorder)
    assert together(runner, "a", "b") == ([], [StoppedError, StoppedError])
    assert len(runner.recorder) == records


def test_the_next_one_gives_back_and_does_the_rest() -> None:
    first = DurableRunner(stop=StopAt(1))
    together(first, "a", "b")
    second = DurableRunner(first)
    assert together(second, "a", "b") == (["b"], ["value of a", "value of b"])
    assert ends(second) == ["done", "replayed"]
    assert list(first.journal) == ["a"]


def test_a_write_of_unknown_outcome_is_refused_and_a_read_done_again() -> None:
    tool, model = (DurableRunner(stop=StopAt(1, lost=True)) for _ in range(2))
    together(tool, "pay")
    together(model, "llm")
    assert tool.unknown == frozenset()
    assert (DurableRunner(tool).unknown, DurableRunner(model).unknown) == (frozenset({"pay"}), frozenset())
    assert together(refusing := DurableRunner(tool), "pay") == ([], [UnknownWriteError])
    assert ends(refusing) == ["refused"]
    assert together(DurableRunner(model), "llm") == (["llm"], ["value of llm"])


def test_it_refuses_with_the_error_that_it_is_given() -> None:
    first = DurableRunner(stop=StopAt(1, lost=True))
    together(first, "pay")
    assert together(second := DurableRunner(first, error=KeyError("pay")), "pay") == ([], [KeyError])
    assert ends(second) == ["refused"]


def test_work_that_raises_has_no_outcome() -> None:
    async def breaks() -> str:
        raise ConnectionError

    runner = DurableRunner(stop=StopAt(1))
    with pytest.raises(ConnectionError):
        asyncio.run(runner.run("pay", "tool", breaks))
    assert (runner.stopped, runner.journal, ends(runner)) == (True, {}, ["failed"])
    assert DurableRunner(runner).unknown == {"pay"}


def test_what_waits_can_be_stopped_at_once_and_what_is_under_way_is_lost() -> None:
    runner = DurableRunner(stop=StopAt(2, overtaken=True))
    going_on = asyncio.Event()

    async def slow() -> str:
        await going_on.wait()
        return "late"

    async def run() -> list[Any]:
        steps = [asyncio.ensure_future(runner.run(name, "tool", slow)) for name in ("a", "b")]
        while not runner.waiting:  # noqa: ASYNC110 - it tells nobody
            await asyncio.sleep(0)
        runner.stop()
        going_on.set()
        return list(await asyncio.gather(*steps, return_exceptions=True))

    assert [type(one) for one in asyncio.run(run())] == [StoppedError, StoppedError]
    assert (runner.journal, sorted(runner.begun), ends(runner)) == ({}, ["a"], ["lost", "stopped"])
