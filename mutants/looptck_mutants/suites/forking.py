"""The parent's side of the processes that fork runs: they are started, told what to run, listened to and ended."""

from __future__ import annotations

import contextlib
import marshal
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import TYPE_CHECKING, Self

from looptck_mutants.suites.runs import OVER, Run
from looptck_mutants.suites.zygote import HEADER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import TracebackType

    from looptck_mutants.suites.inside import Request

_KEPT = 2_000
_START = 60.0
"""Seconds in which a zygote has to be up."""
_END = 5.0
"""Seconds in which the end of a child that was killed has to be known."""
_LINE = 1_000_000
"""Bytes of a line that a child may send."""


class ClosedError(Exception):
    """The zygote is to run nothing more."""


class Zygotes:
    """As many zygotes as there may be runs at a time, and threads to wait for them; a context that ends them all."""

    def __init__(self, modules: Sequence[str], jobs: int = 0) -> None:
        self.jobs = jobs or os.cpu_count() or 1
        self._all = [Zygote(modules) for _ in range(self.jobs)]
        self._free: SimpleQueue[Zygote] = SimpleQueue()
        for zygote in self._all:
            self._free.put(zygote)
        self.threads = ThreadPoolExecutor(self.jobs)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _traceback: TracebackType | None
    ) -> None:
        for zygote in self._all:
            zygote.close()
        self.threads.shutdown(cancel_futures=True)

    @contextlib.contextmanager
    def one(self) -> Iterator[Zygote]:
        """A zygote for this thread alone."""
        zygote = self._free.get()
        try:
            yield zygote
        finally:
            self._free.put(zygote)


class Zygote:
    """A process that forks runs, one at a time. It is started when it is first needed, and again when it has died."""

    def __init__(self, modules: Sequence[str]) -> None:
        self._modules = modules
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._child = 0
        self._closed = False

    def run(self, request: Request, limit: float) -> Run:
        """One run; `limit` are the seconds that may pass between two of its messages. Raises `ClosedError`."""
        if self._closed:
            raise ClosedError
        if self._process is None or self._process.poll() is not None:
            self._start()
        control = self._control
        assert control is not None, "it was started"  # noqa: S101 - narrows the type
        reads, write = os.pipe()
        printed, out = os.pipe()
        run = Run()
        try:
            data = marshal.dumps(dict(request))
            socket.send_fds(control, [len(data).to_bytes(HEADER, "big")], [write, out])
            control.sendall(data)
            os.close(write)
            os.close(out)
            listener = _Listener(run, control, reads, printed, limit, self._knows)
            if not listener.listen():
                self._stop()
        except OSError as error:
            run.stopped = f"could not be started ({error})"
            self._stop()
        finally:
            os.close(reads)
            os.close(printed)
        return run

    def _knows(self, pid: int) -> None:
        self._child = pid

    def _start(self) -> None:
        """Start the process, and wait until it has imported everything."""
        self._stop()
        ours, theirs = socket.socketpair()
        command = [sys.executable, "-P", "-m", "looptck_mutants.suites.zygote", str(theirs.fileno()), *self._modules]
        self._process = subprocess.Popen(  # noqa: S603 - our own module
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            env=_environment(),
            pass_fds=(theirs.fileno(),),
            start_new_session=True,
        )
        theirs.close()
        ours.settimeout(_START)
        if ours.recv(1) != b"!":
            msg = "a process that runs suites could not be started"
            raise RuntimeError(msg)
        self._control = ours

    def close(self) -> None:
        """End it, whatever it does."""
        self._closed = True
        self._stop()

    def _stop(self) -> None:
        for pid in filter(None, (self._child, self._process.pid if self._process is not None else 0)):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)
        if self._process is not None:
            self._process.wait()
        if self._control is not None:
            self._control.close()
        self._process, self._control, self._child = None, None, 0


def _environment() -> dict[str, str]:
    """What the user has set, but for what is meant for pytest or the kit itself."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "LOOPTCK_"))}
    return kept | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


class _Listener:
    """Reads what a child sends and prints until it has ended, or is over the limit."""

    def __init__(
        self,
        run: Run,
        control: socket.socket,
        reads: int,
        printed: int,
        limit: float,
        knows: Callable[[int], None],
    ) -> None:
        self._run, self._control, self._limit, self._knows = run, control, limit, knows
        self._reads, self._printed = reads, printed
        self._pid, self._ended = 0, False
        self._received = bytearray()
        self._said = b""
        self._deadline = time.monotonic() + limit

    def listen(self) -> bool:
        """Whether the zygote is still there: a suite may have ended it, and goes on without."""
        with selectors.DefaultSelector() as selector:
            for end in (self._control, self._reads, self._printed):
                selector.register(end, selectors.EVENT_READ)
            status, there = None, True
            while status is None and (there or self._reads in selector.get_map()):
                ready = selector.select(max(self._deadline - time.monotonic(), 0.0))
                if not ready and time.monotonic() >= self._deadline and not self._over():
                    there = False
                    break
                ends = [key.fileobj for key, _ in ready]
                for end in (self._reads, self._printed):
                    if end in ends and not self._read(end):
                        selector.unregister(end)
                if self._control in ends:
                    there, status = self._number()
                    if not there:
                        selector.unregister(self._control)
        self._rest()
        self._conclude(status)
        return there

    def _conclude(self, status: int | None) -> None:
        run = self._run
        if not run.finished and not run.stopped:
            by = f" by signal {-status}" if status is not None and status < 0 else ""
            run.stopped = f"ended its process{by}"
        if not run.collected and not run.refused:
            said = self._said.decode("utf-8", "replace").strip().splitlines()
            run.stopped = said[-1] if said else run.stopped

    def _number(self) -> tuple[bool, int | None]:
        """Whether anything came. The child's id comes first, its status later."""
        try:
            data = self._control.recv(HEADER, socket.MSG_WAITALL)
        except ConnectionError:
            data = b""
        number = int.from_bytes(data, "big", signed=True)
        if len(data) < HEADER or self._pid:
            return len(data) == HEADER, number if self._pid and len(data) == HEADER else None
        self._pid = number
        self._knows(number)
        return True, None

    def _over(self) -> bool:
        """Whether there is still something to wait for: the end of what is ended here, but for it no more than once."""
        if self._ended:
            return False
        self._ended = True
        self._run.stopped = self._run.stopped or f"{OVER} of {self._limit:.1f} s"
        self._deadline = time.monotonic() + min(self._limit, _END)
        if self._pid:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._pid, signal.SIGKILL)
        return True

    def _read(self, end: int) -> bytes:
        data = os.read(end, 65_536)
        if end == self._printed:
            self._said = (self._said + data)[-_KEPT:]
        elif not self._run.stopped:
            self._received += data
            self._hear()
        return data

    def _hear(self) -> None:
        *lines, rest = self._received.split(b"\n")
        self._received = rest
        try:
            for line in lines:
                self._run.hear(bytes(line))
                now = time.monotonic()
                self._run.longest = max(self._run.longest, now + self._limit - self._deadline)
                self._deadline = now + self._limit
            if len(rest) > _LINE:
                raise ValueError(len(rest))
        except (ValueError, KeyError, TypeError, RecursionError):
            self._deadline = 0.0
            self._run.stopped = "wrote into what its results are sent by"

    def _rest(self) -> None:
        """What was sent before the end and not yet read."""
        for end in (self._reads, self._printed):
            os.set_blocking(end, False)
            with contextlib.suppress(BlockingIOError):
                while self._read(end):
                    pass
