"""A child on its own: its alarm, the copies that a loop makes of it, what is not run behind a loop that spins."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.conformance.clocks import stand_still

import looptck_reference
from looptck import isolate
from looptck.adapter import ContractAdapter
from looptck.children import Batch
from looptck.contract.ag03 import Message
from looptck.isolate import observe_forked
from looptck.profile import profile_of
from looptck.report.model import CheckReport
from looptck.scenario import Invocation, Said, Scenario, Turn
from looptck.session import ChosenTest, Isolation, choose, judged, observe_all
from looptck.target import Loader, parse_target

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


@pytest.fixture
def alarms(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds of the alarms that were set in this process, or in a child."""
    monkeypatch.setattr(isolate, "GRACE", GRACE)
    seconds: list[float] = []
    set_alarm = signal.setitimer

    def noting(which: int, after: float) -> Any:
        seconds.append(after)
        return set_alarm(which, after)

    monkeypatch.setattr(signal, "setitimer", noting)
    return seconds


def armed(alarms: list[float]) -> str:
    """The alarms that were set, whether one is running, and whether it is deadly."""
    running = signal.getitimer(signal.ITIMER_REAL)[0] > 0
    return f"{alarms} {running} {signal.getsignal(signal.SIGALRM) == signal.SIG_DFL}"


def test_a_child_ends_by_itself_should_nobody_be_there_to_end_it(alarms: list[float]) -> None:
    class Tells(looptck_reference.Agent):
        def invoke(self, messages: Sequence[Message]) -> Any:
            print(armed(alarms))  # noqa: T201 - how the test learns of it
            return super().invoke(messages)

    alone = LIMIT + 2 * GRACE
    told = [seen.output for seen in observed(Tells, "first", "second")]
    assert told == [f"{[alone] * 2} True True\n", f"{[alone] * 3} True True\n"], "anew for each scenario"
    assert alarms == []


def test_an_import_without_a_parent_ends_by_itself_too(alarms: list[float]) -> None:
    def load() -> Any:
        print(armed(alarms))  # noqa: T201 - how the test learns of it
        return ContractAdapter(looptck_reference.Agent)

    scenario = Scenario(
        name="any", invocations=(Invocation(messages=(Said(content="?"),), turns=(Turn(text=("!",)),)),)
    )
    (seen,) = [seen for _, _, seen in observe_forked([Batch(0, load, [scenario])], jobs=1, limit=LIMIT)]
    assert seen.output == f"{[LIMIT + 2 * GRACE]} True True\n"


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
def test_behind_two_tests_in_which_three_spin_nothing_is_run(jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolate, "GRACE", SOON)
    chosen = choose("ag03", "", 1)
    tests = observe_all(chosen, lambda: ContractAdapter(Spins), isolation="fork", jobs=jobs, limit=SOON)
    checks: list[CheckReport] = [check for test in tests for check in judged(test, {}).checks]
    assert {check.verdict for check in checks} == {"incomplete"}
    one, other = ([scenario.name for scenario in test.scenarios] for test in chosen[:2])
    seen = [[died_of(test, scenario.name) for scenario in test.scenarios] for test in chosen]
    spun, row, both = profile_of("ag03").over_limit, ", ".join(one[:3]), ", ".join(one[:3] + other[:3])
    assert seen[0] == [spun] * 3 + [f"{NOT_RUN} ({row})"] * (len(one) - 3)
    assert seen[1] == [spun] * 3 + [f"{NOT_RUN} ({both})"] * (len(other) - 3)
    assert {died for test in seen[2:] for died in test} == {f"{NOT_RUN} ({both})"}


NOT_RUN = "not run: one scenario after the other outlasted the real-time limit, without a turn for the kit"


def died_of(test: ChosenTest, name: str) -> str:
    return str(test.observed[name][1].died)


@pytest.mark.parametrize("isolation", ["fork", "process"])
def test_a_loop_that_spins_in_one_test_has_verdicts_in_all_others(
    isolation: Isolation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slow: with processes of their own it takes five of them."""
    file = tmp_path / "loop.py"
    file.write_text(SPINS_WITH_A_BUDGET.format(str(stand_still(monkeypatch, tmp_path))), encoding="utf-8")
    chosen = [test for name in ("TestM*", "TestB*", "TestSp*") for test in choose("ag03", name, 1)]
    load = Loader(parse_target(str(file), {}), "ag03")
    told = {test.test.name: judged(test, {}) for test in observe_all(chosen, load, isolation=isolation, jobs=1)}
    assert [told[test.test.name].verdict for test in chosen] == ["pass", "incomplete", "pass"]
    names = [scenario.name for scenario in chosen[1].scenarios]
    assert {died_of(chosen[1], name) for name in names[3:]} == {f"{NOT_RUN} ({', '.join(names[:3])})"}


SPINS_WITH_A_BUDGET = """
import os
import looptck_reference

class Agent(looptck_reference.Agent):
    def invoke(self, messages):
        if self.options.get("budget") is None:
            return super().invoke(messages)
        print(os.getpid(), file=open({!r}, "w"), flush=True)
        print(".")
        while True:
            pass

    def __init__(self, **options):
        super().__init__(**options)
        self.options = options
"""
