"""Serves a scenario until its client is done, and listens: the server, the command, the signals and the clock."""

from __future__ import annotations

import os
import queue
import signal
import stat
import subprocess
import threading
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from looptck.observe.rig import Rig
from looptck.observe.transport import http_reply
from looptck.serve.judge import Ended, judge
from looptck.serve.messages import read
from looptck.serve.told import API_KEY, request, serving
from looptck_fakes.server import ModelServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from looptck.scenario import Scenario
    from looptck.serve.report import ServeReport
    from looptck_fakes.server import ModelRequest

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PATIENCE = 2.0
"""Seconds that a command has to end when it is asked to."""


class CannotServeError(Exception):
    """The port cannot be had, or the command cannot be run; the text is one line."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where to listen; port 0 is any that is free."""

    host: str = "127.0.0.1"
    port: int = 0


@dataclass(frozen=True, slots=True)
class _Heard:
    """A request of an invocation, counted from 0."""

    invocation: int
    raw: bytes


_Happened: TypeAlias = "_Heard | Ended"


def serve(
    scenario: Scenario,
    tell: Callable[[dict[str, Any]], None],
    *,
    place: Place,
    file: str,
    command: Sequence[str] = (),
    idle: float | None = None,
    own_input: bool = False,
) -> ServeReport:
    """Serve until the command or the client is done, and judge what was asked.

    `tell` is given each line that `told` describes, in order. Without a command the end is a signal, the end of
    standard input where that is a pipe, or `idle` seconds without a request. Raises `CannotServeError`.
    """
    happened: queue.SimpleQueue[_Happened] = queue.SimpleQueue()
    listener = _Listener(scenario, tell)
    with (
        _signals(happened),
        _served(scenario, place, happened) as (server, urls),
        _running(command, _environment(urls, file), happened),
    ):
        tell(serving(scenario, urls))
        if not command:
            _watch_stdin(happened)
        ended = _until_done(happened, listener, idle, server)
    while not happened.empty():  # what was heard while the server closed
        listener.hear(happened.get())
    return judge(scenario, listener.requests, ended, own_input=own_input)


class _Listener:
    """Keeps the requests of each invocation, and tells of each."""

    def __init__(self, scenario: Scenario, tell: Callable[[dict[str, Any]], None]) -> None:
        self._tell = tell
        self._left = [iter(invocation.turns) for invocation in scenario.invocations]
        self.requests: list[list[bytes]] = [[] for _ in scenario.invocations]

    @property
    def number(self) -> int:
        """The requests so far."""
        return sum(map(len, self.requests))

    def hear(self, happened: _Happened) -> None:
        """Take what happened, if it is a request."""
        if isinstance(happened, Ended):
            return
        self.requests[happened.invocation].append(happened.raw)
        asked = read(happened.raw)
        turn = next(self._left[happened.invocation], None) if asked is not None else None
        self._tell(request(self.number, happened.invocation + 1, asked, turn))


def _until_done(
    happened: queue.SimpleQueue[_Happened], listener: _Listener, idle: float | None, server: ModelServer
) -> Ended:
    while True:
        try:
            item = happened.get(timeout=idle if listener.number else None)
        except queue.Empty:
            if server.busy:
                continue
            return Ended(f"nothing was asked for {idle:g} seconds")
        if isinstance(item, Ended):
            return item
        listener.hear(item)


# ----------------------------------------------------------------------------------------------------------- the server


@contextmanager
def _served(
    scenario: Scenario, place: Place, happened: queue.SimpleQueue[_Happened]
) -> Iterator[tuple[ModelServer, list[str]]]:
    """The running server, and the base URL of each invocation."""
    server, rig = ModelServer(place.host, place.port), Rig(scenario)
    try:
        server.start()
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise CannotServeError(f"port {place.port} of {place.host} cannot be had: {reason}") from None

    def heard(number: int) -> Callable[[ModelRequest], None]:
        return lambda asked: happened.put(_Heard(number, asked.raw))

    urls = []
    with closing(server):
        for number, invocation in enumerate(scenario.invocations):
            replies = [http_reply(rig, turn) for turn in invocation.turns]
            urls.append(server.script(replies, heard=heard(number)))
        yield server, urls


# ---------------------------------------------------------------------------------------------------------- the command


def _environment(urls: Sequence[str], file: str) -> dict[str, str]:
    """What a command is told: where to ask, in the names that clients of such servers look for, and what to do."""
    return os.environ | {
        "OPENAI_BASE_URL": urls[0],
        "OPENAI_API_BASE": urls[0],  # the older name
        "OPENAI_API_KEY": API_KEY,
        "LOOPTCK_BASE_URLS": " ".join(urls),
        "LOOPTCK_SCENARIO": os.path.abspath(file),  # noqa: PTH100 - it may be gone by then; a path is all it is
    }


@contextmanager
def _running(
    command: Sequence[str], environment: dict[str, str], happened: queue.SimpleQueue[_Happened]
) -> Iterator[None]:
    """The command, if there is one: nothing of it is left at the end. Its output goes to standard error."""
    if not command:
        yield
        return
    try:
        process = subprocess.Popen(  # noqa: S603 - it is the user's own
            command, stdin=subprocess.DEVNULL, stdout=2, env=environment, process_group=0
        )
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise CannotServeError(f"{command[0]!r} cannot be run: {reason}") from None
    threading.Thread(target=lambda: happened.put(_ended(process.wait())), daemon=True).start()
    try:
        yield
    finally:
        _end(process)


def _ended(code: int) -> Ended:
    if code < 0:
        return Ended(f"the command was ended by signal {-code}", command_exit=code)
    return Ended(f"the command ended with exit code {code}", finished=code == 0, command_exit=code)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the command, and whatever it has left in its process group."""
    if process.poll() is None:
        _kill(process.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(PATIENCE)
    _kill(process.pid, signal.SIGKILL)
    process.wait()


def _kill(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):  # the latter where only zombies are left, on macOS
        os.killpg(group, number)


# ---------------------------------------------------------------------------------------------------- other ways to end


@contextmanager
def _signals(happened: queue.SimpleQueue[_Happened]) -> Iterator[None]:
    """Signals that would end the process end the serving, where this is the main thread; its verdict is still told."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def note(number: int, _frame: object) -> None:
        happened.put(Ended(f"ended by {signal.Signals(number).name}"))

    before = {number: signal.signal(number, note) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _watch_stdin(happened: queue.SimpleQueue[_Happened]) -> None:
    """Tell when standard input ends, where it is a pipe: who started us has had enough then, or is gone."""
    try:
        if not stat.S_ISFIFO(os.fstat(0).st_mode):
            return
    except OSError:  # there is none
        return

    def watch() -> None:
        with suppress(OSError):
            while os.read(0, 65_536):
                continue
        happened.put(Ended("standard input ended"))

    threading.Thread(target=watch, daemon=True).start()
