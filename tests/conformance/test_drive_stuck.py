"""Runs that get nowhere or are cancelled: each is told from the others, and none holds up the kit."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from tests.conformance.driving import ANSWER, FERRY, FOUR, Hollow, observe, only, scenario

import looptck_reference
from looptck.contract.ag03 import Message, ToolResult
from looptck.observe import drive, quiescence
from looptck.scenario import Turn
from looptck_fakes import ModelAsked, ToolEnded

# a run that gets nowhere


class Hangs(Hollow):
    async def result(self) -> Any:
        await asyncio.Future()


class Polls(Hollow):
    async def result(self) -> Any:
        while True:  # noqa: ASYNC110 - that is its mistake
            await asyncio.sleep(0)


class Clings(Hollow):
    async def result(self) -> Any:
        while True:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.Future()


class AnswersItself(Hollow):
    """Asks its model without end, whatever it answers."""

    async def result(self) -> Any:
        while True:
            async for _ in self.options["provider"].stream(self.given, [], {}):
                pass


def test_a_run_that_can_do_nothing_more_is_unfinished() -> None:
    assert only(observe(Hangs)).status == "unfinished"


@pytest.mark.parametrize("raises", [False, True])
def test_what_a_run_gives_back_when_it_is_given_up_is_no_answer(raises: bool) -> None:  # noqa: FBT001
    class GivesIn(Hollow):
        async def result(self) -> Any:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.Future()
            if raises:
                raise RuntimeError("stopped")
            return Message("assistant", "At the pier.")

    seen = only(observe(GivesIn))
    assert (seen.status, seen.message) == ("unfinished", None)


def test_a_second_result_that_never_comes_leaves_the_first_an_answer() -> None:
    class Once(Hollow):
        taken = False

        async def result(self) -> Any:
            if self.taken:
                await asyncio.Future()
            self.taken = True
            return Message("assistant", "once")

    seen = only(observe(Once, scenario(result_twice=True)))
    assert (seen.status, seen.message, seen.again) == ("answered", Message("assistant", "once"), "unfinished")


def test_a_run_that_asks_beyond_the_script_fails_by_count() -> None:
    observation = observe(AnswersItself)
    seen = only(observation)
    assert (seen.status, seen.error and seen.error.kind) == ("failed", "script_exhausted")
    assert [r.beyond_script for r in observation.records if isinstance(r, ModelAsked)] == [False, False, True]


def test_a_run_that_never_rests_meets_the_limit() -> None:
    assert only(observe(Polls, limit=0.2)).status == "timeout"


def test_a_run_that_will_not_be_cancelled_is_given_up() -> None:
    assert only(observe(Clings)).status == "unfinished"


def test_a_run_that_waits_for_a_thread_that_waits_meets_the_limit() -> None:
    over = threading.Event()

    class WaitsForThread(Hollow):
        async def result(self) -> Any:
            return await asyncio.to_thread(over.wait)

    try:
        observation = observe(WaitsForThread, limit=0.2)
    finally:
        over.set()
    assert only(observation).status == "timeout"


def test_a_run_that_hangs_beside_an_executor_without_work_is_unfinished(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drive, "LONG", 0.05)

    class HangsLater(Hollow):
        async def result(self) -> Any:
            await asyncio.to_thread(int)
            await asyncio.Future()

    observation = observe(HangsLater)
    assert (only(observation).status, observation.settled_by) == ("unfinished", "threads")


# a run that waits for a timer


class BacksOff(Hollow):
    """Answers after a pause that is longer than any window."""

    async def result(self) -> Any:
        await asyncio.sleep(0.2)
        return Message("assistant", "At the pier.")


class LeavesTimer(Hollow):
    """Has set a timer that does nothing, and hangs."""

    due = 0.0

    async def result(self) -> Any:
        asyncio.get_running_loop().call_later(self.due, int)
        await asyncio.Future()


class Beats(Hollow):
    """Hangs beside a timer that is always set anew."""

    async def result(self) -> Any:
        while True:  # noqa: ASYNC110 - that is its mistake
            await asyncio.sleep(0.06)


@pytest.fixture
def short_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drive, "LONG", 0.005)
    monkeypatch.setattr(quiescence, "SETTLE_AT_LEAST", 0.02)


@pytest.mark.usefixtures("short_windows")
def test_a_run_that_backs_off_for_longer_than_the_window_is_waited_for() -> None:
    assert only(observe(BacksOff)).status == "answered"


@pytest.mark.usefixtures("short_windows")
@pytest.mark.parametrize(
    ("due", "limit", "status"),
    [(0.15, drive.LIMIT, "unfinished"), (3600.0, 0.2, "timeout")],
    ids=["within-the-limit", "beyond-it"],
)
def test_a_timer_that_leads_nowhere_saves_no_run(due: float, limit: float, status: str) -> None:
    assert only(observe(type("Leaves", (LeavesTimer,), {"due": due}), limit=limit)).status == status


@pytest.mark.usefixtures("short_windows")
def test_a_run_that_keeps_setting_timers_in_vain_meets_the_limit() -> None:
    assert only(observe(Beats, limit=0.2)).status == "timeout"


@pytest.mark.usefixtures("short_windows")
def test_a_guard_does_not_delay_the_tools_that_are_held() -> None:
    """If it did, it would come to an end itself, before the limit."""

    class Guards(Hollow):
        async def result(self) -> Any:
            calls = [self.options["tools"].call(call.call()) for call in FOUR]
            await asyncio.gather(*(asyncio.wait_for(call, 10.0) for call in calls))
            return Message("assistant", "At four piers.")

    observation = observe(Guards, scenario(Turn(calls=FOUR), ANSWER, finish="last"))
    assert (only(observation).status, len(observation.levels)) == ("answered", 4)


@pytest.mark.skipif(not quiescence.HAS_PROC, reason="such a loop is incomplete where thread states cannot be read")
def test_a_loop_that_blocks_the_event_loop_while_threads_run_its_tools_is_let_go_on() -> None:
    class Blocks(Hollow):
        async def result(self) -> Any:
            pool = ThreadPoolExecutor()
            runs = [pool.submit(asyncio.run, self.options["tools"].call(call.call())) for call in FOUR]
            results = [run.result(timeout=5) for run in runs]  # nobody else has a turn now
            return Message("assistant", ", ".join(result.content for result in results))

    observation = observe(Blocks, scenario(Turn(calls=FOUR), ANSWER, finish="last"))
    assert only(observation).message == Message("assistant", "pier 0, pier 1, pier 2, pier 3")
    assert observation.levels == (4, 3, 2, 1)


def test_after_a_run_that_gets_nowhere_no_other_is_begun() -> None:
    twice = scenario().model_copy(update={"invocations": scenario().invocations * 2})
    assert len(observe(Hangs, twice).invocations) == 1
    assert len(observe(Hollow, twice).invocations) == 2


# cancelling


def test_the_caller_is_cancelled_while_a_tool_runs() -> None:
    observation = observe(looptck_reference.Agent, scenario(cancel="tools"))
    seen = only(observation)
    assert (seen.status, seen.in_flight_at_end) == ("cancelled", 0)
    assert [record.how for record in observation.records if isinstance(record, ToolEnded)] == ["cancelled"]


def test_the_caller_is_cancelled_while_the_model_speaks() -> None:
    held = Turn(text=("At ", "the pier."), hold=True)
    observation = observe(looptck_reference.Agent, scenario(held, cancel="stream"))
    assert only(observation).status == "cancelled"
    assert [type(record).__name__ for record in observation.records] == ["ModelAsked", "ModelAnswered"]


def test_tools_that_outlive_a_cancelled_run_are_counted() -> None:
    kept: set[asyncio.Task[ToolResult]] = set()

    class LetsRun(Hollow):
        async def result(self) -> Any:
            kept.add(asyncio.get_running_loop().create_task(self.options["tools"].call(FERRY.call())))
            await asyncio.Future()

    observation = observe(LetsRun, scenario(cancel="tools"))
    assert (only(observation).status, only(observation).in_flight_at_end) == ("cancelled", 1)
    assert observation.leftovers == ("RecordingTools.call",)
