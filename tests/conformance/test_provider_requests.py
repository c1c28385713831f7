"""What the real provider sends: the transcript, the tools and the options, and nothing of the environment."""

from __future__ import annotations

import asyncio
from types import MappingProxyType
from typing import Any

import pytest
from tests.conformance.asking import LYON, PARIS, USER, ask, collect

from looptck.contract.ag03 import Message, TextChunk, ToolDefinition
from looptck.provider import OpenAICompatibleProvider
from looptck_fakes.server import ModelServer
from looptck_fakes.turns import Turn

TRANSCRIPT = (
    Message("system", "Be brief."),
    USER,
    Message("assistant", "", (PARIS,)),
    Message("tool", "sunny \ud800", tool_call_id="call_1"),
    Message("assistant", "So:", (LYON,)),
    Message("tool", "", tool_call_id="call_2"),
)
SCHEMA = MappingProxyType({"type": "object", "properties": MappingProxyType({"city": {"type": "string"}})})
TOOLS = (ToolDefinition("get_weather", "Weather of a city.", SCHEMA), ToolDefinition("now"))


def call_sent(number: int, arguments: str) -> dict[str, Any]:
    function = {"name": "get_weather", "arguments": arguments}
    return {"id": f"call_{number}", "type": "function", "function": function}


MESSAGES_SENT = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "What is the weather in Paris?"},
    {"role": "assistant", "content": None, "tool_calls": [call_sent(1, '{"city":"Paris"}')]},
    {"role": "tool", "content": "sunny \ud800", "tool_call_id": "call_1"},
    {"role": "assistant", "content": "So:", "tool_calls": [call_sent(2, '{"city":"Lyon"}')]},
    {"role": "tool", "content": "", "tool_call_id": "call_2"},
]
TOOLS_SENT = [
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
]


def test_the_request_holds_the_transcript_the_tools_and_the_options(server: ModelServer) -> None:
    url = server.script([Turn(text=("Sunny.",))])
    provider = OpenAICompatibleProvider("gpt", f"{url}/", "key")
    asyncio.run(collect(provider, TRANSCRIPT, TOOLS, {"temperature": 0, "seed": 7}))
    [request] = server.requests(url)
    assert request.headers["authorization"] == "Bearer key"
    assert request.body == {
        "model": "gpt",
        "stream": True,
        "stream_options": {"include_usage": True},
        "temperature": 0,
        "seed": 7,
        "messages": MESSAGES_SENT,
        "tools": TOOLS_SENT,
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
