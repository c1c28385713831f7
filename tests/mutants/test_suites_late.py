"""What a run has sent in time counts, however late this process reads it."""

from __future__ import annotations

import os
import selectors
import socket
from types import SimpleNamespace

import pytest

from looptck_mutants.suites import forking
from looptck_mutants.suites.runs import Run
from looptck_mutants.suites.zygote import HEADER

LINES = (b'{"kind": "started"}\n', b'{"kind": "collected", "tests": [], "errors": []}\n', b'{"kind": "finished"}\n')
AGES = 1e6
NOBODY = 2**31 - 1
"""No process has such an id: nobody could be ended."""


def test_a_run_is_not_over_the_limit_while_something_of_it_can_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    run, (control, theirs), (reads, write), (printed, out) = Run(), socket.socketpair(), os.pipe(), os.pipe()
    theirs.sendall(NOBODY.to_bytes(HEADER, "big", signed=True))
    looks = 0

    def late() -> float:
        """The time is always up, and whoever looked last could not see yet what is sent now."""
        nonlocal looks
        looks += 1
        if 0 <= looks - 3 < len(LINES):
            os.write(write, LINES[looks - 3])
        elif looks - 3 == len(LINES):
            os.close(write)
            theirs.sendall((0).to_bytes(HEADER, "big", signed=True))
        return AGES * looks

    monkeypatch.setattr(forking, "time", SimpleNamespace(monotonic=late))
    with selectors.DefaultSelector() as selector:
        assert forking._Listener(run, control, reads, printed, 1.0, lambda _pid: None).listen(selector)
    assert (run.started, run.collected, run.finished, run.stopped) == (True, True, True, "")
    for end in (reads, printed, out):
        os.close(end)
    control.close()
    theirs.close()
