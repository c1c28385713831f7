"""The process that runs are forked from: it has imported pytest and what loops are made with, and never a loop.

It is started anew, so that nothing of the mutants is in its memory, and does one run at a time. A request comes over a
socket, with two descriptors for what the child sends and what it prints. The child's id goes back, and at its end its
status. When the socket is closed, so is all of it.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import marshal
import os
import selectors
import signal
import socket
import sys
import threading
from importlib import metadata
from typing import TYPE_CHECKING, cast

from looptck.isolate import own_streams
from looptck.processes import kill_group
from looptck_mutants.suites.inside import run_inside

if TYPE_CHECKING:
    from looptck_mutants.suites.inside import Request

HEADER = 8
_NAME = "looptck_mutants.suites.zygote"
WARM = (
    "asyncio",
    "unittest.mock",
    "looptck.contract.ag03",
    "looptck.contract.lesson4",
    "looptck.pytest_subject",
    "looptck_fakes",
    "looptck_fakes.lesson4",
    "opentelemetry.sdk.trace",
)
"""What suites import, as a rule."""
_FAILED = 70


def main(arguments: list[str]) -> None:
    """Serve the socket whose descriptor is the first argument; the others are modules to import beforehand."""
    plugins = (point.module for point in metadata.entry_points(group="pytest11"))
    for name in (*WARM, *plugins, *arguments[1:]):
        with contextlib.suppress(Exception):  # it only saves time; a suite that needs it is told
            importlib.import_module(name)
    if threading.active_count() > 1 and arguments[1:]:  # a child would wait for threads that it has not
        os.execv(sys.executable, [sys.executable, "-P", "-m", _NAME, arguments[0]])  # noqa: S606 - itself once more
    gc.collect()
    gc.freeze()  # what is there by now is never collected: the children need not copy it to look at it
    control = socket.socket(fileno=int(arguments[0]))
    wakes, wake = os.pipe()
    for end in (wakes, wake):
        os.set_blocking(end, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake)
    control.sendall(b"!")
    while True:
        data, descriptors, _, _ = socket.recv_fds(control, HEADER, 2)
        if len(data) < HEADER or len(descriptors) != 2:  # noqa: PLR2004 - what is sent and what is printed
            return
        request = _receive(control, int.from_bytes(data, "big"))
        if request is None:
            return
        write, out = descriptors
        pid = os.fork()
        if pid == 0:
            _child(request, write, out, control)
        with contextlib.suppress(OSError):  # both sides do it, so that neither is too early to end the group
            os.setpgid(pid, pid)
        os.close(write)
        os.close(out)
        control.sendall(pid.to_bytes(HEADER, "big"))
        status = _end(pid, control, wakes)
        if status is None:
            return
        control.sendall(status.to_bytes(HEADER, "big", signed=True))


def _receive(control: socket.socket, size: int) -> Request | None:
    received = bytearray()
    while len(received) < size:
        data = control.recv(size - len(received))
        if not data:
            return None
        received += data
    return cast("Request", marshal.loads(bytes(received)))  # noqa: S302 - of our own process


def _child(request: Request, write: int, out: int, control: socket.socket) -> None:
    code = _FAILED
    try:
        os.setpgid(0, 0)
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        control.close()
        for end in (1, 2):
            os.dup2(out, end)
        own_streams()
        run_inside(request, write)
        code = 0
    finally:
        os._exit(code)


def _end(pid: int, control: socket.socket, wakes: int) -> int | None:
    """Wait for a child, and end what it left in its group. Returns its exit code or minus its signal.

    None where the other end of the socket is gone, and there is nobody to tell.
    """
    with selectors.DefaultSelector() as selector:
        selector.register(control, selectors.EVENT_READ)
        selector.register(wakes, selectors.EVENT_READ)
        while True:
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                kill_group(pid)
                return os.waitstatus_to_exitcode(status)
            ready = [key.fileobj for key, _ in selector.select()]
            if control in ready:
                kill_group(pid)
                return None
            with contextlib.suppress(BlockingIOError):
                os.read(wakes, 4096)


if __name__ == "__main__":
    main(sys.argv[1:])
