"""TestCrashSweep: every scenario of the suite, stopped at every step and gone on with from its journal (2.6).

It is no test of the specification's own list and runs where it is asked for: there are ten times as many scenarios as
in all the others. Each is one of theirs, swept (`looptck.durability`), with values of its own. The checks look at the
last three invocations: the one that ran through, the one that was stopped, and the one that resumed.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from looptck.contract.ag03 import Message
from looptck.durability import LOST_TOOL, RESUMED, STOPPED, WHOLE, sweep
from looptck.suite import SEEDS, tests_of
from looptck.suite.ag03.scripted import ended_by
from looptck.suite.evidence import Evidence, call_lines, tokens
from looptck.suite.labels import Labels
from looptck.suite.model import Finding, Test, equal, one_of
from looptck_fakes import StepEnded

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from looptck.scenario import Scenario

ON_UNKNOWN = "sweep/unknown-"
"""What the ids of those checks begin with that look at writes of unknown outcome."""


def scenarios(labels: Labels) -> tuple[Scenario, ...]:
    """Every scenario of every test, swept; named by test, scenario and where it is stopped."""
    seed = labels.number(0, SEEDS - 1)
    return tuple(
        swept.model_copy(update={"name": f"{test.name}/{swept.name}"})
        for test in tests_of("ag03")
        for scenario in test.build(Labels(seed, test.name))
        for swept in sweep(scenario)
    )


@cache
def sweep_test() -> Test:
    """The test, its checks with the names of the scenarios that each looks at."""
    names = tuple(scenario.name for scenario in scenarios(Labels(0, TEST.name)))
    lost = tuple(name for name in names if LOST_TOOL in name)
    rest = tuple(name for name in names if LOST_TOOL not in name)
    checks = [
        replace(check, on=names if check.id == "sweep/nothing-twice" else lost if unknown else rest)
        for check in TEST.checks
        for unknown in (check.id.startswith(ON_UNKNOWN),)
    ]
    return Test(TEST.name, TEST.section, scenarios, checks)


TEST = Test("TestCrashSweep", "2.6", scenarios)
"""The checks without scenarios: each can be evaluated on any swept one, and passes where it has nothing to say."""
_NO_MATTER = "another kind of step was lost than foreseen"
_NOTHING = equal(_NO_MATTER, _NO_MATTER)


class _Swept:
    """The three invocations of a swept scenario."""

    def __init__(self, e: Evidence) -> None:
        count = len(e.scenario.invocations)
        self.e = e
        self.whole, self.stopped, self.resumed = count + WHOLE, count + STOPPED, count + RESUMED
        self._how = {r.step: r.how for r in e.observation.records if isinstance(r, StepEnded)}

    def lost_tool(self) -> bool:
        """Whether there is a write of unknown outcome."""
        return any(how == "lost" for how in self._tools())

    def clear(self) -> bool:
        """Whether every tool step of the stopped run is recorded or never began, so that resuming has to succeed."""
        return all(how in {"done", "replayed", "stopped"} for how in self._tools())

    def _tools(self) -> list[str | None]:
        """How the tool steps of the stopped run ended; None where that was never seen."""
        return [self._how.get(step.step) for step in self.e.steps(self.stopped) if step.kind == "tool"]

    def replies_kept(self) -> int:
        """How many replies of the model the journal of the stopped run holds."""
        return self.e.replies_kept(self.resumed)

    def ran(self, *places: int) -> Counter[str]:
        """How often each call ran."""
        runs = [run for place in places for run in self.e.runs(place)]
        return Counter(call_lines([run.call for run in runs]))

    def asked(self, place: int) -> list[list[str] | None]:
        """The messages of each request to the model."""
        return [self.e.shown(request.messages) for request in self.e.requests(place)]

    def end(self, place: int) -> dict[str, object]:
        """How an invocation ended, and with what."""
        seen = self.e.invocation(place)
        error, shown = seen.error, self.e.shown
        ended = self.e.ending(place) if error is None or error.kind != "other" else f"an error ({error.scripted})"
        pending = [] if error is None else [f"{item.marker}: {item.call.id}" for item in error.pending]
        return {
            "ended": ended,
            "pending": pending,
            "answer": None if seen.message is None else shown([seen.message]),
            "transcript": shown(seen.transcript),
            "usage": tokens(seen.usage),
        }


@TEST.check("sweep/model-asked", "resume-asks-the-rest")
def model_asked(e: Evidence) -> Finding:
    """A resumed run asks the model for no reply that is recorded, and for the others as the whole run did."""
    runs = _Swept(e)
    if not runs.clear():
        return _NOTHING
    return equal(runs.asked(runs.whole)[runs.replies_kept() :], runs.asked(runs.resumed))


@TEST.check("sweep/tools-run", "resume-asks-the-rest")
def tools_run(e: Evidence) -> Finding:
    """A resumed run runs the calls that the stopped one had not come to, and no other."""
    runs = _Swept(e)
    if not runs.clear():
        return _NOTHING
    rest = runs.ran(runs.whole) - runs.ran(runs.stopped)
    return equal(_lines(rest), _lines(runs.ran(runs.resumed)))


@TEST.check("sweep/nothing-twice", "resume-runs-nothing-twice")
def nothing_twice(e: Evidence) -> Finding:
    """No call runs in the stopped and the resumed run together more often than in the whole one."""
    runs = _Swept(e)
    more = runs.ran(runs.stopped, runs.resumed) - runs.ran(runs.whole)
    return equal({"too often": []}, {"too often": _lines(more)})


@TEST.check("sweep/same-end", "resume-reproduces")
def same_end(e: Evidence) -> Finding:
    """A resumed run ends as the whole one: the same answer or error, the same transcript, the same usage."""
    runs = _Swept(e)
    return equal(runs.end(runs.whole), runs.end(runs.resumed)) if runs.clear() else _NOTHING


@TEST.check("sweep/same-steps", "resume-reproduces")
def same_steps(e: Evidence) -> Finding:
    """A resumed run asks its runner for the steps of the whole one, each under the same name and kind."""
    runs = _Swept(e)
    if not runs.clear():
        return _NOTHING
    whole, resumed = (sorted(f"{s.kind} {s.name}" for s in e.steps(place)) for place in (runs.whole, runs.resumed))
    return equal(whole, resumed)


@TEST.check("sweep/unknown-ends-run", "step-error-ends-run")
def unknown_ends_run(e: Evidence) -> Finding:
    """A write of unknown outcome ends the resumed run with the runner's refusal, or an error that has it as a cause."""
    runs = _Swept(e)
    if not runs.lost_tool():
        return _NOTHING
    return ended_by(e, "the runner's refusal", runs.resumed)


