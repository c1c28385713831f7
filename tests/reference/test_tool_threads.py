"""Where the tools of the registry run, beside each other and beside the loop, and what cancelling a call does."""

from __future__ import annotations

import asyncio
import contextvars
import json
import threading
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.reference.registering import GENEROUS, answer_of, raiser, run

from looptck.contract.ag03 import ToolCall, ToolResult
from looptck_reference.registry import Registry


@pytest.fixture
def gate() -> Iterable[Gate]:
    gate = Gate()
    yield gate
    gate.opened.set()


class Gate:
    """A blocking tool that says when it has begun and goes on when it is opened."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.opened = threading.Event()
        self.ended = False

    def passage(self) -> str:
        self.begun.set()
        assert self.opened.wait(GENEROUS)
        self.ended = True
        return "through"


def start(registry: Registry, name: str) -> asyncio.Task[ToolResult]:
    return asyncio.ensure_future(registry.call(ToolCall("1", name, "{}")))


async def turn_the_loop() -> None:
    """Let everything that is ready run, a few times over."""
    for _ in range(10):
        await asyncio.sleep(0)


def test_a_blocking_tool_does_not_block_the_loop(gate: Gate) -> None:
    async def main() -> ToolResult:
        task = start(Registry([gate.passage]), "passage")
        assert await asyncio.to_thread(gate.begun.wait, GENEROUS)
        gate.opened.set()  # reached only if the loop goes on while the tool waits
        return await task

    assert run(main()) == ToolResult("through")


def test_two_blocking_tools_run_at_once() -> None:
    meeting = threading.Barrier(2, timeout=GENEROUS)

    async def main() -> list[ToolResult]:
        registry = Registry()
        registry.add(lambda: meeting.wait() < 2, name="meet")
        return list(await asyncio.gather(start(registry, "meet"), start(registry, "meet")))

    assert run(main()) == [ToolResult("true")] * 2


def test_both_kinds_of_tools_see_the_callers_context() -> None:
    user: contextvars.ContextVar[str] = contextvars.ContextVar("user")

    def blocking() -> str:
        return user.get()

    async def later() -> str:
        return user.get()

    async def main() -> list[ToolResult]:
        registry = Registry()
        registry.add(blocking)
        registry.add(later)
        user.set("ada")
        return [await registry.call(ToolCall("1", name, "{}")) for name in ("blocking", "later")]

    assert run(main()) == [ToolResult("ada"), ToolResult("ada")]


def test_an_async_tool_runs_in_the_callers_task() -> None:
    async def same(task: str) -> bool:
        return task == repr(id(asyncio.current_task()))

    async def main() -> ToolResult:
        arguments = json.dumps({"task": repr(id(asyncio.current_task()))})
        return await Registry([same]).call(ToolCall("1", "same", arguments))

    assert run(main()) == ToolResult("true")


def test_cancelling_a_call_cancels_the_async_tool() -> None:
    seen: list[str] = []

    async def waits() -> None:
        seen.append("begun")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    async def main() -> None:
        task = start(Registry([waits]), "waits")
        await turn_the_loop()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert asyncio.all_tasks() == {asyncio.current_task()}

    run(main())
    assert seen == ["begun", "cancelled"]


def test_a_tool_cannot_hide_a_cancellation_behind_its_own_error() -> None:
    async def covers_up() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError as error:
            raise ValueError("something else") from error

    async def main() -> None:
        task = start(Registry([covers_up]), "covers_up")
        await turn_the_loop()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(main())


def test_a_timeout_within_a_tool_is_the_tools_own() -> None:
    async def impatient() -> None:
        async with asyncio.timeout(0):
            await asyncio.Event().wait()

    assert answer_of(impatient) == ToolResult("TimeoutError", is_error=True)


def test_a_tool_may_fail_while_its_caller_cleans_up_after_a_cancellation() -> None:
    results: list[ToolResult] = []

    async def main() -> None:
        registry = Registry()
        registry.add(raiser(ValueError("no"), blocking=False), name="fails")
        try:
            await asyncio.Event().wait()
        finally:
            results.append(await registry.call(ToolCall("1", "fails", "{}")))

    async def cancelled() -> None:
        task = asyncio.ensure_future(main())
        await turn_the_loop()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(cancelled())
    assert results == [ToolResult("ValueError: no", is_error=True)]


def test_a_cancelled_call_ends_when_its_blocking_tool_has_ended(gate: Gate) -> None:
    async def main() -> None:
        task = start(Registry([gate.passage]), "passage")
        assert await asyncio.to_thread(gate.begun.wait, GENEROUS)
        for _ in range(3):  # once more does not help
            task.cancel()
            await turn_the_loop()
            assert not task.done()
        gate.opened.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert gate.ended

    run(main())


def test_a_call_that_is_cancelled_before_a_thread_is_free_never_runs(gate: Gate) -> None:
    ran: list[str] = []

    async def main() -> None:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(max_workers=1))
        registry = Registry([gate.passage])
        registry.add(lambda: ran.append("second"), name="second")
        first = start(registry, "passage")
        await turn_the_loop()
        second = start(registry, "second")
        await turn_the_loop()
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second  # at once, though the only thread is still taken
        assert not first.done()
        gate.opened.set()
        assert await first == ToolResult("through")

    run(main())
    assert ran == []
