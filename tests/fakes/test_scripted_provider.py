"""The scripted provider: the chunks of its turns, its errors where they are wanted, and a record of every request."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from looptck.contract.ag03 import (
    Accumulator,
    CallChunk,
    Chunk,
    Message,
    TextChunk,
    ToolCall,
    ToolDefinition,
    Usage,
    UsageChunk,
)
from looptck_fakes import ModelAnswered, Recorder, ScriptedProvider, ScriptExhaustedError, Stage, Turn

QUESTION = Message("user", "What is the weather in Paris?")
PARIS = ToolCall("call_1", "get_weather", '{"city":"Paris"}')
LYON = ToolCall("call_2", "get_weather", '{"city":"Lyon"}')


def ask(provider: ScriptedProvider, *messages: Message) -> AsyncIterator[Chunk]:
    return provider.stream(messages or (QUESTION,), (), {})


async def read(stream: AsyncIterator[Chunk]) -> list[Chunk]:
    return [chunk async for chunk in stream]


def chunks_of(turn: Turn) -> list[Chunk]:
    return asyncio.run(read(ask(ScriptedProvider([turn]))))


def ends(provider: ScriptedProvider) -> list[str]:
    return [answered.how for answered in provider.recorder.of(ModelAnswered)]


async def until(condition: Callable[[], bool]) -> None:
    """Let others run until the condition holds; the limit is only there so that a broken fake hangs nobody."""
    async with asyncio.timeout(30):
        while not condition():  # noqa: ASYNC110 - a stage tells nobody that somebody came
            await asyncio.sleep(0)


# --------------------------------------------------------------------------------------------------------------- chunks


def test_a_turn_is_text_then_calls_then_usage() -> None:
    turn = Turn(text=("Let me ", "see."), calls=(PARIS, LYON), usage=Usage(10, 5))
    assert chunks_of(turn) == [
        TextChunk("Let me "),
        TextChunk("see."),
        CallChunk(0, "call_1", "get_weather", '{"city":"Paris"}'),
        CallChunk(1, "call_2", "get_weather", '{"city":"Lyon"}'),
        UsageChunk(Usage(10, 5)),
    ]


def test_fragments_of_all_calls_are_interleaved_and_ids_and_names_come_last() -> None:
    turn = Turn(calls=(ToolCall("call_1", "a", "abcd"), ToolCall("call_2", "b", "123")), fragments=3)
    assert chunks_of(turn) == [
        CallChunk(0, arguments="a"),
        CallChunk(1, arguments="1"),
        CallChunk(0, arguments="b"),
        CallChunk(1, arguments="2"),
        CallChunk(0, "call_1", "a", "cd"),
        CallChunk(1, "call_2", "b", "3"),
    ]


def test_an_early_usage_comes_before_the_text_and_the_last_one_counts() -> None:
    chunks = chunks_of(Turn(text=("Hi.",), early_usage=Usage(10, 0), usage=Usage(10, 5)))
    assert chunks == [UsageChunk(Usage(10, 0)), TextChunk("Hi."), UsageChunk(Usage(10, 5))]


def test_an_empty_turn_is_a_reply_without_chunks() -> None:
    provider = ScriptedProvider([Turn()])
    assert asyncio.run(read(ask(provider))) == []
    assert ends(provider) == ["whole"]


CALLS = st.builds(ToolCall, st.text(max_size=3), st.text(max_size=3), st.text(max_size=20))
TURNS = st.builds(
    Turn,
    text=st.lists(st.text(max_size=4), max_size=3).map(tuple),
    calls=st.lists(CALLS, max_size=4).map(tuple),
    usage=st.builds(Usage, st.integers(0, 99), st.integers(0, 99)),
    fragments=st.integers(1, 30),
    early_usage=st.none() | st.just(Usage(1, 0)),
)


@settings(deadline=None, max_examples=60)
@given(TURNS)
def test_however_it_is_cut_a_turn_folds_into_its_message(turn: Turn) -> None:
    accumulator = Accumulator()
    for chunk in chunks_of(turn):
        accumulator.add(chunk)
    assert accumulator.message() == Message("assistant", "".join(turn.text), turn.calls)
    assert accumulator.usage() == turn.usage


# --------------------------------------------------------------------------------------------------------------- errors

WHOLE = [
    TextChunk("Let me see."),
    CallChunk(0, "call_1", "get_weather", '{"city":"Paris"}'),
    CallChunk(1, "call_2", "get_weather", '{"city":"Lyon"}'),
    UsageChunk(Usage(10, 5)),
]


@pytest.mark.parametrize(("error_at", "arrived"), [("before", 0), ("middle", 2), ("after", 4)])
@pytest.mark.parametrize("error", [ConnectionError("gone"), KeyboardInterrupt(), asyncio.CancelledError()], ids=repr)
def test_an_error_comes_where_it_is_wanted(
    error_at: Literal["before", "middle", "after"], arrived: int, error: BaseException
) -> None:
    provider = ScriptedProvider(
        [Turn(text=("Let me see.",), calls=(PARIS, LYON), usage=Usage(10, 5), error=error, error_at=error_at)]
    )
    got: list[Chunk] = []

    async def run() -> BaseException | None:
        try:
            async for chunk in ask(provider):
                got.append(chunk)  # noqa: PERF401 - those before the error are wanted
        except BaseException as raised:  # noqa: BLE001 - the scripted one may be of any kind
            return raised
        return None

    assert asyncio.run(run()) is error
    assert got == WHOLE[:arrived]
    assert ends(provider) == ["error"]


def test_of_an_odd_number_of_fragments_the_larger_half_comes_before_the_error() -> None:
    got: list[Chunk] = []

    async def run() -> None:
        async for chunk in ask(ScriptedProvider([Turn(calls=(PARIS,), error=OSError("gone"), error_at="middle")])):
            got.append(chunk)  # noqa: PERF401 - those before the error are wanted

    with pytest.raises(OSError, match="gone"):
        asyncio.run(run())
    assert got == [CallChunk(0, "call_1", "get_weather", '{"city":"Paris"}')]


def test_an_error_in_the_middle_of_fragments_leaves_calls_that_are_not_whole() -> None:
    turn = Turn(calls=(PARIS,), fragments=4, error=ConnectionError("gone"), error_at="middle")
    accumulator = Accumulator()

    async def run() -> None:
        async for chunk in ask(ScriptedProvider([turn])):
            accumulator.add(chunk)

    with pytest.raises(ConnectionError):
        asyncio.run(run())
    assert accumulator.message().tool_calls == (ToolCall("", "", '{"city":'),)


# --------------------------------------------------------------------------------------------------------------- script


def test_turns_are_given_one_a_request_in_order() -> None:
    script = [Turn(text=("first",)), Turn(text=("second",))]
    provider = ScriptedProvider(script)
    script.reverse()
    assert asyncio.run(read(ask(provider))) == [TextChunk("first")]
    assert asyncio.run(read(ask(provider))) == [TextChunk("second")]


def test_asked_beyond_its_script_it_records_and_raises_every_time() -> None:
    provider = ScriptedProvider([Turn(text=("only",))])

    async def run() -> None:
        await read(ask(provider))
        for number in (2, 3):
            with pytest.raises(ScriptExhaustedError, match=f"request {number}$"):
                await read(ask(provider))

    asyncio.run(run())
    assert [request.beyond_script for request in provider.requests] == [False, True, True]
    assert [request.number for request in provider.requests] == [0, 1, 2]
    assert ends(provider) == ["whole", "error", "error"]


def test_a_script_may_be_a_function_of_the_messages() -> None:
    def script(messages: Sequence[Message]) -> tuple[str, Turn | None]:
        said = messages[-1].content
        return f"about {said}", Turn(text=(said.upper(),)) if said != "nothing" else None

    provider = ScriptedProvider(script)
    assert asyncio.run(read(ask(provider, Message("user", "rain")))) == [TextChunk("RAIN")]
    with pytest.raises(ScriptExhaustedError):
        asyncio.run(read(ask(provider, Message("user", "nothing"))))
    assert [(request.script, request.beyond_script) for request in provider.requests] == [
        ("about rain", False),
        ("about nothing", True),
    ]


def test_a_turn_belongs_to_the_request_even_when_replies_are_read_in_another_order() -> None:
    provider = ScriptedProvider([Turn(text=("first",)), Turn(text=("second",))])
    first, second = ask(provider), ask(provider)

    async def run() -> tuple[list[Chunk], list[Chunk]]:
        return await read(second), await read(first)

    assert asyncio.run(run()) == ([TextChunk("second")], [TextChunk("first")])
    assert [answered.number for answered in provider.recorder.of(ModelAnswered)] == [1, 0]


# -------------------------------------------------------------------------------------------------------------- records


def test_a_request_is_recorded_when_it_is_made_and_its_answer_when_it_is_read() -> None:
    provider = ScriptedProvider([Turn(text=("Hi.",))])
    stream = ask(provider)
    assert len(provider.requests) == 1
    assert ends(provider) == []
    asyncio.run(read(stream))
    assert ends(provider) == ["whole"]


def test_a_request_is_kept_as_it_was_sent() -> None:
    messages, tools = [QUESTION], [ToolDefinition("get_weather")]
    options: dict[str, Any] = {"temperature": 0}
    provider = ScriptedProvider([Turn()], model="small")
    provider.stream(messages, tools, options)
    messages.append(Message("assistant", "later"))
    tools.clear()
    options["temperature"] = 1
    (request,) = provider.requests
    assert request.messages == (QUESTION,)
    assert request.tools == (ToolDefinition("get_weather"),)
    assert request.options == {"temperature": 0}
    assert provider.model == "small"


def test_requests_to_a_shared_log_are_counted_together() -> None:
    log = Recorder()
    providers = [ScriptedProvider([Turn()], recorder=log), ScriptedProvider([Turn()], recorder=log)]
    for provider in providers:
        ask(provider)
    assert [request.number for request in providers[0].requests] == [0, 1]
    assert providers[0].requests == providers[1].requests


def test_a_reply_that_is_left_early_is_closed() -> None:
    provider = ScriptedProvider([Turn(text=("It ", "is ", "sunny."))])

    async def run() -> None:
        stream = ask(provider)
        assert await anext(stream) == TextChunk("It ")
        await stream.aclose()  # type: ignore[attr-defined]

    asyncio.run(run())
    assert ends(provider) == ["closed"]


# -------------------------------------------------------------------------------------------------------------- holding


def test_a_turn_that_holds_waits_after_its_text() -> None:
    stage = Stage()
    provider = ScriptedProvider([Turn(text=("One moment.",), calls=(PARIS,), hold=True)], stage=stage)
    got: list[Chunk] = []

    async def collect() -> None:
        async for chunk in ask(provider):
            got.append(chunk)  # noqa: PERF401 - they are looked at on the way

    async def run() -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(collect())
            await until(lambda: bool(stage.held))
            assert [held.key for held in stage.held] == [0]
            assert got == [TextChunk("One moment.")]
            stage.release(stage.held[0])

    asyncio.run(run())
    assert got[1:] == [CallChunk(0, "call_1", "get_weather", '{"city":"Paris"}')]
    assert ends(provider) == ["whole"]


@pytest.mark.parametrize(
    ("stage", "turn"), [(None, Turn(hold=True)), (Stage(), Turn())], ids=["without a stage", "without hold"]
)
def test_nothing_else_waits(stage: Stage | None, turn: Turn) -> None:
    async def run() -> list[Chunk]:
        async with asyncio.timeout(30):
            return await read(ask(ScriptedProvider([turn], stage=stage)))

    assert asyncio.run(run()) == []


def test_a_reply_that_is_cancelled_while_held_is_closed() -> None:
    stage = Stage()
    provider = ScriptedProvider([Turn(hold=True)], stage=stage)

    async def run() -> None:
        task = asyncio.create_task(read(ask(provider)))
        await until(lambda: bool(stage.held))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())
    assert ends(provider) == ["closed"]
    assert stage.held == ()


# ---------------------------------------------------------------------------------------------- threads and event loops


def in_threads(work: Callable[[], object]) -> list[threading.Thread]:
    threads = [threading.Thread(target=work, daemon=True) for _ in range(2)]
    for thread in threads:
        thread.start()
    return threads


def test_two_threads_share_a_script_and_no_turn_is_given_twice() -> None:
    provider = ScriptedProvider([Turn(text=(str(number),)) for number in range(100)])
    said: list[Chunk] = []

    async def run() -> None:
        for _ in range(50):
            said.extend(await read(ask(provider)))

    for thread in in_threads(lambda: asyncio.run(run())):
        thread.join()
    assert {chunk.text for chunk in said if isinstance(chunk, TextChunk)} == {str(number) for number in range(100)}
    assert len(said) == 100
    assert ends(provider) == ["whole"] * 100


def test_replies_that_are_held_in_two_threads_are_released_from_a_third() -> None:
    stage = Stage()
    turns = [Turn(text=(str(number),), usage=Usage(number, 0), hold=True) for number in range(2)]
    provider = ScriptedProvider(turns, stage=stage)
    said: list[list[Chunk]] = []

    threads = in_threads(lambda: said.append(asyncio.run(read(ask(provider)))))
    asyncio.run(until(lambda: len(stage.held) == 2))
    by_request = {held.key: held for held in stage.held}
    stage.release(by_request[1])
    asyncio.run(until(lambda: len(said) == 1))
    stage.release(by_request[0])
    for thread in threads:
        thread.join(30)
    assert said == [[TextChunk("1"), UsageChunk(Usage(1, 0))], [TextChunk("0"), UsageChunk(Usage(0, 0))]]
