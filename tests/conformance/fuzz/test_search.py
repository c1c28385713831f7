"""The search: the same seed gives the same scenarios, failures are told apart, and what is found is shrunk."""

from __future__ import annotations

import time
from contextlib import closing
from itertools import count
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from tests.conformance.commands import GRACE, bad
from tests.conformance.fuzz.loops import AG03, CAP, LEAKS, NO_OPTIONS, NO_SYSTEM, loader, planted
from tests.conformance.implementations_harness import ROOT

from looptck import isolate
from looptck.fuzz import search as searching
from looptck.fuzz.observing import Observer
from looptck.fuzz.search import PATIENCE, Found, Search, keeping_nothing, search
from looptck.oracle import readings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from looptck.scenario import Scenario


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolate, "GRACE", GRACE)


class Told:
    """What was observed, in order, of a loop that is told what to do by a function of the scenario."""

    def __init__(self, target: str = "reference", limit: float = 5) -> None:
        self.scenarios: list[Scenario] = []
        self._observer = Observer(AG03, loader(target), limit)

    def observe(self, scenario: Scenario) -> Any:
        self.scenarios.append(scenario)
        return self._observer.observe(scenario)

    def afresh(self, scenario: Scenario) -> Any:
        return self._observer.afresh(scenario)

    def hurry(self, *, on: bool) -> None:
        self._observer.hurry(on=on)

    def close(self) -> None:
        self._observer.close()


class UsesUp(Told):
    """The reference; where `over` says so of a scenario, and of whether it is in a hurry, that one uses up its limit.

    Nobody waits for it: what is slow on a busy machine is no scenario that `over` means.
    """

    def __init__(self, over: Callable[[Scenario, bool], bool]) -> None:
        super().__init__()
        self._over, self._hurried = over, False

    def observe(self, scenario: Scenario) -> Any:
        return self._seen(scenario, super().observe)

    def afresh(self, scenario: Scenario) -> Any:
        return self._seen(scenario, super().afresh)

    def hurry(self, *, on: bool) -> None:
        self._hurried = on

    def _seen(self, scenario: Scenario, observe: Callable[[Scenario], Any]) -> Any:
        if self._over(scenario, self._hurried):
            return AG03.observation(scenario.name, died=AG03.over_limit, blame="limit")
        return observe(scenario)


def one_slot(scenario: Scenario) -> bool:
    return scenario.options.max_parallel_tools == 1 and any(scenario.calls())


def found_by(told: Told, **plan: Any) -> Found:
    with keeping_nothing(), closing(told):
        return search(AG03, told, Search(**{"seed": 1, "examples": 100, **plan}))


def found_in(target: str, limit: float = 5, **plan: Any) -> Found:
    return found_by(Told(target, limit), **plan)


def test_what_is_too_open_to_be_judged_is_no_mistake_and_hurries_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readings, "MOST", 1)
    found = found_in(str(ROOT / "correct/other_readings.py"), shrink=False)
    assert {broken: judged.level for broken, judged in found.failures.items()} == {"open": "incomplete"}
    assert found.unjudged == 0


# which scenarios


def drawn(seed: int) -> list[Scenario]:
    with keeping_nothing(), closing(Told()) as told:
        search(AG03, told, Search(seed, 25))
    return told.scenarios


def test_the_same_seed_gives_the_same_scenarios_and_another_gives_others() -> None:
    assert drawn(3) == drawn(3) != drawn(4)


def test_a_correct_loop_is_asked_all_and_nothing_is_found() -> None:
    found = found_in("reference", examples=40, should=True)
    assert (found.examples, found.failures, found.first, found.unsteady) == (40, {}, None, 0)
    assert (found.timed_out, found.should, found.skipped) == (False, {}, 0)


def test_what_the_loop_lacks_is_left_out() -> None:
    with keeping_nothing(), closing(Told()) as told:
        found = search(AG03, told, Search(1, 60, lacks=frozenset({"gate", "budget"})))
    assert found.examples + found.skipped == 60
    assert found.skipped > 10
    assert not any(scenario.features() & {"gate", "budget"} for scenario in told.scenarios)


# what is found


def test_a_planted_bug_is_shrunk_to_what_shows_it(tmp_path: Path) -> None:
    found = found_in(planted(tmp_path, made=CAP), examples=60)
    smallest = found.failures["iteration-cap"].scenario
    assert smallest.options.model_dump(exclude_defaults=True) == {"max_iter": 1}
    assert (smallest.gate, smallest.tracer, len(smallest.invocations)) == (False, False, 1)
    assert [len(turn.calls) for turn in smallest.invocations[0].turns] in ([1], [1, 0])
    assert found.first is not None
    assert found.examples > found.first


