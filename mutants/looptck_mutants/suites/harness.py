"""Runs mutants against somebody's suite: the unmutated loop first, several times, then every mutant.

A kill is an assertion of a test that passes whenever the unmutated loop is run. The tests that fail on a mutant are run
four times more, twice on it and twice on the unmutated loop, in an order that is drawn for each mutant, so that no test
can know which it is but by what the loop does. One that fails on the unmutated loop as well has killed nothing, and
nothing else either.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import time
from concurrent.futures import as_completed
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from looptck.subject import SUBJECT, SUBJECT_PROFILE
from looptck_mutants.harness import KitFaultError
from looptck_mutants.outcome import Baseline, MutantsReport, SuiteReport, SuiteTest, counts_of
from looptck_mutants.patchfile import PatchError
from looptck_mutants.suites.codes import Codes
from looptck_mutants.suites.counting import LATER, reasons, stands_against
from looptck_mutants.suites.inside import REVERSED
from looptck_mutants.suites.runs import Run, run_to_the_end
from looptck_mutants.suites.suite import NoSuiteError
from looptck_mutants.suites.told import Case, report_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from looptck_mutants.manifest import Mutant
    from looptck_mutants.outcome import MutantReport
    from looptck_mutants.project import Project
    from looptck_mutants.suites.codes import Modules
    from looptck_mutants.suites.forking import Zygote, Zygotes
    from looptck_mutants.suites.inside import Request
    from looptck_mutants.suites.suite import Suite

FIRST_LIMIT = 30.0
"""Seconds that a test may take in the first run, which says how long it may take in the others."""
_EXPECTED, _LIMIT_AT_LEAST = 20, 5.0
_DEATHS_AT_FIRST, _DEATHS = 10, 3
"""How many tests may end a run of the unmutated loop, and of a mutant, before what is left is not run."""
_AGAIN = 2
"""How often the tests that failed on a mutant are run on it again, and as often on the unmutated loop."""


@dataclass(slots=True)
class SuiteHarness:
    """The mutants of a project against a suite."""

    project: Project
    suite: Suite
    seed: int
    zygotes: Zygotes
    first_limit: float = FIRST_LIMIT
    sources: dict[str, str] = field(init=False)
    reasons: dict[str, str] = field(init=False, default_factory=dict)
    _codes: Codes = field(init=False)
    _limit: float = field(init=False)

    def __post_init__(self) -> None:
        self._limit = self.first_limit
        self.sources = self.project.sources()
        self._codes = Codes(self.project.package, self.project.root, self.sources, self.seed)

    def baseline(self) -> Baseline:
        """The suite on the unmutated loop: which of its tests count.

        Raises `NoSuiteError` where there is no test, `KitFaultError` where the loop cannot be served.
        """
        begun = time.perf_counter()
        first = self._run(self._codes.plain, _DEATHS_AT_FIRST)
        if not first.tests and not first.errors:
            why = f": {first.stopped}" if first.stopped else ""
            raise NoSuiteError(f"there are no tests in {self.suite.name}{why}")
        self._limit = max(_LIMIT_AT_LEAST, _EXPECTED * first.longest)
        left = [test for test, end in first.ended.items() if end.outcome not in {"timeout", "died"}]
        orders = [REVERSED, self.seed]
        later = [self.zygotes.threads.submit(self._run, self._codes.plain, _DEATHS, left, order) for order in orders]
        disguised = self.zygotes.threads.submit(self._run, self._codes.disguised({}, ""), _DEATHS, left)
        self.reasons = reasons([first, *(run.result() for run in later)], disguised.result())
        return self._baseline(time.perf_counter() - begun)

    def _baseline(self, wall: float) -> Baseline:
        against = any(stands_against(reason) for reason in self.reasons.values()) or not self._counting()
        return Baseline(
            verdict="incomplete" if against else "pass", checks=len(self._counting()), wall_s=round(wall, 3)
        )

    def _counting(self) -> list[str]:
        return [test for test, reason in self.reasons.items() if not reason]

    def run(self, mutants: Sequence[Mutant], baseline: Baseline, done: Callable[[MutantReport], None]) -> MutantsReport:
        """Run the mutants; `done` is given each as soon as its fate is known, as far as it can be by then.

        A test that is found to fail by chance later takes back what it killed: the report has the last word. Raises
        `KitFaultError`.
        """
        begun = time.perf_counter()
        cases: dict[str, Case] = {}
        # As they are now: what a later mutant is run with must not depend on which one was done first.
        tests, known = self._counting(), frozenset(self.reasons)
        pending = [self.zygotes.threads.submit(self._case, Case(mutant, known=known), tests) for mutant in mutants]
        for future in as_completed(pending):
            case = future.result()
            cases[case.mutant.id] = case
            for test in case.suspects:
                self.reasons[test] = LATER
            done(report_of(case, set(self._counting())))
        counting = set(self._counting())
        reports = [report_of(cases[mutant.id], counting) for mutant in mutants]
        return MutantsReport(
            profile=self.project.profile,
            loop=self.project.foreign_loop,
            seed=self.seed,
            baseline=self._baseline(baseline.wall_s),
            counts=counts_of(reports),
            wall_s=round(baseline.wall_s + time.perf_counter() - begun, 3),
            mutants=reports,
            suite=self._told(reports),
        )

    def _told(self, reports: Sequence[MutantReport]) -> SuiteReport:
        killed = [test for report in reports for test in report.killed_by]
        return SuiteReport(
            path=self.suite.name,
            tests=[
                SuiteTest(id=test, counts=not reason, reason=reason, kills=killed.count(test))
                for test, reason in self.reasons.items()
            ],
        )

    def _case(self, case: Case, tests: list[str]) -> Case:
        """Everything about one mutant: these tests on it, those that failed again, and on the unmutated loop."""
        mutant = case.mutant
        try:
            patched = dict(self.project.patched(mutant, self.sources))
        except PatchError as error:
            case.stale = str(error)
            return case
        case.patched = tuple(patched)
        try:
            modules = self._codes.disguised(patched, f"{mutant.id}/0")
        except SyntaxError as error:
            case.broken = f"SyntaxError: {error.msg} (line {error.lineno})"
            return case
        case.run = self._run(modules, _DEATHS, tests) if tests else Run()
        case.failed = case.run.failed()
        if case.failed:
            self._compare(case, patched)
        return case

    def _compare(self, case: Case, patched: Mapping[str, str]) -> None:
        """Run what failed on the mutant and on the unmutated loop, as often on each, in an order that is drawn."""
        runs: dict[bool, list[Run]] = {True: [], False: []}
        order, name = [mutated for mutated in runs for _ in range(_AGAIN)], case.mutant.id
        Random(f"{self.seed}/{name}").shuffle(order)
        for number, mutated in enumerate(order, 1):
            give = self._codes.disguised if mutated else self._codes.original
            runs[mutated].append(self._run(give(patched, f"{name}/{number}"), _DEATHS, case.failed))
        case.compare(runs[True], runs[False])

    def _run(self, modules: Modules, deaths: int, select: list[str] | None = None, order: int | None = None) -> Run:
        """The suite on these modules, in as many runs as it takes. Each has a folder and a process of its own."""
        request = self._request(modules, select, order)
        with self.zygotes.one() as zygote:
            return run_to_the_end(lambda request: self._once(zygote, request), request, deaths)

    def _once(self, zygote: Zygote, request: Request) -> Run:
        with self._laid() as (place, told):
            run = zygote.run(
                {**request, "place": str(place), "suite": str(place / "suite"), "arguments": told}, self._limit
            )
        if run.refused:
            raise KitFaultError(run.refused)
        return run

    @contextlib.contextmanager
    def _laid(self) -> Iterator[tuple[Path, list[str]]]:
        """A folder with a copy of the suite, and what pytest is told of it."""
        with contextlib.ExitStack() as stack:
            try:
                place = Path(tempfile.mkdtemp(prefix="suite-"))
                stack.callback(shutil.rmtree, place, ignore_errors=True)
                told = self.suite.lay(place)
            except OSError as error:
                msg = f"the suite could not be copied for a run: {error}"
                raise KitFaultError(msg) from error
            yield place, told

    def _request(self, modules: Modules, select: list[str] | None, order: int | None) -> Request:
        return {
            "place": "",
            "suite": "",
            "arguments": [],
            "environment": {SUBJECT: self.project.loop, SUBJECT_PROFILE: self.project.profile},
            "path": [] if self.project.root is None else [str(self.project.root)],
            "package": self.project.package,
            "modules": modules,
            "select": select,
            "order": order,
        }