@TEST.check("sweep/unknown-not-shown", "step-error-not-shown")
def unknown_not_shown(e: Evidence) -> Finding:
    """The model is not asked by a run that is refused a write of unknown outcome: it never reads of it."""
    runs = _Swept(e)
    return equal([], runs.asked(runs.resumed)) if runs.lost_tool() else _NOTHING


@TEST.check("sweep/unknown-not-appended", "step-error-nothing-appended")
def unknown_not_appended(e: Evidence) -> Finding:
    """Nothing is appended for a write of unknown outcome, nor for its siblings; the proposing turn may stand or not."""
    runs = _Swept(e)
    if not runs.lost_tool():
        return _NOTHING
    before, reply = _until_lost(runs)
    kept = [*before, *reply]
    return one_of(e.shown(e.invocation(runs.resumed).transcript), e.shown(kept), e.shown(before))


def _until_lost(runs: _Swept) -> tuple[Sequence[Message], Sequence[Message]]:
    """The transcript before the turn whose call was lost, and the reply that proposed it; none for an open turn."""
    whole = runs.e.invocation(runs.whole)
    requests, kept = runs.e.requests(runs.whole), runs.replies_kept()
    transcript = whole.transcript or ()
    if kept == 0:
        added = bool(transcript) and transcript[0].role == "system" and not _led(whole.input)
        return transcript[: len(whole.input) + added], ()
    place = len(requests[kept - 1].messages) if len(requests) >= kept else 0
    return transcript[:place], transcript[place : place + 1]


def _led(messages: Sequence[Message]) -> bool:
    return bool(messages) and messages[0].role == "system"


def _lines(calls: Counter[str]) -> Iterable[str]:
    return sorted(calls.elements())