def test_how_often_failures_shrink_is_not_left_to_hypothesis(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = planted(tmp_path, made=CAP)
    smallest = found_in(target, examples=60).failures["iteration-cap"]
    monkeypatch.setattr(searching, "SHRINKS", 5)
    assert found_in(target, examples=60).failures["iteration-cap"].size() > smallest.size()


def test_two_bugs_are_two_failures_and_neither_slips_into_the_other(tmp_path: Path) -> None:
    found = found_in(planted(tmp_path, made=f"{NO_SYSTEM}\n{NO_OPTIONS}"), examples=40)
    assert found.failures.keys() >= {"options-every-call", "system-prompt-first"}
    for broken, judged in found.failures.items():
        assert judged.broken == broken
        assert judged.difference is not None
        assert judged.difference.requirement == broken
    assert found.failures["system-prompt-first"].scenario.options.call_options is None
    assert found.failures["options-every-call"].scenario.options.system is None


def test_one_failure_ends_the_search_where_that_is_asked_for(tmp_path: Path) -> None:
    found = found_in(planted(tmp_path, made=NO_SYSTEM), one=True)
    assert (len(found.failures), found.timed_out) == (1, False)
    assert found.examples == found.first


def test_without_shrinking_the_first_is_kept(tmp_path: Path) -> None:
    found = found_in(planted(tmp_path, made=NO_SYSTEM), shrink=False)
    assert "system-prompt-first" in found.failures


def test_a_loop_that_ends_its_process_crashes() -> None:
    found = found_in(bad("os_exits_in_a_run"), examples=40, shrink=False)
    assert {(name, one.level, one.why) for name, one in found.failures.items()} == {
        ("crash", "must", "the loop ended the process with exit code 0")
    }


def test_a_loop_that_spins_is_not_judged_and_that_shrinks() -> None:
    found = found_by(UsesUp(lambda scenario, _hurried: one_slot(scenario)), examples=60)
    assert {(name, one.level) for name, one in found.failures.items()} == {("limit", "incomplete")}
    assert 1 < found.unjudged <= PATIENCE
    assert found.failures["limit"].size() < found.sure["limit"].size()


def test_what_only_a_hurry_takes_for_a_run_without_an_end_is_none() -> None:
    # The first, larger one is what remains where the smallest ends when it has all of its time.
    found = found_by(UsesUp(lambda scenario, hurried: hurried or one_slot(scenario)), examples=60)
    assert found.failures["limit"] is found.sure["limit"]


LATE = "import asyncio"
IMPOLITE = """if self.max_parallel_tools == 2:
    loop = asyncio.get_running_loop()
    loop.create_task(asyncio.sleep(30))"""
"""A task outlives the run, which only good sense forbids."""


def test_good_sense_is_counted_and_becomes_a_failure_where_that_is_asked_for(tmp_path: Path) -> None:
    target = planted(tmp_path, IMPOLITE, LATE)
    found = found_in(target, examples=40)
    assert (found.failures, found.first) == ({}, None)
    assert found.should["no-task-left"] > 1
    asked = found_in(target, examples=20, should=True)
    assert (asked.failures["no-task-left"].level, asked.should) == ("should", {})
    assert asked.failures["no-task-left"].scenario.options.model_dump(exclude_defaults=True) == {
        "max_parallel_tools": 2
    }


# what is not steady


def test_what_leaks_from_one_run_into_the_next_is_no_failure_where_it_does_not_show_alone(tmp_path: Path) -> None:
    body = LEAKS.replace("sys.runs > 1", "sys.runs % 10 == 0")
    found = found_in(planted(tmp_path, body), examples=60)
    assert found.failures == {}
    assert found.unsteady > 1


def test_a_loop_that_differs_only_now_and_then_is_kept_as_it_was_found(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    body = f"runs.write_text('x' + runs.read_text())\nif 7 <= len(runs.read_text()) < 12:\n    {NOT_ITS_OWN}"
    runs.write_text("")
    before = f"from pathlib import Path\nruns = Path({str(runs)!r})"
    found = found_in(planted(tmp_path, body, before), examples=30)
    assert list(found.failures) == ["requests-carry-messages"]


NOT_ITS_OWN = "messages = [*messages, Message('user', 'once more')]"


class Switching:
    """Differs behind others in a must, and afresh in good sense alone."""

    def __init__(self, usual: Told, polite: Told) -> None:
        self.observe: Callable[[Scenario], Any] = usual.observe
        self.afresh: Callable[[Scenario], Any] = polite.afresh
        self.hurry = usual.hurry


def test_what_is_good_sense_alone_is_counted_as_that(tmp_path: Path) -> None:
    folder = tmp_path / "polite"
    folder.mkdir()
    first = planted(tmp_path, made=NO_SYSTEM)
    then = planted(folder, IMPOLITE.replace("self.max_parallel_tools == 2", "self.system"), LATE)
    with keeping_nothing(), closing(Told(first)) as usual, closing(Told(then)) as polite:
        found = search(AG03, Switching(usual, polite), Search(1, 40))
    assert (found.failures, found.first) == ({}, None)
    assert found.should["no-task-left"] > 1


# when it ends


def test_a_search_whose_time_is_up_says_so() -> None:
    found = found_in("reference", until=time.monotonic() - 1)
    assert (found.examples, found.timed_out) == (0, True)


def test_what_was_found_by_then_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = count()
    monkeypatch.setattr("looptck.fuzz.search.time", SimpleNamespace(monotonic=lambda: next(ticks)))
    found = found_in(planted(tmp_path, made=NO_SYSTEM), examples=10**9, until=30)
    assert (found.examples, found.timed_out) == (30, True)
    assert "system-prompt-first" in found.failures


class Broken:
    """A fault of the kit's own."""

    def observe(self, _scenario: Scenario) -> Any:
        raise RuntimeError("no pipe")

    afresh = observe

    def hurry(self, *, on: bool) -> None:
        """Nothing ever hangs."""


def test_a_fault_of_the_kit_is_none_of_the_loop() -> None:
    with keeping_nothing(), pytest.raises(RuntimeError, match="no pipe"):
        search(AG03, Broken(), Search(1, 5))
