"""How the real provider shares its connections and lets go of them, whichever way an answer ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from tests.conformance.asking import USER, collect, delta, sse

from looptck.contract.ag03 import Chunk, TextChunk, Usage, UsageChunk
from looptck.provider import OpenAICompatibleProvider, ProviderError
from looptck_fakes.server import ModelServer
from looptck_fakes.turns import Turn


def test_two_scripts_are_read_at_once_in_one_loop(server: ModelServer) -> None:
    urls = [server.script([Turn(text=(f"{name}1", f"{name}2"), usage=Usage(1, 2))]) for name in "ab"]

    async def both() -> list[list[Chunk]]:
        return await asyncio.gather(*(collect(OpenAICompatibleProvider("m", url)) for url in urls))

    assert asyncio.run(both()) == [
        [TextChunk(f"{name}1"), TextChunk(f"{name}2"), UsageChunk(Usage(1, 2))] for name in "ab"
    ]


def test_one_provider_serves_two_threads_with_loops_of_their_own(server: ModelServer) -> None:
    provider = OpenAICompatibleProvider("m", server.script([Turn(text=(str(n),)) for n in range(20)]))

    def talk(_number: int) -> str:
        [chunk] = asyncio.run(collect(provider))
        assert isinstance(chunk, TextChunk)
        return chunk.text

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(talk, range(20)), key=int) == [str(n) for n in range(20)]


def others() -> set[asyncio.Task[Any]]:
    """The tasks of this loop beside the one that asks."""
    return asyncio.all_tasks() - {asyncio.current_task()}


def test_a_whole_answer_leaves_no_task(server: ModelServer) -> None:
    async def read_all() -> None:
        await collect(OpenAICompatibleProvider("m", server.script([Turn(text=("Hi",), usage=Usage(1, 1))])))
        assert others() == set()

    asyncio.run(read_all())


@asynccontextmanager
async def stalling_server() -> AsyncIterator[tuple[str, asyncio.Event]]:
    """A server in this loop that sends one event and then nothing; the event tells that its client has left."""
    left = asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        event = sse(delta(content="Hi"), delta(content="Ho")).encode()
        head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
        writer.write(head + f"{len(event):x}\r\n".encode() + event + b"\r\n")
        while await reader.read(1024):
            pass
        writer.close()
        left.set()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as listening:
        yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1", left


def test_closing_early_closes_the_connection_and_leaves_no_task() -> None:
    async def stop_early() -> None:
        async with stalling_server() as (url, left):
            reply = OpenAICompatibleProvider("m", url).stream([USER], (), {})
            assert await anext(reply) == TextChunk("Hi")
            serving = others()
            await reply.aclose()
            assert others() <= serving
            await left.wait()

    asyncio.run(asyncio.wait_for(stop_early(), 60))


def test_closing_early_leaves_the_server_free_for_the_next_call(server: ModelServer) -> None:
    url = server.script([Turn(text=("x" * 1000,) * 2000), Turn(text=("Next.",))])
    provider = OpenAICompatibleProvider("m", url)

    async def stop_early_then_ask() -> list[Chunk]:
        reply = provider.stream([USER], (), {})
        assert await anext(reply) == TextChunk("x" * 1000)
        await reply.aclose()
        assert others() == set()
        return await collect(provider)

    assert asyncio.run(stop_early_then_ask()) == [TextChunk("Next.")]


def test_cancelling_the_reader_closes_the_connection_and_leaves_no_task() -> None:
    async def cancel() -> None:
        async with stalling_server() as (url, left):
            seen: list[Chunk] = []
            stalled = asyncio.Event()

            async def read_on() -> None:
                async for chunk in OpenAICompatibleProvider("m", url).stream([USER], (), {}):
                    seen.append(chunk)
                    if len(seen) == 2:
                        stalled.set()

            reading = asyncio.create_task(read_on())
            await stalled.wait()
            serving = others() - {reading}
            reading.cancel()
            with pytest.raises(asyncio.CancelledError):
                await reading
            assert others() <= serving
            assert seen == [TextChunk("Hi"), TextChunk("Ho")]
            await left.wait()

    asyncio.run(asyncio.wait_for(cancel(), 60))


def test_a_silent_server_is_given_up_on() -> None:
    async def wait() -> None:
        async with stalling_server() as (url, left):
            with pytest.raises(ProviderError, match=r"^the answer was cut off: ReadTimeout"):
                await collect(OpenAICompatibleProvider("m", url, timeout=0.02))
            await left.wait()

    asyncio.run(asyncio.wait_for(wait(), 60))


def test_a_client_that_was_given_is_used_and_left_open(server: ModelServer) -> None:
    async def ask_twice() -> list[Chunk]:
        url = server.script([Turn(text=("One.",)), Turn(text=("Two.",))])
        async with httpx2.AsyncClient(trust_env=False, headers={"x-mine": "yes"}) as client:
            provider = OpenAICompatibleProvider("m", url, client=client)
            chunks = await collect(provider) + await collect(provider)
            assert not client.is_closed
        assert [request.headers["x-mine"] for request in server.requests(url)] == ["yes", "yes"]
        return chunks

    assert asyncio.run(ask_twice()) == [TextChunk("One."), TextChunk("Two.")]
