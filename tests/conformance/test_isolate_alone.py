"""A child on its own: its alarm, the copies that a loop makes of it, what is not run behind a loop that spins."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from typing import Any

import pytest

import looptck_reference
from looptck import isolate
from looptck.adapter import ContractAdapter
from looptck.children import Batch
from looptck.contract.ag03 import Message
from looptck.isolate import observe_forked
from looptck.report.model import CheckReport
from looptck.scenario import Invocation, Said, Scenario, Turn
from looptck.session import choose, judged, observe_all

LIMIT, GRACE = 20.0, 3.0
SOON = 0.1


def observed(loop: type[Any], *names: str) -> list[Any]:
    scenarios = [
        Scenario(name=name, invocations=(Invocation(messages=(Said(content=name),), turns=(Turn(text=("Yes.",)),)),))
        for name in names
    ]
    return [
        seen for _, _, seen in observe_forked([Batch(0, lambda: ContractAdapter(loop), scenarios)], jobs=1, limit=LIMIT)
    ]


def test_a_child_ends_by_itself_should_nobody_be_there_to_end_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolate, "GRACE", GRACE)

    class Tells(looptck_reference.Agent):
        def invoke(self, messages: Sequence[Message]) -> Any:
            print(signal.getitimer(signal.ITIMER_REAL)[0], signal.getsignal(signal.SIGALRM) == signal.SIG_DFL)  # noqa: T201
            return super().invoke(messages)

    for seen in observed(Tells, "first", "second"):
        seconds, deadly = seen.output.split()
        assert LIMIT + GRACE < float(seconds) <= LIMIT + 2 * GRACE
        assert deadly == "True"


def test_an_import_without_a_parent_ends_by_itself_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolate, "GRACE", GRACE)
    left: list[float] = []

    def load() -> Any:
        print(signal.getitimer(signal.ITIMER_REAL)[0])  # noqa: T201 - how the test learns of it
        return ContractAdapter(looptck_reference.Agent)

    scenario = Scenario(
        name="any", invocations=(Invocation(messages=(Said(content="?"),), turns=(Turn(text=("!",)),)),)
    )
    for _, _, seen in observe_forked([Batch(0, load, [scenario])], jobs=1, limit=LIMIT):
        left.append(float(seen.output))
    assert LIMIT + GRACE < left[0] <= LIMIT + 2 * GRACE


def test_a_copy_that_the_loop_forks_off_does_not_answer() -> None:
    class Copies(looptck_reference.Agent):
        def invoke(self, messages: Sequence[Message]) -> Any:
            if messages[0].content == "copied":
                os.fork()
            return super().invoke(messages)

    seen = observed(Copies, "before", "copied", "after")
    assert [one.scenario for one in seen] == ["before", "copied", "after"]
    assert [one.died for one in seen] == [None] * 3


def test_a_copy_that_the_import_forks_off_does_not_answer() -> None:
    def load() -> Any:
        os.fork()
        return ContractAdapter(looptck_reference.Agent)

    scenario = Scenario(
        name="any", invocations=(Invocation(messages=(Said(content="?"),), turns=(Turn(text=("!",)),)),)
    )
    seen = [seen for _, _, seen in observe_forked([Batch(0, load, [scenario, scenario])], jobs=1, limit=LIMIT)]
    assert [one.died for one in seen] == [None, None]


# a loop that always spins


class Spins(looptck_reference.Agent):
    """It never gives the kit a turn."""

    def invoke(self, messages: Sequence[Message]) -> Any:  # noqa: ARG002 - the contract's
        while True:
            pass


@pytest.mark.parametrize("jobs", [1, 4])
def test_behind_three_that_spin_nothing_is_run(jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolate, "GRACE", SOON)
    chosen = choose("ag03", "", 1)
    tests = observe_all(chosen, lambda: ContractAdapter(Spins), isolation="fork", jobs=jobs, limit=SOON)
    checks: list[CheckReport] = [check for test in tests for check in judged(test, {}).checks]
    assert {check.verdict for check in checks} == {"incomplete"}
    names = [scenario.name for test in chosen for scenario in test.scenarios]
    seen = {name: one.died for test in chosen for name, (_, one) in test.observed.items()}
    ran = [name for name in names if not seen[name].startswith("not run")]
    assert ran == names[:3]
    told = "not run: one scenario after the other outlasted the real-time limit, without a turn for the kit"
    assert {seen[name] for name in names[3:]} == {f"{told} ({', '.join(names[:3])})"}
