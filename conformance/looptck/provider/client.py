"""The HTTP side of the real provider: one connection for one model call, closed whatever ends it."""

from __future__ import annotations

import ssl
from contextlib import aclosing, nullcontext, suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

import httpx2

from looptck.provider.errors import ProviderError
from looptck.provider.wire import ReplyReader, error_text, request_body

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence
    from contextlib import AbstractAsyncContextManager

    from looptck.contract.messages import Chunk, Message, ToolDefinition

_STREAM = "text/event-stream"
_WHOLE = "application/json"


class OpenAICompatibleProvider:
    """A `Provider` that asks `{base_url}/chat/completions` for a streamed reply with its usage.

    `timeout` is in seconds, for connecting and for each wait for more of the answer, not for the whole of it. Without
    `client`, every call opens a connection of its own, so one provider serves any number of calls, event loops and
    threads at once; proxies and credentials in the environment are not looked at. A `client` that is given is used
    as it is, its timeout included, and left open; it belongs to one event loop.

    Raises `ValueError` for a key that no header can carry.
    """

    def __init__(
        self,
        model: str,
        base_url: str,
        api_key: str | None = None,
        *,
        timeout: float = 30.0,
        client: httpx2.AsyncClient | None = None,
    ) -> None:
        self.model = model
        self._url = f"{base_url.rstrip('/')}/chat/completions"
        self._headers = {"content-type": "application/json", "accept": f"{_STREAM}, {_WHOLE}"}
        if api_key is not None:
            if not (api_key.isascii() and api_key.isprintable()):
                raise ValueError("the API key has characters that no header can carry")
            self._headers["authorization"] = f"Bearer {api_key}"
        self._timeout = timeout
        self._client = client

    def stream(
        self, messages: Sequence[Message], tools: Sequence[ToolDefinition], options: Mapping[str, Any]
    ) -> AsyncGenerator[Chunk, None]:
        """Ask the model once; the request is what the arguments say now, however late it is read.

        `options` become fields of the request, beside the five that the provider fills itself. Text that is empty
        yields no chunk; ids and names are yielded once. Closing the generator closes the connection.

        Raises `ValueError` for options that name one of those five (`looptck.provider.wire.RESERVED`), `TypeError` or
        `ValueError` for what has no JSON form; while it is read, `ProviderError`.
        """
        return self._reply(request_body(self.model, messages, tools, options))

    async def _reply(self, body: bytes) -> AsyncGenerator[Chunk, None]:
        failure = f"no answer from {self._url}"
        try:
            async with (
                self._session() as client,
                client.stream("POST", self._url, content=body, headers=self._headers) as response,
            ):
                failure = "the answer was cut off"
                async with aclosing(_chunks(response)) as chunks:
                    async for chunk in chunks:
                        yield chunk
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise ProviderError(f"{failure}: {type(error).__name__} {error}") from error

    def _session(self) -> AbstractAsyncContextManager[httpx2.AsyncClient]:
        if self._client is not None:
            return nullcontext(self._client)
        return httpx2.AsyncClient(timeout=self._timeout, trust_env=False, verify=self._tls)

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        """Trusts the machine's authorities; for plain HTTP nobody, which saves reading them all and is never asked."""
        if self._url.startswith("http:"):
            return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        return httpx2.create_ssl_context(trust_env=False)


async def _chunks(response: httpx2.Response) -> AsyncGenerator[Chunk, None]:
    """The chunks of an answer, streamed or not. Raises `ProviderError`, or what the HTTP client raises."""
    if not response.is_success:
        await response.aread()
        raise ProviderError(
            f"the model server answered {response.status_code}: {error_text(response.text)}",
            status=response.status_code,
        )
    media_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type not in {_STREAM, _WHOLE}:
        raise ProviderError(f"the model server answered with {media_type or 'no content type'}, not with {_STREAM}")
    reader = ReplyReader()
    if media_type == _WHOLE:
        await response.aread()
        for chunk in reader.whole(response.text):
            yield chunk
        return
    async with aclosing(_events(response)) as events:
        async for data in events:
            for chunk in reader.event(data):
                yield chunk
            if reader.done:
                return
    if not reader.complete:
        raise ProviderError("the answer was cut off: the stream ended without a finish reason and without [DONE]")


async def _events(response: httpx2.Response) -> AsyncGenerator[str, None]:
    """The data of the stream's events, those without any left out."""
    events = aiter(httpx2.EventSource(response))
    try:
        async for event in events:
            if event.data:
                yield event.data
    finally:
        # The client's iterators do not all close the one below them. Dropped halfway, one would be closed by a task
        # that the event loop starts after this call is over, which looks like work that the caller left behind. So
        # the connection goes first, and the iterators are read until they notice.
        await response.aclose()
        with suppress(Exception):
            async for _ in events:
                pass
