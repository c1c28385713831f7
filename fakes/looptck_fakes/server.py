"""A fake model server: scripted replies over real HTTP on a loopback port, for providers that know no other way."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from contextlib import suppress
from typing import Self

import uvicorn
from starlette.types import Scope
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from looptck_fakes.model_app import Cut, HttpReply, ModelApp, ModelRequest, Reply

__all__ = ["Cut", "HttpReply", "ModelRequest", "ModelServer", "Reply"]

HOST = "127.0.0.1"


class ModelServer:
    """An OpenAI-compatible chat completions server on a loopback port, in a daemon thread of its own.

    `host` is an address, or a name that stands for one, to listen on; port 0 is any that is free. Every script has a
    base URL of its own, so one server serves many scenarios at once. All methods may be called from any thread. Used as
    a context manager, or with `start` and `close`; after `close` the requests can still be read, and the server cannot
    be started again. A server does not survive a fork: make it in the child.

        >>> from looptck_fakes import Turn
        >>> with ModelServer() as server:
        ...     base_url = server.script([Turn(text=("Hello.",)), HttpReply(429)])
        ...     server.requests(base_url)
        ()
    """

    def __init__(self, host: str = HOST, port: int = 0) -> None:
        self._place = (host, port)
        self._app = ModelApp(self._drop)
        self._state = ServerState()
        self._ready: Future[asyncio.AbstractEventLoop] = Future()
        self._stopped = asyncio.Event()
        self._thread: threading.Thread | None = None
        self._origin = ""

    def __enter__(self) -> Self:
        """Start."""
        self.start()
        return self

    def __exit__(self, *_error: object) -> None:
        """Close."""
        self.close()

    def start(self) -> None:
        """Listen, and return once requests are answered. Raises `OSError` where the port cannot be had."""
        if self._thread is not None:
            raise RuntimeError("a model server starts once")
        host, port = self._place
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listener = socket.create_server((host, port), family=family, backlog=128)
        self._thread = threading.Thread(target=self._run, args=(listener,), name="looptck-model-server", daemon=True)
        self._thread.start()
        if failure := self._ready.exception():
            self._thread.join()
            raise failure
        shown = f"[{host}]" if family == socket.AF_INET6 else host
        self._origin = f"http://{shown}:{listener.getsockname()[1]}"

    def close(self) -> None:
        """End every connection and the thread; answers on their way are cut off. Closing twice is fine."""
        if self._thread is not None and self._thread.is_alive():
            with suppress(RuntimeError):  # another thread closed it in between
                self._ready.result().call_soon_threadsafe(self._stopped.set)
            self._thread.join()

    def script(
        self,
        replies: Iterable[Reply],
        *,
        streaming: bool = True,
        heard: Callable[[ModelRequest], None] | None = None,
    ) -> str:
        """Register replies, one for each request in the order of arrival; the base URL to ask for them.

        Asked beyond the script, the server records the request and answers 400. With `streaming` false it answers
        requests for a stream with one object, as some servers do. `heard` is called with each request as it comes,
        before it is answered, in the server's thread, where it should do little. Raises `ValueError` for a turn that
        holds.
        """
        if not self._origin:
            raise RuntimeError("the model server has not been started")
        return self._origin + self._app.add(replies, streaming=streaming, heard=heard)

    def requests(self, base_url: str) -> tuple[ModelRequest, ...]:
        """What was asked under a base URL so far, in order. Raises `LookupError` for one that `script` did not give."""
        return self._app.requests(base_url.removeprefix(self._origin))

    @property
    def busy(self) -> int:
        """The number of requests being answered right now."""
        return self._app.busy

    # -------------------------------------------------------------------------- the thread of the server

    def _run(self, listener: socket.socket) -> None:
        try:
            asyncio.run(self._serve(listener))
        except BaseException as error:
            listener.close()
            if self._ready.done():
                raise
            self._ready.set_exception(error)

    async def _serve(self, listener: socket.socket) -> None:
        """Serve until stopped.

        With uvicorn's protocol but without its `Server`, which wakes ten times a second (a thread that others watch
        for quiet should sleep while nobody asks), takes up to 0.2 s to stop, and handles signals.
        """
        config = uvicorn.Config(
            self._app,
            http=H11Protocol,
            ws="none",
            lifespan="off",
            interface="asgi3",
            log_config=None,
            workers=1,
            proxy_headers=False,
        )
        config.load()
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: H11Protocol(config, self._state, {}), sock=listener)
        self._ready.set_result(loop)
        await self._stopped.wait()
        await self._end_connections()
        server.close()

    async def _end_connections(self) -> None:
        """Abort what is open, until nothing is: no connection, no request, and none that is just being accepted.

        The listener has to outlive the last of these: a connection that is accepted when it is gone is never closed.
        """
        while (tasks := asyncio.all_tasks() - {asyncio.current_task()}) or self._state.connections:
            for connection in self._state.connections:
                connection.transport.abort()
            if tasks:
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            else:
                await asyncio.sleep(0)  # connections are told of their end by a callback

    def _drop(self, scope: Scope) -> None:
        """End the connection of a request after what was written to it."""
        for connection in self._state.connections:
            if isinstance(connection, H11Protocol) and connection.client == scope["client"]:
                connection.transport.close()
