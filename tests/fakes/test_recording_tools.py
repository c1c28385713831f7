"""Recording tools: answers from a table, a finishing order that the test decides, and a record of every run."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import pytest

from looptck.contract.ag03 import ToolCall, ToolDefinition, ToolResult
from looptck_fakes import Answer, Raises, Recorder, RecordingTools, Stage, ToolEnded, ToolStarted


def calling(name: str, number: int = 1) -> ToolCall:
    return ToolCall(f"call_{number}", name, "{}")


def answer_of(answer: Answer) -> ToolResult:
    return asyncio.run(RecordingTools({"tool": answer}).call(calling("tool")))


def ends(tools: RecordingTools) -> list[tuple[int, str, ToolResult | None]]:
    return [(ended.run, ended.how, ended.result) for ended in tools.recorder.of(ToolEnded)]


async def until(condition: Callable[[], bool]) -> None:
    """Let others run until the condition holds; the limit is only there so that a broken fake hangs nobody."""
    async with asyncio.timeout(30):
        while not condition():  # noqa: ASYNC110 - a stage tells nobody that somebody came
            await asyncio.sleep(0)


# -------------------------------------------------------------------------------------------------------------- answers


@pytest.mark.parametrize(
    ("answer", "result"),
    [
        ("sunny, 21 C", ToolResult("sunny, 21 C")),
        (ToolResult("no such city", is_error=True), ToolResult("no such city", is_error=True)),
        (ValueError("no such city"), ToolResult("ValueError: no such city", is_error=True)),
        (lambda call: f"{call.name} of {call.id}", ToolResult("tool of call_1")),
        (lambda _call: KeyError("a"), ToolResult("KeyError: 'a'", is_error=True)),
        (lambda _call: lambda call: call.arguments, ToolResult("{}")),
    ],
    ids=["text", "result", "exception", "function", "function to exception", "function to function"],
)
def test_an_answer_becomes_a_result(answer: Answer, result: ToolResult) -> None:
    assert answer_of(answer) == result


@pytest.mark.parametrize("error", [ConnectionError("gone"), KeyboardInterrupt()], ids=repr)
def test_only_raises_really_raises(error: BaseException) -> None:
    tools = RecordingTools({"tool": Raises(error)})
    with pytest.raises(type(error)) as caught:
        asyncio.run(tools.call(calling("tool")))
    assert caught.value is error
    assert ends(tools) == [(0, "raised", None)]


def test_a_tool_that_is_not_in_the_table_is_an_error_result() -> None:
    tools = RecordingTools({"get_weather": "sunny"})
    assert asyncio.run(tools.call(calling("get_wether"))) == ToolResult("unknown tool: get_wether", is_error=True)
    assert tools.runs == (calling("get_wether"),)


def test_one_function_may_answer_for_every_tool() -> None:
    tools = RecordingTools(lambda call: call.name)
    assert asyncio.run(tools.call(calling("anything"))) == ToolResult("anything")
    assert tools.definitions() == ()


def test_the_tools_of_the_table_are_defined_in_its_order() -> None:
    assert RecordingTools({"b": "1", "a": "2"}).definitions() == (ToolDefinition("b"), ToolDefinition("a"))


def test_definitions_that_are_given_are_taken_as_they_are() -> None:
    given = [ToolDefinition("add", "Adds.", {"type": "object"})]
    tools = RecordingTools({"add": "3", "hidden": "4"}, definitions=given)
    given.clear()
    assert tools.definitions() == (ToolDefinition("add", "Adds.", {"type": "object"}),)


# -------------------------------------------------------------------------------------------------------------- records


def test_every_run_is_recorded_from_its_start_to_its_end() -> None:
    tools = RecordingTools({"tool": "ok"})
    asyncio.run(tools.call(calling("tool", 1)))
    asyncio.run(tools.call(calling("tool", 2)))
    assert tools.recorder.records == (
        ToolStarted(0, 0, calling("tool", 1)),
        ToolEnded(1, 0, "returned", ToolResult("ok")),
        ToolStarted(2, 1, calling("tool", 2)),
        ToolEnded(3, 1, "returned", ToolResult("ok")),
    )
    assert tools.runs == (calling("tool", 1), calling("tool", 2))


def test_a_call_that_is_never_awaited_has_not_run() -> None:
    tools = RecordingTools({"tool": "ok"})
    tools.call(calling("tool")).close()
    assert tools.runs == ()


def test_the_probe_looks_from_inside_the_run() -> None:
    """So a kit can note which span is the current one there."""
    current: ContextVar[str | None] = ContextVar("current", default=None)
    tools = RecordingTools({"tool": "ok"}, recorder=Recorder(current.get))

    async def run(number: int) -> None:
        current.set(f"span {number}")
        await tools.call(calling("tool", number))

    async def both() -> None:
        await asyncio.gather(run(1), run(2))
        await tools.call(calling("tool", 3))

    asyncio.run(both())
    seen = {started.call.id: started.context for started in tools.recorder.of(ToolStarted)}
    assert seen == {"call_1": "span 1", "call_2": "span 2", "call_3": None}


# -------------------------------------------------------------------------------------------------------------- holding


def test_the_stage_decides_which_run_ends_next() -> None:
    stage = Stage()
    tools = RecordingTools({"tool": lambda call: f"answer to {call.id}"}, stage=stage)

    async def run() -> list[ToolResult]:
        async with asyncio.TaskGroup() as tasks:
            running = [tasks.create_task(tools.call(calling("tool", number))) for number in range(3)]
            await until(lambda: len(stage.held) == 3)
            assert tools.in_flight == 3
            for left in (2, 1, 0):
                stage.release(stage.held[-1])
                await until(lambda left=left: tools.in_flight == left)  # type: ignore[misc]
        return [task.result() for task in running]

    assert [result.content for result in asyncio.run(run())] == [f"answer to call_{number}" for number in range(3)]
    assert [run for run, _, _ in ends(tools)] == [2, 1, 0]
    assert tools.in_flight == 0


def test_one_call_made_twice_is_two_runs() -> None:
    stage = Stage()
    tools = RecordingTools({"tool": "ok"}, stage=stage)

    async def run() -> None:
        async with asyncio.TaskGroup() as tasks:
            for _ in range(2):
                tasks.create_task(tools.call(calling("tool")))
            await until(lambda: len(stage.held) == 2)
            stage.release(stage.held[1])
            await until(lambda: tools.in_flight == 1)
            stage.open()

    asyncio.run(run())
    assert [run for run, _, _ in ends(tools)] == [1, 0]


def test_a_run_that_is_cancelled_is_over() -> None:
    stage = Stage()
    tools = RecordingTools({"tool": "ok"}, stage=stage)

    async def run() -> None:
        task = asyncio.create_task(tools.call(calling("tool")))
        await until(lambda: bool(stage.held))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())
    assert ends(tools) == [(0, "cancelled", None)]
    assert tools.in_flight == 0
    assert stage.held == ()


# ---------------------------------------------------------------------------------------------- threads and event loops


def in_threads(work: Callable[[int], object]) -> list[threading.Thread]:
    threads = [threading.Thread(target=work, args=(place,), daemon=True) for place in range(2)]
    for thread in threads:
        thread.start()
    return threads


def test_runs_in_two_event_loops_end_in_the_order_that_a_third_thread_decides() -> None:
    stage = Stage()
    tools = RecordingTools({"tool": lambda call: call.id}, stage=stage)
    results: dict[int, list[Any]] = {}

    async def run(place: int) -> None:
        results[place] = await asyncio.gather(*(tools.call(calling("tool", 10 * place + n)) for n in range(2)))

    threads = in_threads(lambda place: asyncio.run(run(place)))
    asyncio.run(until(lambda: len(stage.held) == 4))
    waiting = {held.key: held for held in stage.held}
    order = [calling("tool", number) for number in (11, 0, 10, 1)]
    for ended, call in enumerate(order, start=1):
        stage.release(waiting[call])
        asyncio.run(until(lambda ended=ended: len(ends(tools)) == ended))  # type: ignore[misc]
    for thread in threads:
        thread.join(30)
    assert [result.content for _, _, result in ends(tools) if result] == [call.id for call in order]
    assert {place: [result.content for result in got] for place, got in results.items()} == {
        0: ["call_0", "call_1"],
        1: ["call_10", "call_11"],
    }


def test_runs_of_two_threads_are_all_recorded_under_numbers_of_their_own() -> None:
    tools = RecordingTools({"tool": "ok"})

    async def run(place: int) -> None:
        for number in range(50):
            await tools.call(calling("tool", 100 * place + number))

    for thread in in_threads(lambda place: asyncio.run(run(place))):
        thread.join()
    started = {record.run: record.call for record in tools.recorder.of(ToolStarted)}
    assert set(started) == set(range(100))
    assert set(started.values()) == {calling("tool", 100 * place + number) for place in (0, 1) for number in range(50)}
    assert sorted(run for run, _, _ in ends(tools)) == list(range(100))
