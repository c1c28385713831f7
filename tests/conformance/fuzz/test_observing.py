"""One child observes scenario after scenario; what ends it is an observation, and the next is observed all the same."""

from __future__ import annotations

import os
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from tests.conformance.commands import GRACE, LIMIT, bad
from tests.conformance.fuzz.loops import AG03, LEAKS, ODD, PLAIN, loader, planted
from tests.conformance.implementations_harness import forget_import

from looptck import isolate
from looptck.fuzz import observing
from looptck.fuzz.observing import Here, Observer

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def statuses(observer: Any, *scenarios: Any) -> list[str]:
    """By scenario how its run ended, or what ended the process."""
    seen = [observer.observe(scenario) for scenario in scenarios]
    assert [one.scenario for one in seen] == [scenario.name for scenario in scenarios]
    return [one.died or one.invocations[0].status for one in seen]


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolate, "GRACE", GRACE)


def observer_of(target: str, limit: float = 5) -> closing[Observer]:
    return closing(Observer(AG03, loader(target), limit))


TARGETS = {
    "exits_in_a_run": "the loop raised SystemExit: I give up",
    "os_exits_in_a_run": "the loop ended the process with exit code 0",
    "raises_base_exception": "the loop raised GameOver: no more coins",
    "reads_stdin": "failed",
    "floods_stdout": "answered",
    "leaves_threads": "answered",
    "forks_and_stays": "answered",
}
BODIES = {
    "killed": ("os.kill(os.getpid(), 9)", "the process was ended by signal SIGKILL"),
    "its own alarm": ("os.kill(os.getpid(), 14)", AG03.over_limit),
    "no descriptors": ("os.closerange(3, 256)", "the loop closed a descriptor of the kit's"),
    "no output": ("if not hasattr(os, 'closed'):\n    os.closed = os.closerange(1, 3)", "answered"),
    "interrupted": ("raise KeyboardInterrupt", "the loop raised KeyboardInterrupt"),
}
THEN = "if self.max_parallel_tools == 1:\n"


@pytest.mark.parametrize(("name", "told"), TARGETS.items())
def test_what_a_loop_does_to_its_child_costs_that_scenario(name: str, told: str) -> None:
    with observer_of(bad(name)) as observer:
        assert statuses(observer, PLAIN, ODD, PLAIN, ODD, PLAIN) == ["answered", told, "answered", told, "answered"]


@pytest.mark.parametrize(("body", "told"), BODIES.values(), ids=BODIES)
def test_nor_do_worse_things_cost_more(body: str, told: str, tmp_path: Path) -> None:
    target = planted(tmp_path, THEN + "\n".join(f"    {line}" for line in body.splitlines()), "import os")
    with observer_of(target) as observer:
        assert statuses(observer, ODD, PLAIN, ODD, ODD, PLAIN) == [told, "answered", told, told, "answered"]


@pytest.mark.parametrize("name", ["spins", "spins_politely"])
def test_a_loop_that_spins_has_its_limit(name: str) -> None:
    told = AG03.over_limit if name == "spins" else "timeout"
    with observer_of(bad(name), LIMIT / 2) as observer:
        assert statuses(observer, PLAIN, ODD, PLAIN) == ["answered", told, "answered"]


def test_what_is_printed_is_kept_with_its_own_scenario() -> None:
    with observer_of(bad("floods_stdout")) as observer:
        said = [observer.observe(scenario).output for scenario in (PLAIN, ODD, PLAIN)]
    assert (said[0], said[2]) == ("", "")
    assert said[1].endswith("x\n")


def test_a_target_that_cannot_be_loaded_is_said_to_each_who_asks() -> None:
    with observer_of(bad("raises_at_import")) as observer:
        seen = [observer.observe(PLAIN) for _ in range(2)]
    assert [one.blame for one in seen] == ["target", "target"]


# one process, or a new one


def runs_told(seen: Any) -> int:
    """The messages of the first request."""
    return len(seen.records[0].messages)


def test_a_child_goes_on_and_what_leaks_is_seen_unless_it_is_afresh(tmp_path: Path) -> None:
    with observer_of(planted(tmp_path, LEAKS)) as observer:
        seen = [observer.observe(PLAIN), observer.observe(PLAIN), observer.afresh(PLAIN), observer.observe(PLAIN)]
    assert [runs_told(one) for one in seen] == [1, 2, 1, 2]


def test_a_child_is_replaced_after_so_many_scenarios(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observing, "_KEPT", 2)
    with observer_of(planted(tmp_path, LEAKS)) as observer:
        assert [runs_told(observer.observe(PLAIN)) for _ in range(5)] == [1, 2, 1, 2, 1]


def test_a_child_is_gone_when_nobody_asks_any_more() -> None:
    before = descriptors()
    with observer_of("reference") as observer:
        assert statuses(observer, PLAIN) == ["answered"]
        assert len(descriptors()) > len(before)
        assert observer._child is not None
        pid = observer._child.pid
    assert descriptors() == before
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def descriptors() -> set[str]:
    return set(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else set()  # noqa: PTH112, PTH208


def test_in_this_process_there_is_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forget_import(monkeypatch)
    with closing(Here(AG03, loader(planted(tmp_path)), 5)) as here:
        ask: list[Callable[[Any], Any]] = [here.observe, here.afresh]
        assert [one(PLAIN).invocations[0].status for one in ask] == ["answered", "answered"]
