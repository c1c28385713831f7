"""What the tests of the real provider share: questions, and answers from a server or made up."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any

import httpx2

from looptck.contract.ag03 import Chunk, Message, Provider, ToolCall, ToolDefinition
from looptck.provider import OpenAICompatibleProvider
from looptck_fakes.server import ModelServer, Reply

USER = Message("user", "What is the weather in Paris?")
PARIS = ToolCall("call_1", "get_weather", '{"city":"Paris"}')
LYON = ToolCall("call_2", "get_weather", '{"city":"Lyon"}')


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
