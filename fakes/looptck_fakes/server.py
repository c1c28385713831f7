"""A fake model server: scripted replies over real HTTP on a loopback port, for providers that know no other way.

>>> from looptck_fakes.turns import Turn
>>> with ModelServer() as server:
...     base_url = server.script([Turn(text=("Hello.",)), HttpReply(429)])
...     server.requests(base_url)
()
"""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterable
from concurrent.futures import Future
from types import TracebackType
from typing import Self

import uvicorn
from starlette.types import Scope
from uvicorn.protocols.http.h11_impl import H11Protocol

from looptck_fakes.model_app import Cut, HttpReply, ModelApp, ModelRequest, Reply

__all__ = ["Cut", "HttpReply", "ModelRequest", "ModelServer", "Reply"]

HOST = "127.0.0.1"


class ModelServer:
    """An OpenAI-compatible chat completions server on an ephemeral loopback port, in a daemon thread of its own.

    Every script has a base URL of its own, so one server serves many scenarios at once. All methods may be called
    from any thread. Used as a context manager, or with `start` and `close`; after `close` the requests can still be
    read, and the server cannot be started again. A server does not survive a fork: make it in the child.
    """

    def __init__(self) -> None:
        self._app = ModelApp(self._drop)
        self._server: _QuietServer | None = None
        self._thread: threading.Thread | None = None
        self._origin = ""

    def __enter__(self) -> Self:
        """Start."""
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close."""
        self.close()

    def start(self) -> None:
        """Listen, and return once requests are answered. Raises `OSError` where no port can be had."""
        if self._server is not None:
            raise RuntimeError("a model server starts once")
        listener = socket.create_server((HOST, 0), backlog=128)
        self._origin = f"http://{HOST}:{listener.getsockname()[1]}"
        self._server = _QuietServer(self._app)
        self._thread = threading.Thread(
            target=self._server.run_until_stopped, args=(listener,), name="looptck-model-server", daemon=True
        )
        self._thread.start()
        self._server.ready.result()

    def close(self) -> None:
        """End every connection and the thread; answers on their way are cut off. Closing twice is fine."""
        if self._server is not None and self._thread is not None and self._thread.is_alive():
            self._server.stop()
            self._thread.join()

    def script(self, replies: Iterable[Reply], *, streaming: bool = True) -> str:
        """Register replies, one for each request in the order of arrival; the base URL to ask for them.

        Asked beyond the script, the server records the request and answers 400. With `streaming` false it answers
        requests for a stream with one object, as some servers do. Raises `ValueError` for a turn that holds.
        """
        if not self._origin:
            raise RuntimeError("the model server has not been started")
        return self._origin + self._app.add(replies, streaming=streaming)

    def requests(self, base_url: str) -> tuple[ModelRequest, ...]:
        """What was asked under a base URL so far, in order. Raises `LookupError` for one that `script` did not give."""
        return self._app.requests(base_url.removeprefix(self._origin))

    @property
    def busy(self) -> int:
        """The number of requests being answered right now."""
        return self._app.busy

    def _drop(self, scope: Scope) -> None:
        if self._server is not None:
            self._server.drop(scope["client"])


class _QuietServer(uvicorn.Server):
    """A uvicorn server that sleeps while nobody asks, and stops at once.

    uvicorn's own main loop wakes ten times a second, which costs up to 0.2 s when it stops, and makes the thread
    look busy to whoever watches for quiet.
    """

    def __init__(self, app: ModelApp) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=H11Protocol,
                ws="none",
                lifespan="off",
                interface="asgi3",
                log_config=None,
                workers=1,
                proxy_headers=False,
                server_header=False,
                date_header=False,
            )
        )
        self.ready: Future[None] = Future()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopped = asyncio.Event()

    def run_until_stopped(self, listener: socket.socket) -> None:
        """The thread's work. What fails before the server is ready is raised by `ready`."""
        try:
            asyncio.run(self.serve([listener]))
        except BaseException as error:
            listener.close()
            if self.ready.done():
                raise
            self.ready.set_exception(error)

    def stop(self) -> None:
        """Stop soon; from any thread, after `ready`."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._stopped.set)

    def drop(self, client: tuple[str, int]) -> None:
        """End the connection of a client after what was written to it; from the server's own thread."""
        for connection in self.server_state.connections:
            if isinstance(connection, H11Protocol) and connection.client == client:
                connection.transport.close()

    async def main_loop(self) -> None:
        """Be ready, then wait to be stopped."""
        self._loop = asyncio.get_running_loop()
        self.ready.set_result(None)
        await self._stopped.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:  # noqa: ARG002 - the base's signature
        """Abort what is open, and let the tasks of open requests see that their client is gone."""
        for server in self.servers:
            server.close()
        for connection in list(self.server_state.connections):
            connection.transport.abort()
        await asyncio.gather(*self.server_state.tasks)
        await asyncio.sleep(0)  # connections are told of their end by a callback
        for server in self.servers:
            await server.wait_closed()
