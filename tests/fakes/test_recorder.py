"""The recorder: one log for all fakes, in the order in which things were asked, from whatever thread."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import nullcontext

import pytest

from looptck.contract.ag03 import CallContext, Message, ToolCall
from looptck_fakes import (
    GateAsked,
    ModelAnswered,
    ModelAsked,
    Recorder,
    RecordingRunner,
    RecordingTools,
    ScriptedProvider,
    StepEnded,
    StepStarted,
    TableGate,
    ToolEnded,
    ToolStarted,
    Turn,
    recorder,
)

CALL = ToolCall("call_1", "get_weather", "{}")


@pytest.fixture
def busy_threads() -> Iterator[Callable[[Callable[[], object]], None]]:
    """Runs the same work in four threads at once, which are made to take turns as often as the interpreter can."""
    interval = sys.getswitchinterval()

    def run(work: Callable[[], object]) -> None:
        together = threading.Barrier(4)

        def one() -> None:
            together.wait(30)
            work()

        threads = [threading.Thread(target=one) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    sys.setswitchinterval(1e-6)
    yield run
    sys.setswitchinterval(interval)


def one_of_each(log: Recorder) -> None:
    """A model call and a tool call, as a loop makes them, over four fakes that share the log."""
    provider = ScriptedProvider([Turn(calls=(CALL,))], recorder=log)
    tools, gate = RecordingTools({"get_weather": "sunny"}, recorder=log), TableGate({}, recorder=log)
    runner = RecordingRunner(recorder=log)

    async def ask() -> list[object]:
        return [chunk async for chunk in provider.stream([Message("user", "Hi")], tools.definitions(), {})]

    async def run() -> None:
        await runner.run("llm/1", "llm", ask)
        await gate.decide(CALL, CallContext(tainted=False, iter=1))
        await runner.run("tool/1/0/get_weather", "tool", lambda: tools.call(CALL))

    asyncio.run(run())


def test_fakes_that_share_a_log_write_it_in_the_order_they_were_asked() -> None:
    log = Recorder()
    one_of_each(log)
    kinds = [
        *(StepStarted, ModelAsked, ModelAnswered, StepEnded),
        GateAsked,
        *(StepStarted, ToolStarted, ToolEnded, StepEnded),
    ]
    assert [type(record) for record in log.records] == kinds
    assert [record.at for record in log.records] == list(range(9)) == list(range(len(log)))


def test_fakes_with_a_log_of_their_own_keep_apart() -> None:
    first, second = TableGate({}), TableGate({})
    asyncio.run(first.decide(CALL, CallContext(tainted=False, iter=1)))
    assert (len(first.recorder), len(second.recorder)) == (1, 0)


def test_numbers_count_each_kind_by_itself_from_zero() -> None:
    log = Recorder()
    one_of_each(log)
    one_of_each(log)
    assert [record.number for record in log.of(ModelAsked)] == [0, 1]
    assert [record.run for record in log.of(ToolStarted)] == [0, 1]
    assert [record.step for record in log.of(StepStarted)] == [0, 1, 2, 3]


def test_records_of_one_type_can_be_had_alone() -> None:
    log = Recorder()
    one_of_each(log)
    assert [record.kind for record in log.of(StepStarted)] == ["llm", "tool"]
    assert log.of(GateAsked) == (GateAsked(4, CALL, tainted=False, iter=1, verdict="allow"),)


def test_what_was_read_does_not_grow_with_the_log() -> None:
    log = Recorder()
    log.add(lambda at: GateAsked(at, CALL, tainted=False, iter=1, verdict="allow"))
    before = log.records
    log.add(lambda at: GateAsked(at, CALL, tainted=True, iter=2, verdict="allow"))
    assert len(before) == 1
    assert len(log.records) == 2


def test_a_record_that_cannot_be_made_leaves_no_gap() -> None:
    log = Recorder()

    def broken(_at: int) -> GateAsked:
        raise ValueError("boom")

    with pytest.raises(ValueError, match="boom"):
        log.add(broken)
    log.add(lambda at: GateAsked(at, CALL, tainted=False, iter=1, verdict="allow"))
    assert [record.at for record in log.records] == [0]


def test_a_full_log_refuses_more_and_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """So a loop that asks for ever ends before the memory does."""
    monkeypatch.setattr(recorder, "MOST_RECORDS", 3)
    gate = TableGate({})
    for number in range(5):
        with pytest.raises(recorder.TooManyRecordsError) if number >= 3 else nullcontext():
            asyncio.run(gate.decide(CALL, CallContext(tainted=False, iter=number)))
    assert [asked.iter for asked in gate.questions] == [0, 1, 2]


def test_no_record_is_lost_or_misplaced_between_threads(busy_threads: Callable[[Callable[[], object]], None]) -> None:
    log = Recorder()

    def write() -> None:
        for _ in range(200):
            log.add(lambda at: GateAsked(at, CALL, tainted=False, iter=1, verdict="allow"))

    busy_threads(write)
    assert [record.at for record in log.records] == list(range(800))


def test_requests_are_numbered_in_the_order_of_the_log(busy_threads: Callable[[Callable[[], object]], None]) -> None:
    provider = ScriptedProvider([Turn()] * 400)
    busy_threads(lambda: [provider.stream([], [], {}) for _ in range(100)])
    assert [request.number for request in provider.requests] == list(range(400))
    assert not any(request.beyond_script for request in provider.requests)


def test_tool_runs_and_steps_are_numbered_in_the_order_of_the_log(
    busy_threads: Callable[[Callable[[], object]], None],
) -> None:
    log = Recorder()
    tools, runner = RecordingTools({"get_weather": "sunny"}, recorder=log), RecordingRunner(recorder=log)

    async def run() -> None:
        for _ in range(50):
            await runner.run("tool/1/0/get_weather", "tool", lambda: tools.call(CALL))

    busy_threads(lambda: asyncio.run(run()))
    assert [record.run for record in log.of(ToolStarted)] == list(range(200))
    assert [record.step for record in log.of(StepStarted)] == list(range(200))
    assert sorted(record.run for record in log.of(ToolEnded)) == list(range(200))
    assert sorted(record.step for record in log.of(StepEnded)) == list(range(200))
