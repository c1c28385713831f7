"""The fake model server, asked by plain HTTP clients that know nothing of the kit's own provider."""

from __future__ import annotations

import asyncio
import http.client
import json
import logging
import os
import signal
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Literal
from urllib.parse import urlsplit

import pytest

from looptck.contract.messages import ToolCall, Usage
from looptck_fakes.server import Cut, HttpReply, ModelServer
from looptck_fakes.turns import Turn

PARIS = ToolCall("call_1", "get_weather", '{"city":"Paris"}')
LYON = ToolCall("call_2", "get_weather", '{"city":"Lyon"}')


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


def post(
    base_url: str, body: object, *, path: str = "/chat/completions", headers: dict[str, str] | None = None
) -> tuple[int, http.client.HTTPMessage, bytes]:
    """One request on a connection of its own. A body of bytes goes as it is."""
    url = urlsplit(base_url + path)
    connection = http.client.HTTPConnection(url.netloc)
    try:
        raw = body if isinstance(body, bytes) else json.dumps(body)
        connection.request("POST", url.path, raw, headers or {})
        response = connection.getresponse()
        return response.status, response.headers, response.read()
    finally:
        connection.close()


def asking(content: str = "Hi", **fields: object) -> dict[str, object]:
    return {"model": "m", "messages": [{"role": "user", "content": content}], **fields}


def events(body: bytes) -> list[Any]:
    """The data of each event: parsed JSON, or the text `[DONE]`."""
    assert body.endswith(b"\n\n")
    data = [part.removeprefix("data: ") for part in body.decode().removesuffix("\n\n").split("\n\n")]
    return [text if text == "[DONE]" else json.loads(text) for text in data]


