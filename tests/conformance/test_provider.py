"""The real provider: what it sends, what it makes of answers good and bad, and how it lets go of its connection."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from types import MappingProxyType
from typing import Any, Literal

import httpx2
import pytest

from looptck.contract.ag03 import (
    Accumulator,
    CallChunk,
    Chunk,
    Message,
    Provider,
    TextChunk,
    ToolCall,
    ToolDefinition,
    Usage,
    UsageChunk,
)
from looptck.provider import OpenAICompatibleProvider, ProviderError
from looptck_fakes.server import Cut, HttpReply, ModelServer, Reply
from looptck_fakes.turns import Turn

USER = Message("user", "What is the weather in Paris?")
PARIS = ToolCall("call_1", "get_weather", '{"city":"Paris"}')
LYON = ToolCall("call_2", "get_weather", '{"city":"Lyon"}')


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


async def collect(
    provider: Provider,
    messages: Sequence[Message] = (USER,),
    tools: Sequence[ToolDefinition] = (),
    options: Mapping[str, Any] | None = None,
) -> list[Chunk]:
    return [chunk async for chunk in provider.stream(messages, tools, options or {})]


def ask(server: ModelServer, reply: Reply, *, streaming: bool = True) -> list[Chunk]:
    """The chunks of one reply, over the real server."""
    return asyncio.run(collect(OpenAICompatibleProvider("m", server.script([reply], streaming=streaming))))


def read(body: str, content_type: str = "text/event-stream", status: int = 200) -> list[Chunk]:
    """The chunks of an answer that no well-behaved server would give, without a connection."""

    async def read_once() -> list[Chunk]:
        answer = httpx2.Response(status, text=body, headers={"content-type": content_type})
        async with httpx2.AsyncClient(transport=httpx2.MockTransport(lambda _request: answer)) as client:
            return await collect(OpenAICompatibleProvider("m", "http://model/v1", client=client))

    return asyncio.run(read_once())


def sse(*nodes: object) -> str:
    """A stream of events, each with a JSON object or the text `[DONE]`."""
    return "".join(f"data: {node if isinstance(node, str) else json.dumps(node)}\n\n" for node in nodes)


def delta(finish_reason: str | None = None, **fields: object) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": fields, "finish_reason": finish_reason}]}


def fragment(**fields: object) -> dict[str, Any]:
    return delta(tool_calls=[fields])


# ------------------------------------------------------------------------------------------------------ what is sent


def test_the_request_holds_the_transcript_the_tools_and_the_options(server: ModelServer) -> None:
    url = server.script([Turn(text=("Sunny.",))])
    transcript = [
        Message("system", "Be brief."),
        USER,
        Message("assistant", "", (PARIS,)),
        Message("tool", "sunny \ud800", tool_call_id="call_1"),
        Message("assistant", "So:", (LYON,)),
        Message("tool", "", tool_call_id="call_2"),
    ]
    schema = MappingProxyType({"type": "object", "properties": MappingProxyType({"city": {"type": "string"}})})
    tools = [ToolDefinition("get_weather", "Weather of a city.", schema), ToolDefinition("now")]
    provider = OpenAICompatibleProvider("gpt", f"{url}/", "key")
    asyncio.run(collect(provider, transcript, tools, {"temperature": 0, "seed": 7}))
    function = {"name": "get_weather", "arguments": '{"city":"Paris"}'}
    other = {"name": "get_weather", "arguments": '{"city":"Lyon"}'}
    [request] = server.requests(url)
    assert request.headers["authorization"] == "Bearer key"
    assert request.body == {
        "model": "gpt",
        "stream": True,
        "stream_options": {"include_usage": True},
        "temperature": 0,
        "seed": 7,
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "What is the weather in Paris?"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "call_1", "type": "function", "function": function}],
            },
            {"role": "tool", "content": "sunny \ud800", "tool_call_id": "call_1"},
            {
                "role": "assistant",
                "content": "So:",
                "tool_calls": [{"id": "call_2", "type": "function", "function": other}],
            },
            {"role": "tool", "content": "", "tool_call_id": "call_2"},
        ],
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "get_weather",
                    "description": "Weather of a city.",
                    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
                },
            },
            {
                "type": "function",
                "function": {"name": "now", "description": "", "parameters": {"type": "object", "properties": {}}},
            },
        ],
    }


def test_without_tools_and_key_neither_is_sent(server: ModelServer) -> None:
    url = server.script([Turn()])
    asyncio.run(collect(OpenAICompatibleProvider("m", url)))
    [request] = server.requests(url)
    assert set(request.body) == {"model", "messages", "stream", "stream_options"}
    assert "authorization" not in request.headers


def test_a_growing_list_of_messages_is_sent_as_it_was_when_asked(server: ModelServer) -> None:
    url = server.script([Turn()])
    messages = [USER]

    async def ask_then_append() -> None:
        reply = OpenAICompatibleProvider("m", url).stream(messages, (), {})
        messages.append(Message("user", "too late"))
        async for _ in reply:
            pass

    asyncio.run(ask_then_append())
    assert len(server.requests(url)[0].body["messages"]) == 1


@pytest.mark.parametrize("name", ["model", "messages", "tools", "stream", "stream_options"])
def test_options_may_not_set_what_the_provider_sets(name: str) -> None:
    provider = OpenAICompatibleProvider("m", "http://model/v1")
    with pytest.raises(ValueError, match=f"call options may not set {name}"):
        provider.stream([USER], (), {name: 1, "seed": 7})


@pytest.mark.parametrize(("value", "error"), [(object(), TypeError), (float("nan"), ValueError)])
def test_options_without_a_json_form_are_refused(value: object, error: type[Exception]) -> None:
    with pytest.raises(error, match="JSON"):
        OpenAICompatibleProvider("m", "http://model/v1").stream([USER], (), {"seed": value})


def test_a_key_that_no_header_can_carry_is_refused_without_being_told() -> None:
    with pytest.raises(ValueError, match="characters") as refused:
        OpenAICompatibleProvider("m", "http://model/v1", "secret\n")
    assert "secret" not in str(refused.value)


def test_proxies_of_the_environment_are_not_used(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    assert ask(server, Turn(text=("Hi",))) == [TextChunk("Hi")]


# --------------------------------------------------------------------------------------------------- what is understood


def test_pieces_of_text_come_one_by_one_with_the_usage_last(server: ModelServer) -> None:
    chunks = ask(server, Turn(text=("It ", "", "is ", "sunny\u2028☀."), usage=Usage(20, 4)))
    assert chunks == [TextChunk("It "), TextChunk("is "), TextChunk("sunny\u2028☀."), UsageChunk(Usage(20, 4))]


def test_a_call_comes_whole_where_it_was_sent_whole(server: ModelServer) -> None:
    chunks = ask(server, Turn(calls=(PARIS,), usage=Usage(10, 5)))
    assert chunks == [CallChunk(0, "call_1", "get_weather", '{"city":"Paris"}'), UsageChunk(Usage(10, 5))]


def test_interleaved_fragments_come_as_they_arrive_with_late_ids(server: ModelServer) -> None:
    chunks = ask(server, Turn(calls=(PARIS, LYON), fragments=2))
    assert chunks == [
        CallChunk(0, arguments='{"city":'),
        CallChunk(1, arguments='{"city"'),
        CallChunk(0, "call_1", "get_weather", '"Paris"}'),
        CallChunk(1, "call_2", "get_weather", ':"Lyon"}'),
    ]


@pytest.mark.parametrize("fragments", [1, 2, 7])
@pytest.mark.parametrize("streaming", [True, False])
def test_a_turn_survives_the_wire(server: ModelServer, fragments: int, *, streaming: bool) -> None:
    broken = ToolCall("call_3", "get_weather", '{"city": "Par\ud800')
    turn = Turn(text=("Let me ", "see."), calls=(PARIS, LYON, broken), usage=Usage(10, 5), fragments=fragments)
    folded = Accumulator()
    for chunk in ask(server, turn, streaming=streaming):
        folded.add(chunk)
    assert folded.message() == Message("assistant", "Let me see.", (PARIS, LYON, broken))
    assert folded.usage() == Usage(10, 5)


def test_early_usage_is_told_before_the_text(server: ModelServer) -> None:
    chunks = ask(server, Turn(text=("Hi",), early_usage=Usage(9, 0), usage=Usage(9, 2)))
    assert chunks == [UsageChunk(Usage(9, 0)), TextChunk("Hi"), UsageChunk(Usage(9, 2))]


@pytest.mark.parametrize(
    "end", [[delta("stop")], ["[DONE]"], [delta("stop"), "[DONE]", "never read"]], ids=["reason", "done", "both"]
)
def test_a_stream_ends_with_done_or_a_finish_reason(end: list[object]) -> None:
    assert read(sse(delta(content="Hi"), *end)) == [TextChunk("Hi")]


def test_comments_other_fields_and_unknown_keys_are_passed_over() -> None:
    body = ": ping\r\n\r\nevent: message\r\nid: 1\r\n\r\n" + sse(
        {**delta(content="Hi", reasoning=["?"]), "usage": None, "service_tier": "x"}, {"choices": []}, "[DONE]"
    )
    assert read(body) == [TextChunk("Hi")]


def test_only_the_first_choice_is_read() -> None:
    second = {"choices": [{"index": 1, "delta": {"content": "Other"}}]}
    assert read(sse(delta(content="Hi"), second, "[DONE]")) == [TextChunk("Hi")]


def test_ids_and_names_that_are_sent_with_every_fragment_are_told_once() -> None:
    told = {"index": 0, "id": "a"}
    body = sse(
        fragment(**told, function={"name": "f", "arguments": "{"}),
        fragment(**told, function={"name": "f", "arguments": "}"}),
        "[DONE]",
    )
    assert read(body) == [CallChunk(0, "a", "f", "{"), CallChunk(0, arguments="}")]


# ------------------------------------------------------------------------------------------------------ what is refused


@pytest.mark.parametrize(
    ("reply", "status", "text"),
    [
        (HttpReply(429), 429, "the model server answered 429: scripted status 429"),
        (HttpReply(503, "<h1>\n  busy  </h1>"), 503, "the model server answered 503: <h1> busy </h1>"),
        (HttpReply(401, '{"detail": "no key"}'), 401, "the model server answered 401: no key"),
        (HttpReply(400, '{"error": "bad"}'), 400, "the model server answered 400: bad"),
        (HttpReply(400, "[" * 100_000), 400, f"the model server answered 400: {'[' * 268}…"),
        (HttpReply(302, headers={"location": "/"}), 302, "the model server answered 302: scripted status 302"),
        (Turn(error=RuntimeError("boom")), 500, "the model server answered 500: boom"),
    ],
)
def test_a_status_error_is_raised_with_what_the_server_says(
    server: ModelServer, reply: Reply, status: int, text: str
) -> None:
    with pytest.raises(ProviderError) as raised:
        ask(server, reply)
    assert raised.value.status == status
    assert str(raised.value) == text


@pytest.mark.parametrize("where", ["middle", "after"])
def test_an_error_inside_the_stream_is_raised_after_what_came_before(
    server: ModelServer, where: Literal["middle", "after"]
) -> None:
    url = server.script([Turn(text=("One ",), error=RuntimeError("boom"), error_at=where)])
    seen: list[Chunk] = []

    async def read_on() -> None:
        async for chunk in OpenAICompatibleProvider("m", url).stream([USER], (), {}):
            seen.append(chunk)  # noqa: PERF401 - what was seen before the error counts

    with pytest.raises(ProviderError, match=r"^the model server reported an error: boom$") as raised:
        asyncio.run(read_on())
    assert seen == [TextChunk("One ")]
    assert raised.value.status is None


@pytest.mark.parametrize("after", [0, 1, 3])
@pytest.mark.parametrize("streaming", [True, False])
def test_a_connection_that_ends_too_soon_is_an_error(server: ModelServer, after: int, *, streaming: bool) -> None:
    with pytest.raises(ProviderError, match=r"^the answer was cut off: RemoteProtocolError ") as raised:
        ask(server, Cut(Turn(text=("One ", "two ", "three")), after), streaming=streaming)
    assert raised.value.status is None


def test_a_server_that_is_not_there_is_an_error() -> None:
    with ModelServer() as gone:
        url = gone.script([])
    with pytest.raises(ProviderError, match=f"^no answer from {url}/chat/completions: ConnectError ") as raised:
        asyncio.run(collect(OpenAICompatibleProvider("m", url)))
    assert raised.value.status is None


@pytest.mark.parametrize("url", ["ftp://model/v1", "model/v1", "http://[::1/v1"])
def test_an_address_that_cannot_be_asked_is_an_error(url: str) -> None:
    with pytest.raises(ProviderError, match=r"^no answer from "):
        asyncio.run(collect(OpenAICompatibleProvider("m", url)))


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("", "cut off: the stream ended without a finish reason"),
        (sse(delta(content="Hi")), "cut off: the stream ended without a finish reason"),
        (sse("{", "[DONE]"), "not JSON: '{'"),
        (sse("[" * 100_000), "not JSON: '"),
        (sse("[1]"), r"not a JSON object: '\[1\]'"),
        (sse({"message": "boom"}), 'not a part of a chat completion: {"message": "boom"}'),
        (sse({"error": {"message": "boom"}}), "reported an error: boom"),
        (sse({"choices": [1]}), r"choices is \[1\], which is not a list of objects"),
        (sse(delta(content=1)), "content is 1, which is not of type str"),
        (sse(delta(tool_calls=["f"])), "tool_calls is .*, which is not a list of objects"),
        (sse(fragment(id="a")), "a fragment of a tool call without its index"),
        (sse(fragment(index=True)), "index is true, which is not of type int"),
        (sse(fragment(index=0, function={"arguments": {}})), "arguments is {}, which is not of type str"),
        (sse(fragment(index=0, id="a"), fragment(index=0, id="b")), "two ids for the call at index 0: 'a' and 'b'"),
        (sse({"choices": [], "usage": {"prompt_tokens": 1.5}}), "prompt_tokens is 1.5, which is not of type int"),
    ],
)
def test_a_stream_that_makes_no_sense_is_an_error(body: str, text: str) -> None:
    with pytest.raises(ProviderError, match=text) as raised:
        read(body)
    assert raised.value.status is None
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) <= 300


@pytest.mark.parametrize(
    ("content_type", "body", "text"),
    [
        ("text/html", "<p>", "answered with text/html, not with text/event-stream"),
        ("", "", "answered with no content type"),
        ("application/json", "{", "not JSON"),
        ("application/json; charset=utf-8", '{"choices": []}', "a completion without a choice"),
        ("application/json", '{"error": {"message": "boom"}}', "reported an error: boom"),
    ],
)
def test_an_answer_that_is_no_completion_is_an_error(content_type: str, body: str, text: str) -> None:
    with pytest.raises(ProviderError, match=text):
        read(body, content_type)


# ---------------------------------------------------------------------------------------------- what it leaves behind


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


def test_importing_the_kit_brings_no_http_client() -> None:
    program = (
        "import sys, looptck, looptck.contract.ag03; sys.exit('httpx2' in sys.modules or 'asyncio' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
