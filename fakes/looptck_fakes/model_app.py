"""The application inside the fake model server: scripts of replies, and the requests that were made of them."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import count
from types import MappingProxyType
from typing import Any, TypeAlias

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from looptck_fakes.openai_wire import DONE, Head, completion, error_body, stream_events
from looptck_fakes.turns import Turn


@dataclass(frozen=True, slots=True)
class HttpReply:
    """An answer given as it stands: a status error such as 429 or 500, or anything else that HTTP can carry.

    Without a body it is a JSON error object that names the status. The content type is `application/json` unless
    `headers` say otherwise. Raises `ValueError` for a status outside 200 to 599.

        >>> HttpReply(429, headers={"retry-after": "1"}).status
        429
    """

    status: int
    body: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse what no final answer can have."""
        if not 200 <= self.status <= 599:  # noqa: PLR2004 - the range is the meaning
            raise ValueError(f"{self.status} is not the status of a final answer")


@dataclass(frozen=True, slots=True)
class Cut:
    """A turn whose connection ends in the middle, after `after` server-sent events and always before `[DONE]`.

    Where the request asked for no stream, half of the object is sent. Raises `ValueError` for a negative count.

        >>> Cut(Turn(text=("It is ", "sunny.")), after=1).after
        1
    """

    turn: Turn
    after: int

    def __post_init__(self) -> None:
        """Refuse a count that would be taken from the end."""
        if self.after < 0:
            raise ValueError(f"cannot cut after {self.after} events")