def test_a_stream_has_the_role_then_text_then_the_reason_then_usage_then_done(server: ModelServer) -> None:
    url = server.script([Turn(text=("It ", "is."), usage=Usage(20, 4))])
    status, headers, body = post(url, asking(stream=True, stream_options={"include_usage": True}))
    *parts, usage, done = events(body)
    assert (status, headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
    assert [part["choices"][0] for part in parts] == [
        {"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None},
        {"index": 0, "delta": {"content": "It "}, "finish_reason": None},
        {"index": 0, "delta": {"content": "is."}, "finish_reason": None},
        {"index": 0, "delta": {}, "finish_reason": "stop"},
    ]
    assert [part["usage"] for part in parts] == [None] * 4
    assert usage["choices"] == []
    assert usage["usage"] == {"prompt_tokens": 20, "completion_tokens": 4, "total_tokens": 24}
    assert done == "[DONE]"
    assert {(part["id"], part["object"], part["model"]) for part in [*parts, usage]} == {
        ("chatcmpl-1-1", "chat.completion.chunk", "m")
    }


def test_usage_is_streamed_only_where_it_was_asked_for(server: ModelServer) -> None:
    url = server.script([Turn(text=("Hi",), usage=Usage(20, 4), early_usage=Usage(20, 0))])
    _, _, body = post(url, asking(stream=True))
    assert b"usage" not in body


def test_fragments_of_two_calls_are_interleaved_with_ids_and_names_in_the_last(server: ModelServer) -> None:
    url = server.script([Turn(calls=(PARIS, LYON), fragments=2)])
    _, _, body = post(url, asking(stream=True))
    first, *fragments, last, _done = events(body)
    assert first["choices"][0]["delta"] == {"role": "assistant", "content": None}
    deltas = [part["choices"][0]["delta"]["tool_calls"] for part in fragments]
    named: dict[str, Any] = {"type": "function"}
    assert deltas == [
        [{"index": 0, "function": {"arguments": '{"city":'}}],
        [{"index": 1, "function": {"arguments": '{"city"'}}],
        [{"index": 0, "id": "call_1", **named, "function": {"name": "get_weather", "arguments": '"Paris"}'}}],
        [{"index": 1, "id": "call_2", **named, "function": {"name": "get_weather", "arguments": ':"Lyon"}'}}],
    ]
    assert last["choices"][0]["finish_reason"] == "tool_calls"


@pytest.mark.parametrize(("asked", "streaming"), [(False, True), (True, False)], ids=["not asked", "not able"])
def test_without_streaming_the_answer_is_one_object(server: ModelServer, *, asked: bool, streaming: bool) -> None:
    turn = Turn(text=("Let me ", "see."), calls=(PARIS,), usage=Usage(10, 5), fragments=3)
    url = server.script([turn], streaming=streaming)
    status, headers, body = post(url, asking(stream=asked))
    function = {"name": "get_weather", "arguments": '{"city":"Paris"}'}
    message = {
        "role": "assistant",
        "content": "Let me see.",
        "tool_calls": [{"id": "call_1", "type": "function", "function": function}],
    }
    assert (status, headers["content-type"]) == (200, "application/json")
    assert json.loads(body) == {
        "id": "chatcmpl-1-1",
        "object": "chat.completion",
        "created": 0,
        "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
    }


def test_malformed_arguments_go_out_as_they_are(server: ModelServer) -> None:
    url = server.script([Turn(calls=(ToolCall("c", "f", '{"city": '),))])
    _, _, body = post(url, asking())
    assert json.loads(body)["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"] == '{"city": '


@pytest.mark.parametrize(
    ("where", "seen"),
    [("middle", ["delta", "delta", "delta", "error"]), ("after", ["delta"] * 5 + ["usage", "error"])],
)
def test_an_error_on_the_way_ends_the_stream_with_an_error_event(
    server: ModelServer, where: Literal["middle", "after"], seen: list[str]
) -> None:
    turn = Turn(
        text=("One ",), calls=(PARIS,), usage=Usage(1, 1), fragments=2, error=RuntimeError("boom"), error_at=where
    )
    url = server.script([turn])
    status, _, body = post(url, asking(stream=True, stream_options={"include_usage": True}))
    parts = events(body)
    kinds = ["error" if "error" in part else "delta" if part["choices"] else "usage" for part in parts]
    assert (status, kinds) == (200, seen)
    assert parts[-1]["error"]["message"] == "boom"


@pytest.mark.parametrize(("where", "stream"), [("before", True), ("middle", False), ("after", False)])
def test_an_error_before_the_first_event_is_a_status_error(
    server: ModelServer, where: Literal["before", "middle", "after"], *, stream: bool
) -> None:
    url = server.script([Turn(text=("Hi",), error=RuntimeError("boom"), error_at=where)])
    status, _, body = post(url, asking(stream=stream))
    assert (status, json.loads(body)["error"]["message"]) == (500, "boom")


def test_an_http_reply_is_given_as_it_stands(server: ModelServer) -> None:
    url = server.script([HttpReply(429, headers={"Retry-After": "7"}), HttpReply(200, "<p>", {"Content-Type": "a/b"})])
    status, headers, body = post(url, asking())
    assert (status, headers["retry-after"], headers["content-type"]) == (429, "7", "application/json")
    assert json.loads(body)["error"]["message"] == "scripted status 429"
    status, headers, body = post(url, asking())
    assert (status, headers.get_all("content-type"), body) == (200, ["a/b"], b"<p>")


@pytest.mark.parametrize("after", [0, 2, 99])
def test_a_cut_ends_the_connection_after_so_many_events(server: ModelServer, after: int) -> None:
    turn = Turn(text=("One ", "two "))
    whole, cut = server.script([turn]), server.script([Cut(turn, after)])
    _, _, body = post(whole, asking(stream=True))
    with pytest.raises(http.client.IncompleteRead) as broken:
        post(cut, asking(stream=True))
    expected = [part["choices"] for part in events(body)[:-1][:after]]
    seen = [part["choices"] for part in events(broken.value.partial)] if after else broken.value.partial
    assert seen == (expected or b"")


def test_a_cut_of_one_object_sends_half_of_it(server: ModelServer) -> None:
    url = server.script([Cut(Turn(text=("One ", "two ")), 1)])
    with pytest.raises(http.client.IncompleteRead) as broken:
        post(url, asking())
    assert broken.value.partial.startswith(b'{"id": "chatcmpl-1-1"')
    with pytest.raises(ValueError, match=r"Unterminated|Expecting"):
        json.loads(broken.value.partial)


def test_asked_beyond_its_script_it_records_and_refuses(server: ModelServer) -> None:
    url = server.script([Turn(text=("Only.",))])
    replies = [post(url, asking(content))[::2] for content in ("first", "second")]
    assert replies[0][0] == 200
    assert replies[1][0] == 400
    assert json.loads(replies[1][1])["error"]["message"] == "the script has no reply for request 2"
    seen = [(request.body["messages"][0]["content"], request.beyond_script) for request in server.requests(url)]
    assert seen == [("first", False), ("second", True)]


def test_requests_are_snapshots_with_headers(server: ModelServer) -> None:
    url = server.script([Turn()])
    post(url, asking(temperature=0.5), headers={"Authorization": "Bearer key"})
    [request] = server.requests(url)
    assert request.body == asking(temperature=0.5)
    assert request.headers["authorization"] == "Bearer key"
    request.body["model"] = "changed"
    assert server.requests(url)[0].body["model"] == "m"


@pytest.mark.parametrize("bad", [b"{", b"[]", b'{"model": "m"}', b'{"messages": []}', b'{"model": 1, "messages": []}'])
def test_a_request_that_no_server_would_take_is_recorded_and_takes_no_reply(server: ModelServer, bad: bytes) -> None:
    url = server.script([Turn(text=("Fine.",))])
    status, _, body = post(url, bad)
    assert (status, json.loads(body)["error"]["type"]) == (400, "invalid_request_error")
    assert post(url, asking())[0] == 200
    assert [request.raw == bad for request in server.requests(url)] == [True, False]
    assert not any(request.beyond_script for request in server.requests(url))


def test_unknown_paths_scripts_and_methods_are_refused_in_json(server: ModelServer) -> None:
    url = server.script([Turn()])
    unknown_script = url.replace("/s/1/", "/s/99/")
    answers = [
        post(url, asking(), path="/completions"),
        post(unknown_script, asking()),
        post(url, asking(), path="/models"),
    ]
    assert [status for status, _, _ in answers] == [404, 404, 405]
    assert all(json.loads(body)["error"]["message"] for _, _, body in answers)
    with pytest.raises(LookupError, match="/s/99/v1"):
        server.requests(unknown_script)


def test_who_listens_hears_each_request_before_it_is_answered(server: ModelServer) -> None:
    heard: list[tuple[bytes, bool]] = []
    url = server.script([Turn()], heard=lambda request: heard.append((request.raw, request.beyond_script)))
    for number, raw in enumerate([b"hello", json.dumps(asking()).encode(), json.dumps(asking()).encode()], 1):
        post(url, raw)
        assert len(heard) == number
    assert heard == [(request.raw, request.beyond_script) for request in server.requests(url)]
    assert [beyond for _, beyond in heard] == [False, False, True]


def test_it_listens_where_it_is_told_to() -> None:
    with ModelServer("localhost") as named:
        url = named.script([Turn()])
        assert url.startswith("http://localhost:")
        assert post(url, asking())[0] == 200
        port = urlsplit(url).port
        assert port is not None
        with pytest.raises(OSError, match="in use"):
            ModelServer("localhost", port).start()
    with ModelServer("localhost", port) as again:
        assert urlsplit(again.script([])).port == port


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="the machine has no IPv6")
def test_it_listens_on_an_address_with_colons() -> None:
    with ModelServer("::1") as server:
        url = server.script([Turn()])
        assert url.startswith("http://[::1]:")
        assert post(url, asking())[0] == 200


def test_models_are_listed(server: ModelServer) -> None:
    url = urlsplit(server.script([]))
    connection = http.client.HTTPConnection(url.netloc)
    connection.request("GET", f"{url.path}/models")
    assert [model["id"] for model in json.load(connection.getresponse())["data"]] == ["scripted"]
    connection.close()


def test_scripts_are_served_side_by_side_to_many_threads(server: ModelServer) -> None:
    def talk(number: int) -> list[str]:
        url = server.script([Turn(text=(f"{number}.{turn}",)) for turn in range(3)])
        answers = [json.loads(post(url, asking(str(turn)))[2]) for turn in range(3)]
        assert [request.body["messages"][0]["content"] for request in server.requests(url)] == ["0", "1", "2"]
        return [answer["choices"][0]["message"]["content"] for answer in answers]

    with ThreadPoolExecutor(4) as pool:
        talks = list(pool.map(talk, range(8)))
    assert talks == [[f"{number}.{turn}" for turn in range(3)] for number in range(8)]


def half_a_request(base_url: str) -> socket.socket:
    """A connection whose request the server has begun to answer: it has told us to go on with the body."""
    url = urlsplit(base_url)
    assert url.port is not None
    connection = socket.create_connection(("127.0.0.1", url.port))
    head = f"POST {url.path}/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\nexpect: 100-continue\r\n\r\n"
    connection.sendall(head.encode())
    assert connection.recv(100).startswith(b"HTTP/1.1 100")
    return connection


def test_busy_counts_the_requests_being_answered(server: ModelServer) -> None:
    url = server.script([Turn()])
    assert server.busy == 0
    with half_a_request(url):
        assert server.busy == 1
        with half_a_request(url):
            assert server.busy == 2
        server.close()
    assert server.busy == 0


def test_closing_ends_requests_on_their_way_silently(caplog: pytest.LogCaptureFixture) -> None:
    server = ModelServer()
    server.start()
    url = server.script([Cut(Turn(text=("One ",)), 1), Turn(text=("x" * 2**20,) * 16)])
    idle = http.client.HTTPConnection(urlsplit(url).netloc)
    idle.request("GET", "/")
    idle.getresponse().read()
    with pytest.raises(http.client.IncompleteRead):
        post(url, asking(stream=True))
    unread = http.client.HTTPConnection(urlsplit(url).netloc)
    unread.request("POST", f"{urlsplit(url).path}/chat/completions", json.dumps(asking(stream=True)))
    response = unread.getresponse()
    with half_a_request(url) as half:
        server.close()
        server.close()
        assert half.recv(1) == b""
    with pytest.raises((http.client.IncompleteRead, ConnectionResetError)):
        response.read()
    for connection in (idle, unread):
        connection.close()
    assert len(server.requests(url)) == 2
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []
    assert not [thread for thread in threading.enumerate() if thread.name == "looptck-model-server"]


def test_closing_does_not_wait_for_connections_that_just_come_in() -> None:
    for _ in range(20):
        with ModelServer() as server:
            port = urlsplit(server.script([])).port
            assert port is not None
            clients = [socket.create_connection(("127.0.0.1", port)) for _ in range(3)]
        for client in clients:
            with client, suppress(ConnectionResetError):
                assert client.recv(1) == b""


def test_a_failure_to_start_is_raised_where_it_was_started(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_args: object, **_options: object) -> None:
        raise OSError("no more files")

    monkeypatch.setattr(asyncio.BaseEventLoop, "create_server", fail)
    server = ModelServer()
    with pytest.raises(OSError, match="no more files"):
        server.start()
    server.close()


def test_it_leaves_signals_and_logging_alone() -> None:
    def settings() -> list[object]:
        loggers = [logging.getLogger(name) for name in ("uvicorn", "uvicorn.error", "uvicorn.access")]
        signals = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
        return [*signals, *((list(log.handlers), log.level, log.propagate) for log in loggers)]

    before = settings()
    with ModelServer() as server:
        post(server.script([Turn()]), asking())
        assert settings() == before
    assert settings() == before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform has no fork")
def test_it_works_in_a_forked_child() -> None:
    with ModelServer():
        pass  # what a first server leaves in the process must not hinder the child's
    child = os.fork()
    if child == 0:
        status = 1
        try:
            with ModelServer() as server:
                status = post(server.script([Turn()]), asking())[0]
        finally:
            os._exit(0 if status == 200 else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_wrong_use_is_refused() -> None:
    server = ModelServer()
    with pytest.raises(RuntimeError, match="not been started"):
        server.script([])
    with server:
        with pytest.raises(RuntimeError, match="starts once"):
            server.start()
        with pytest.raises(ValueError, match="hold"):
            server.script([Cut(Turn(hold=True), 1)])
    with pytest.raises(ValueError, match="-1"):
        Cut(Turn(), -1)
    with pytest.raises(ValueError, match="100"):
        HttpReply(100)
