"""The parent's side of the processes that fork runs: they are started, told what to run, listened to and ended."""

from __future__ import annotations

import contextlib
import marshal
import os
import selectors
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from queue import SimpleQueue
from typing import TYPE_CHECKING, Self

from looptck.processes import for_others, kill_group, pipe
from looptck_mutants.harness import KitFaultError
from looptck_mutants.suites.runs import OVER, Run
from looptck_mutants.suites.zygote import HEADER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import TracebackType

    from looptck_mutants.suites.inside import Request

_KEPT = 2_000
_START = 60.0
"""Seconds in which a zygote has to be up, and a run to have come as far as to pytest."""
_END = 5.0
"""Seconds in which the end of a child that was killed has to be known."""
_LINE = 1_000_000
"""Bytes of a line that a child may send."""
_CHUNK, _LEFT = 65_536, 1_048_576
"""Bytes that are read at a time, and at most behind the end: no pipe holds more, and somebody may still be writing."""
_ATTEMPTS = 2
"""How often a run is started: what an earlier one has left may have ended the zygote since."""


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
            zygote.end()
        self.threads.shutdown(cancel_futures=True)
        for zygote in self._all:
            zygote.close()

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
        self._lock = threading.Lock()

    def run(self, request: Request, limit: float) -> Run:
        """One run; `limit` are the seconds that may pass between two of its messages.

        Raises `ClosedError`, and `KitFaultError` where it could not be started: that says nothing about the suite.
        """
        why = ""
        for _ in range(_ATTEMPTS):
            try:
                run = self._attempt(request, limit)
            except OSError as error:
                self._stop()
                why = str(error)
            else:
                if run.started or run.refused:
                    return run
                self._stop()
                why = run.stopped
        if self._closed:
            raise ClosedError
        msg = f"a run of the suite could not be started: {why}"
        raise KitFaultError(msg)

    def _attempt(self, request: Request, limit: float) -> Run:
        """One run, `started` or not. Raises `ClosedError`, and `OSError` before there is a child."""
        if self._process is None or self._process.poll() is not None:
            self._start()
        control = self._control
        assert control is not None, "it was started"  # noqa: S101 - narrows the type
        run, data = Run(), marshal.dumps(dict(request))
        with ExitStack() as ours:
            selector = ours.enter_context(selectors.DefaultSelector())
            with ExitStack() as theirs:
                (reads, write), (printed, out) = pipe(ours, theirs), pipe(ours, theirs)
                socket.send_fds(control, [len(data).to_bytes(HEADER, "big")], [write, out])
                control.sendall(data)
            if _Listener(run, control, reads, printed, limit, self._knows).listen(selector):
                self._knows(0)
            else:
                self._stop()
        return run

    def _knows(self, pid: int) -> None:
        with self._lock:
            self._child = pid

    def _start(self) -> None:
        """Start the process, and wait until it has imported everything. Raises `ClosedError` and `OSError`."""
        self._stop()
        with ExitStack() as stack:
            ours, theirs = socket.socketpair()
            control = stack.enter_context(ours)
            with theirs:
                self._spawn(theirs.fileno())
            control.settimeout(_START)
            if control.recv(1) != b"!":
                msg = "a process that runs suites has ended"
                raise ConnectionError(msg)
            stack.pop_all()
        self._control = control

    def _spawn(self, descriptor: int) -> None:
        command = [sys.executable, "-P", "-m", "looptck_mutants.suites.zygote", str(descriptor), *self._modules]
        with self._lock:  # whoever closes it sees the process, or there is none
            if self._closed:
                raise ClosedError
            self._process = subprocess.Popen(  # noqa: S603 - our own module
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env=_environment(),
                pass_fds=(descriptor,),
                start_new_session=True,
            )

    def end(self) -> None:
        """End the process, whatever it does; nothing is started any more. May be called while a run is waited for."""
        with self._lock:
            self._closed = True
            self._kill()

    def close(self) -> None:
        """End it; no run is waited for any more."""
        self.end()
        self._stop()

    def _stop(self) -> None:
        """End the process and everything that is known of it. Only for the thread that has the zygote."""
        with self._lock:
            self._kill()
            process, self._process, self._child = self._process, None, 0
        if process is not None:
            process.wait()
        if self._control is not None:
            self._control.close()
            self._control = None

    def _kill(self) -> None:
        for pid in filter(None, (self._child, self._process.pid if self._process is not None else 0)):
            kill_group(pid)


def _environment() -> dict[str, str]:
    """What the user has set, but for what is meant for pytest or the kit itself."""
    return for_others(os.environ) | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


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
        self._deadline = time.monotonic() + max(limit, _START)  # the suite's time begins when it does

    def listen(self, selector: selectors.BaseSelector) -> bool:
        """Whether the zygote is still there: a suite may have ended it, and goes on without."""
        for end in (self._control, self._reads, self._printed):
            selector.register(end, selectors.EVENT_READ)
        status, there = None, True
        while status is None and (there or self._reads in selector.get_map()):
            ends = [key.fileobj for key, _ in selector.select(max(self._deadline - time.monotonic(), 0.0))]
            for end in (self._reads, self._printed):
                if end in ends and not self._read(end):
                    selector.unregister(end)
            if self._control in ends:
                there, status = self._number()
                if not there:
                    selector.unregister(self._control)
            # Whatever was ready: somebody who never stops printing is over the limit like anybody else.
            if status is None and self._late(selector) and not self._over():
                there = False
                break
        self._rest()
        self._conclude(status)
        return there

    def _conclude(self, status: int | None) -> None:
        run = self._run
        if not run.finished and not run.stopped:
            by = f" by signal {-status}" if status is not None and status < 0 else ""
            run.stopped = f"ended its process{by}"
        if run.finished and not run.collected:
            run.stopped = "was finished before anything was collected; is there a plugin that distributes the tests?"
        elif not run.collected and not run.refused:
            said = self._said.decode("utf-8", "replace").strip().splitlines()
            run.stopped = said[-1] if said else run.stopped

    def _number(self) -> tuple[bool, int | None]:
        """Whether anything came. The child's id comes first, its status later."""
        try:
            data = self._control.recv(HEADER, socket.MSG_WAITALL)
        except OSError:
            data = b""
        number = int.from_bytes(data, "big", signed=True)
        if len(data) < HEADER or self._pid:
            return len(data) == HEADER, number if self._pid and len(data) == HEADER else None
        self._pid = number
        self._knows(number)
        return True, None

    def _late(self, selector: selectors.BaseSelector) -> bool:
        """Whether the time is up and nothing that counts is there to be read: this process may be what is late."""
        if time.monotonic() < self._deadline:
            return False
        counts = (self._control,) if self._run.stopped else (self._control, self._reads)
        return not any(key.fileobj in counts for key, _ in selector.select(0))

    def _over(self) -> bool:
        """Whether there is still something to wait for: the end of what is ended here, but for it no more than once."""
        if self._ended:
            return False
        self._ended = True
        self._run.stopped = self._run.stopped or f"{OVER} of {self._limit:.1f} s"
        self._deadline = time.monotonic() + min(self._limit, _END)
        if self._pid:
            kill_group(self._pid)
        return True

    def _read(self, end: int) -> bytes:
        data = os.read(end, _CHUNK)
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
                for _ in range(_LEFT // _CHUNK + 1):
                    if not self._read(end):
                        break
