"""The parent's side of children when it is the parent that is late: what was sent in time counts."""

from __future__ import annotations

import os
import signal

import pytest

from looptck import children
from looptck.children import FINISHED, Batch, Child, observe_in_children, send
from looptck.isolate import fork_child
from looptck.profile import profile_of
from looptck.scenario import Invocation, Said, Scenario

AG03 = profile_of("ag03")
SCENARIO = Scenario(name="one", invocations=(Invocation(messages=(Said(content="Hello."),), turns=()),))
SEAL = children.new_seal()
ENDLESS = 1e6


def test_what_was_sent_before_the_time_was_up_counts_however_late_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    read, write = os.pipe()
    words = iter((None, AG03.encode(AG03.observation("one")), FINISHED))

    def late() -> float:
        """The time is always up; from the second look on, the child has sent a word since whatever was looked at."""
        if (word := next(words, None)) is not None:
            send(write, SEAL, word)
        return ENDLESS

    def start(batch: Batch, place: int) -> Child:
        pid, messages, output = fork_child(lambda _write: signal.pause())
        os.close(messages)
        return Child(batch, place, pid, read, output, SEAL, deadline=0.0)

    monkeypatch.setattr(children, "now", late)
    seen = [seen for _, _, seen in observe_in_children([Batch(0, list, [SCENARIO])], start, jobs=1, seconds=0.0)]
    os.close(write)
    assert [(one.scenario, one.died) for one in seen] == [("one", None)]
