"""What a run of a suite showed, put together of what its child sent, and how a run goes on that a test has ended.

A run that ends in the middle of a test, by its own doing or because it is over the limit, costs that test: another
run goes on with the tests that are left.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable

    from looptck_mutants.suites.inside import Request

Outcome = Literal["passed", "skipped", "assertion", "error", "timeout", "died"]
_OUTCOMES = ("passed", "skipped", "assertion", "error")
OVER = "is over the limit"


@dataclass(frozen=True, slots=True)
class Ended:
    """How a test ended, and what was said of it."""

    outcome: Outcome
    text: str = ""


@dataclass(slots=True)
class Run:
    """What one run of a suite showed.

    `tests` are those that were collected, in the order in which they were to run, and `ended` how they ended. `errors`
    are the files that could not be collected. `modules` are those of the package that were executed, with the error
    that ended that. `started` says whether it came as far as to pytest, `stopped` what ended it before its time.
    `longest` is the most seconds between two messages.
    """

    tests: list[str] = field(default_factory=list)
    ended: dict[str, Ended] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    modules: dict[str, str] = field(default_factory=dict)
    stopped: str = ""
    refused: str = ""
    longest: float = 0.0
    started: bool = False
    collected: bool = False
    begun: str = ""
    finished: bool = False

    def hear(self, line: bytes) -> None:
        """Take a line that the child sent. Raises `ValueError`, `KeyError` or `TypeError` where it is none of ours."""
        match json.loads(line):
            case {"kind": "collected", "tests": list(tests), "errors": list(errors)}:
                self.tests, self.collected = [str(test) for test in tests], True
                self.errors = {str(name): str(text) for name, text in errors}
            case {"kind": "begin", "test": str(test)}:
                self.begun = test
            case {"kind": "end", "test": str(test), "outcome": outcome, "text": str(text)} if outcome in _OUTCOMES:
                self.ended[test], self.begun = Ended(outcome, text), ""
            case {"kind": "module", "name": str(name), "text": str(text)}:
                self._executed(name, text)
            case {"kind": "started"}:
                self.started = True
            case {"kind": "refused", "text": str(text)}:
                self.refused = text
            case {"kind": "finished"}:
                self.finished = True
            case other:
                raise ValueError(other)

    def _executed(self, module: str, text: str) -> None:
        """Of a module that is imported more than once, the first error holds."""
        self.modules[module] = self.modules.get(module) or text

    def add(self, run: Run) -> None:
        """Take what another run showed, which went on where this one was ended: all but how that one ended itself."""
        self.ended |= run.ended
        self.errors = {**run.errors, **self.errors}
        for module, text in run.modules.items():
            self._executed(module, text)
        self.longest = max(self.longest, run.longest)

    def failed(self) -> list[str]:
        """The tests that ended with an assertion."""
        return [test for test, end in self.ended.items() if end.outcome == "assertion"]

    def ended_as(self, test: str, *outcomes: Outcome) -> bool:
        """Whether a test came to an end, and to one of these."""
        end = self.ended.get(test)
        return end is not None and end.outcome in outcomes


def run_to_the_end(start: Callable[[Request], Run], request: Request, deaths: int) -> Run:
    """Run a suite, and once more for what is left where a test ends the run, at most so many times.

    The tests that are left even then have not ended.
    """
    whole = run = start(request)
    while run.begun and deaths > 0:
        whole.ended[run.begun] = _cut_off(run)
        whole.begun, left = "", [test for test in whole.tests if test not in whole.ended]
        deaths -= 1
        if not left:
            break
        run = start({**request, "select": left, "order": None})
        whole.add(run)
    if run.begun and run.begun not in whole.ended:
        whole.ended[run.begun] = _cut_off(run)
    return whole


def _cut_off(run: Run) -> Ended:
    """How the test ended that a run has ended in."""
    return Ended("timeout" if run.stopped.startswith(OVER) else "died", run.stopped)
