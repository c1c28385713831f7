"""The step runners: a journal that is recorded, replayed without any work, or refused."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from looptck.contract.ag03 import StepKind, StepRunner
from looptck_fakes import (
    Recorder,
    RecordingRunner,
    RefusedStepError,
    RefusingRunner,
    ReplayingRunner,
    Stage,
    StepEnded,
    StepStarted,
)

RUNNERS: list[Callable[[], RecordingRunner]] = [
    RecordingRunner,
    lambda: ReplayingRunner({"llm/1": "recorded"}),
    lambda: RefusingRunner({"tool/1/0/pay"}),
]
KINDS = ["recording", "replaying", "refusing"]


class Work:
    """A step's work that counts how often it is done."""

    def __init__(self, value: object = None, error: BaseException | None = None) -> None:
        self.value = value
        self.error = error
        self.done = 0

    async def __call__(self) -> object:
        self.done += 1
        if self.error is not None:
            raise self.error
        return self.value


def step(runner: StepRunner, name: str, work: Work, kind: StepKind = "llm") -> object:
    return asyncio.run(runner.run(name, kind, work))


def ends(runner: RecordingRunner) -> list[str]:
    return [ended.how for ended in runner.recorder.of(StepEnded)]


# ------------------------------------------------------------------------------------------------------------ recording


def test_a_recorded_step_is_done_once_and_its_value_kept() -> None:
    runner, work = RecordingRunner(), Work(value=["the", "very", "object"])
    assert step(runner, "llm/1", work) is work.value
    assert runner.journal == {"llm/1": work.value}
    assert runner.journal["llm/1"] is work.value
    assert work.done == 1


def test_steps_are_told_by_name_and_kind_in_the_order_they_started() -> None:
    runner = RecordingRunner()
    step(runner, "llm/1", Work())
    step(runner, "tool/1/0/get_weather", Work(), "tool")
    assert runner.steps == (("llm/1", "llm"), ("tool/1/0/get_weather", "tool"))
    assert runner.recorder.records == (
        StepStarted(0, 0, "llm/1", "llm"),
        StepEnded(1, 0, "done"),
        StepStarted(2, 1, "tool/1/0/get_weather", "tool"),
        StepEnded(3, 1, "done"),
    )


@pytest.mark.parametrize("make", [RUNNERS[0], RUNNERS[2]], ids=[KINDS[0], KINDS[2]])
@pytest.mark.parametrize(
    ("error", "how"),
    [(ValueError("boom"), "failed"), (KeyboardInterrupt(), "failed"), (asyncio.CancelledError(), "cancelled")],
    ids=["exception", "interrupt", "cancellation"],
)
def test_work_that_fails_ends_its_step_and_is_not_in_the_journal(
    make: Callable[[], RecordingRunner], error: BaseException, how: str
) -> None:
    runner = make()

    async def run() -> BaseException | None:
        try:
            await runner.run("llm/1", "llm", Work(error=error))
        except BaseException as raised:  # noqa: BLE001 - the error of the work may be of any kind
            return raised
        return None

    assert asyncio.run(run()) is error
    assert ends(runner) == [how]
    assert runner.journal == {}


def test_a_step_that_is_cancelled_from_outside_is_over() -> None:
    runner, stage = RecordingRunner(), Stage()

    async def run() -> None:
        task = asyncio.create_task(runner.run("llm/1", "llm", lambda: stage.hold("work")))
        async with asyncio.timeout(30):
            while not stage.held:  # noqa: ASYNC110 - a stage tells nobody that somebody came
                await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())
    assert ends(runner) == ["cancelled"]


def test_a_step_done_again_replaces_its_value() -> None:
    runner = RecordingRunner()
    step(runner, "llm/1", Work("first"))
    step(runner, "llm/1", Work("second"))
    assert runner.journal == {"llm/1": "second"}
    assert len(runner.steps) == 2


# ------------------------------------------------------------------------------------------------------------ replaying


def test_a_replay_gives_back_the_very_value_and_does_no_work() -> None:
    recorded, work = ["the", "very", "object"], Work("new")
    runner = ReplayingRunner({"llm/1": recorded})
    assert step(runner, "llm/1", work) is recorded
    assert step(runner, "llm/1", work) is recorded
    assert work.done == 0
    assert ends(runner) == ["replayed", "replayed"]


