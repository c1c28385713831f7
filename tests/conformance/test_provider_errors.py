"""What the real provider makes of answers that are bad, and of none: an error that says which."""

from __future__ import annotations

import asyncio
from typing import Literal

import pytest
from tests.conformance.asking import USER, ask, collect, delta, fragment, read, sse

from looptck.contract.ag03 import Chunk, TextChunk
from looptck.provider import OpenAICompatibleProvider, ProviderError
from looptck_fakes.server import Cut, HttpReply, ModelServer, Reply
from looptck_fakes.turns import Turn


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