Reply: TypeAlias = Turn | HttpReply | Cut
"""What the server can answer to one request."""


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One request for a chat completion, as it came: its bytes, and its headers under lower-case names."""

    raw: bytes
    headers: Mapping[str, str]
    beyond_script: bool = False

    @property
    def body(self) -> Any:
        """The parsed JSON, new each time. Raises `ValueError` where it is none."""
        return json.loads(self.raw)


class _Script:
    """The replies of one base URL and what was asked there."""

    def __init__(
        self, replies: Iterable[Reply], *, streaming: bool, heard: Callable[[ModelRequest], None] | None
    ) -> None:
        self.streaming = streaming
        self._heard = heard
        self.requests: tuple[ModelRequest, ...] = ()
        self._replies = tuple(replies)
        self._taken = 0
        self._lock = threading.Lock()
        for reply in self._replies:
            turn = reply.turn if isinstance(reply, Cut) else reply
            if isinstance(turn, Turn) and turn.hold:
                raise ValueError("a turn with `hold` needs a stage, and the server has none")

    def ask(self, raw: bytes, headers: Mapping[str, str], *, valid: bool) -> tuple[int, Reply | None]:
        """Record a request; its number from 1 and the reply to it. None, and no reply taken, where it is not valid."""
        with self._lock:
            beyond = valid and self._taken == len(self._replies)
            request = ModelRequest(raw, headers, beyond_script=beyond)
            self.requests = (*self.requests, request)
            if self._heard is not None:
                self._heard(request)
            reply = self._replies[self._taken] if valid and not beyond else None
            self._taken += reply is not None
            return len(self.requests), reply


class ModelApp:
    """The ASGI application. `drop` ends the connection that a request came over."""

    def __init__(self, drop: Callable[[Scope], None]) -> None:
        self._drop = drop
        self._lock = threading.Lock()
        self._keys = count(1)
        self._scripts: dict[str, _Script] = {}
        self._busy = 0
        self._app = Starlette(
            routes=[
                Route("/s/{key}/v1/chat/completions", self._complete, methods=["POST"]),
                Route("/s/{key}/v1/models", self._models),
            ],
            exception_handlers={HTTPException: _refuse, ClientDisconnect: _nobody_there},
        )

    @property
    def busy(self) -> int:
        """Requests being answered right now."""
        return self._busy

    def add(
        self, replies: Iterable[Reply], *, streaming: bool, heard: Callable[[ModelRequest], None] | None = None
    ) -> str:
        """Register a script; the path under which it is served."""
        script = _Script(replies, streaming=streaming, heard=heard)
        with self._lock:
            key = str(next(self._keys))
            self._scripts[key] = script
        return f"/s/{key}/v1"

    def requests(self, path: str) -> tuple[ModelRequest, ...]:
        """What was asked under a path that `add` gave. Raises `LookupError` for another one."""
        with self._lock:
            for key, script in self._scripts.items():
                if path == f"/s/{key}/v1":
                    return script.requests
        raise LookupError(f"no script is served under {path}")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        with self._lock:
            self._busy += 1
        try:
            await self._app(scope, receive, send)
        finally:
            with self._lock:
                self._busy -= 1

    def _script(self, request: Request) -> tuple[str, _Script]:
        key = request.path_params["key"]
        with self._lock:
            script = self._scripts.get(key)
        if script is None:
            raise HTTPException(404, f"no script has the key {key}")
        return key, script

    async def _models(self, request: Request) -> Response:
        self._script(request)
        model = {"id": "scripted", "object": "model", "created": 0, "owned_by": "looptck"}
        return _json({"object": "list", "data": [model]})

    async def _complete(self, request: Request) -> Response:
        key, script = self._script(request)
        raw = await request.body()
        body = _chat_request(raw)
        number, reply = script.ask(raw, MappingProxyType(dict(request.headers)), valid=body is not None)
        if body is None:
            raise HTTPException(400, "the request is not a JSON object with a model and a list of messages")
        if reply is None:
            raise HTTPException(400, f"the script has no reply for request {number}")
        if isinstance(reply, HttpReply):
            return _verbatim(reply)
        usage = (body.get("stream_options") or {}).get("include_usage") is True
        head = Head(f"chatcmpl-{key}-{number}", body["model"], include_usage=usage)
        return self._said(reply, head, stream=script.streaming and body.get("stream") is True)

    def _said(self, reply: Turn | Cut, head: Head, *, stream: bool) -> Response:
        turn = reply.turn if isinstance(reply, Cut) else reply
        if turn.error is not None and (turn.error_at == "before" or not stream):
            return _json(error_body(str(turn.error), "server_error"), 500)
        if stream:
            events = list(stream_events(turn, head))
            if isinstance(reply, Cut):
                sent = [event for event in events if event != DONE][: reply.after]
                return _Pieces(sent, "text/event-stream", self._drop)
            return _Pieces(events, "text/event-stream")
        whole = _json(completion(turn, head))
        if isinstance(reply, Cut):
            body = bytes(whole.body)
            return _Pieces([body[: len(body) // 2]], "application/json", self._drop)
        return whole


class _Pieces(Response):
    """An answer of unknown length, sent piece by piece. A client that went away meanwhile is no matter.

    With `drop`, the connection ends where the end of the answer should come.
    """

    def __init__(self, pieces: Iterable[bytes], media_type: str, drop: Callable[[Scope], None] | None = None) -> None:
        super().__init__(media_type=media_type, headers={"cache-control": "no-store"})
        del self.headers["content-length"]
        self._pieces = pieces
        self._drop = drop

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        for piece in self._pieces:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        if self._drop is None:
            await send({"type": "http.response.body", "body": b"", "more_body": False})
            return
        self._drop(scope)
        # An application that returns with its answer open is taken for a broken one, and reported.
        while (await receive())["type"] != "http.disconnect":
            pass


def _chat_request(raw: bytes) -> dict[str, Any] | None:
    """The body of a request, or None where no server of this kind would take it."""
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    if not isinstance(body, dict) or not isinstance(body.get("model"), str):
        return None
    return body if isinstance(body.get("messages"), list) else None


def _verbatim(reply: HttpReply) -> Response:
    if not reply.body:
        return _json(error_body(f"scripted status {reply.status}", "scripted_error"), reply.status, reply.headers)
    headers = {"content-type": "application/json", **{name.lower(): value for name, value in reply.headers.items()}}
    return Response(reply.body, reply.status, headers)


def _json(node: dict[str, Any], status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A JSON answer in ASCII: unlike the framework's own, it can hold the lone surrogates that a script may have."""
    return Response(json.dumps(node).encode("ascii"), status, headers, media_type="application/json")


async def _refuse(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - it is registered for nothing else
    return _json(error_body(error.detail, "invalid_request_error"), error.status_code, error.headers)


async def _nobody_there(_request: Request, _error: Exception) -> Response:
    return Response()