def test_a_recorded_nothing_is_replayed_too() -> None:
    work = Work("new")
    assert step(ReplayingRunner({"llm/1": None}), "llm/1", work) is None
    assert work.done == 0


def test_a_replay_refuses_a_step_that_the_journal_does_not_know() -> None:
    runner, work = ReplayingRunner({"llm/1": "a"}), Work("new")
    with pytest.raises(RefusedStepError, match="'llm/2'"):
        step(runner, "llm/2", work)
    assert work.done == 0
    assert ends(runner) == ["refused"]
    assert runner.journal == {"llm/1": "a"}


def test_a_replay_goes_by_its_own_copy_of_the_journal() -> None:
    journal: dict[str, Any] = {"llm/1": "a"}
    runner = ReplayingRunner(journal)
    journal.clear()
    assert step(runner, "llm/1", Work()) == "a"


def test_the_journal_of_a_recording_can_be_replayed() -> None:
    recording = RecordingRunner()
    step(recording, "llm/1", Work("reply"))
    step(recording, "tool/1/0/a", Work("result"), "tool")
    replaying = ReplayingRunner(recording.journal)
    assert step(replaying, "llm/1", Work()) == "reply"
    assert step(replaying, "tool/1/0/a", Work(), "tool") == "result"
    assert replaying.steps == recording.steps


# ------------------------------------------------------------------------------------------------------------- refusing


def test_a_refused_step_does_no_work_and_the_others_do() -> None:
    runner, refused, done = RefusingRunner({"tool/1/0/pay"}), Work(), Work("paid")
    with pytest.raises(RefusedStepError, match="'tool/1/0/pay'"):
        step(runner, "tool/1/0/pay", refused, "tool")
    assert step(runner, "tool/1/1/pay", done, "tool") == "paid"
    assert (refused.done, done.done) == (0, 1)
    assert ends(runner) == ["refused", "done"]
    assert runner.journal == {"tool/1/1/pay": "paid"}


def test_a_refusal_may_be_an_error_of_ones_own() -> None:
    error = OSError("the journal is full")
    runner = RefusingRunner({"llm/1", "llm/2"}, error=error)
    for name in ("llm/1", "llm/2"):
        with pytest.raises(OSError, match="full") as caught:
            step(runner, name, Work())
        assert caught.value is error
    assert ends(runner) == ["refused", "refused"]


def test_an_error_of_the_work_is_no_refusal() -> None:
    runner = RefusingRunner({"llm/2"}, error=OSError("the journal is full"))
    with pytest.raises(OSError, match="full"):
        step(runner, "llm/1", Work(error=OSError("the disk is full")))
    assert ends(runner) == ["failed"]


# ----------------------------------------------------------------------------------------------------- logs and threads


@pytest.mark.parametrize("make", RUNNERS, ids=KINDS)
def test_every_runner_has_a_log_of_its_own_unless_one_is_given(make: Callable[[], RecordingRunner]) -> None:
    first, second = make(), make()
    step(first, "llm/1", Work())
    assert (len(first.steps), len(second.steps)) == (1, 0)


def test_runners_that_share_a_log_number_their_steps_together() -> None:
    log = Recorder()
    runners = [
        RecordingRunner(recorder=log),
        ReplayingRunner({"llm/1": "a"}, recorder=log),
        RefusingRunner(set(), recorder=log),
    ]
    for runner in runners:
        step(runner, "llm/1", Work())
    assert [started.step for started in log.of(StepStarted)] == [0, 1, 2]
    assert [(ended.step, ended.how) for ended in log.of(StepEnded)] == [(0, "done"), (1, "replayed"), (2, "done")]


def test_two_threads_may_use_the_same_runner() -> None:
    runner = RecordingRunner()

    async def run(place: int) -> None:
        for number in range(50):
            await runner.run(f"tool/{place}/{number}/a", "tool", Work((place, number)))

    threads = [threading.Thread(target=lambda place=place: asyncio.run(run(place))) for place in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert runner.journal == {f"tool/{place}/{number}/a": (place, number) for place in (0, 1) for number in range(50)}
    assert {started.step for started in runner.recorder.of(StepStarted)} == set(range(100))
    assert ends(runner) == ["done"] * 100
