"""Runs mutants against a suite: the baseline first, then every mutant against every check in warm forked children.

A mutant is killed when its own killer check fails on it, twice, and passes on the unmutated loop. The
parent never imports the loop: each child serves itself the patched text (`mutated_import`) and is refused where the
loop is already there, or the patched text was not what ran. Checks that a loop of somebody else's is known to fail, or
that its adapter says it lacks the feature for, are left out of both.
"""

from __future__ import annotations

import gc
import os
import time
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from looptck.describe import describe
from looptck.isolate import Batch, observe_forked
from looptck.judge import judge_test
from looptck.observe import LIMIT
from looptck.profile import profile_of
from looptck.report.excuses import stale
from looptck.requirements import requirements
from looptck.session import ChosenTest, choose
from looptck.target import BrokenTargetError
from looptck.warm import warm
from looptck_mutants.mutated_import import AlreadyImported, elsewhere, serving
from looptck_mutants.outcome import Baseline, MutantReport, MutantsReport, counts_of, fate_of
from looptck_mutants.patchfile import PatchError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence

    from looptck.adapter import Adapter
    from looptck.observation import Observation
    from looptck.report.model import TestReport, Verdict
    from looptck.scenario import Scenario
    from looptck_mutants.manifest import Mutant
    from looptck_mutants.project import Project

_EXPECTED = 20
"""A mutant's scenario may take this many times what the whole suite takes on the unmutated loop."""
_LIMIT_AT_LEAST = 5.0
_GARBAGE = 50_000
"""Objects that a child makes before it looks for garbage: more than a whole suite leaves behind."""


class RedBaselineError(Exception):
    """The suite does not pass on the unmutated loop, so that no kill would mean anything; the text is one line."""


class KitFaultError(Exception):
    """A check raised, or what observes failed: a bug of the kit, whatever the mutant; the text is one line."""

    @classmethod
    def of_check(cls, check: str, whose: str, message: str) -> KitFaultError:
        """Of a check whose verdict is a fault: the last line of what was said of it; all of it is a note."""
        fault = cls(f"{check} on {whose}: {message.strip().splitlines()[-1]}")
        fault.add_note(message)
        return fault


@dataclass(slots=True)
class _Case:
    """A mutant that applies: its patched sources, and what the checks said of it."""

    mutant: Mutant
    sources: Mapping[str, str]
    failed: set[str] = field(default_factory=set)
    confirmed: set[str] = field(default_factory=set)
    unjudged: dict[str, str] = field(default_factory=dict)
    broken: str = ""


class Harness:
    """The mutants of a project against the suite of its profile."""

    def __init__(self, project: Project, seed: int, jobs: int = 0) -> None:
        self.project, self.seed = project, seed
        self._target = project.target()
        self._profile = profile_of(project.profile)
        self._jobs = jobs or os.cpu_count() or 1
        self._tests = choose(project.profile, "", seed)
        self._requirements = requirements(project.profile)
        self.sources = project.sources()
        self._limit = LIMIT
        self._lacks: Mapping[str, str] = {}
        self._open = ExitStack()
        self._green: dict[int, list[Observation]] = {}
        warm(self._profile, [scenario for test in self._tests for scenario in test.scenarios])

    def baseline(self) -> Baseline:
        """The suite on the unmutated loop. Raises `RedBaselineError` unless every check passes, and `KitFaultError`.

        Those that the loop is known to fail have to fail, and those that its adapter declares a lack for are skipped.
        """
        begun = time.perf_counter()
        if self.project.root is not None:
            self._describe()
        batches = [Batch(n, self._loader({}), test.scenarios, self._profile) for n, test in enumerate(self._tests)]
        seen: dict[int, list[Observation]] = {}
        gc.collect()
        gc.freeze()  # what is there by now is never collected: the children need not copy it to look at it
        with closing(observe_forked(batches, jobs=self._jobs)) as arriving:
            for batch, _, observation in arriving:
                seen.setdefault(batch.key, []).append(observation)
        wall = time.perf_counter() - begun
        reports = [self._judge(test, seen[n], "the unmutated loop") for n, test in enumerate(self._tests)]
        passed = self._passed(reports)
        self._green = seen
        self._limit = max(_LIMIT_AT_LEAST, min(LIMIT, wall * _EXPECTED))
        verdict: Verdict = "pass"
        return Baseline(verdict=verdict, checks=passed, wall_s=round(wall, 3))

    def _describe(self) -> None:
        """Learn what the loop's adapter lacks. Raises `RedBaselineError` where there is no loop."""
        described = describe(self._loader({}))
        if described.refused:
            msg = f"there is no unmutated loop: {described.refused}"
            raise RedBaselineError(msg)
        self._lacks = described.lacks

    def _passed(self, reports: Sequence[TestReport]) -> int:
        """How many checks passed. Raises `RedBaselineError` where one did not that had to, or is no longer known to."""
        known, checks = self.project.known, [check for report in reports for check in report.checks]
        red = [check for check in checks if check.verdict not in {"pass", "skip"} and check.id not in known]
        if red:
            more = f" (and {len(red) - 1} more)" if len(red) > 1 else ""
            msg = f"the suite does not pass on the unmutated loop: {red[0].id}{more} {red[0].message}"
            raise RedBaselineError(msg)
        if wrong := stale(reports, known):
            raise RedBaselineError(wrong[0])
        skipped = {check.id: check.message for check in checks if check.verdict == "skip"}
        for mutant in self.project.mutants:
            if mutant.killer is not None and mutant.killer.check in skipped:
                killer = mutant.killer.check
                msg = f"mutant {mutant.id} is meant for {killer}, which is skipped: the loop {skipped[killer]}"
                raise RedBaselineError(msg)
        return sum(check.verdict == "pass" for check in checks)

    def run(self, mutants: Sequence[Mutant], baseline: Baseline, done: Callable[[MutantReport], None]) -> MutantsReport:
        """Run the mutants; `done` is given each as soon as its fate is known. The baseline has to be green.

        Raises `KitFaultError`.
        """
        begun = time.perf_counter()
        reports: dict[str, MutantReport] = {}
        with closing(self._reports(mutants)) as arriving:  # where `done` raises, the children end at once
            for report in arriving:
                reports[report.id] = report
                done(report)
        in_order = [reports[mutant.id] for mutant in mutants]
        return MutantsReport(
            profile=self.project.profile,
            loop=self.project.foreign_loop,
            seed=self.seed,
            baseline=baseline,
            counts=counts_of(in_order),
            wall_s=round(baseline.wall_s + time.perf_counter() - begun, 3),
            mutants=in_order,
        )

    def _reports(self, mutants: Sequence[Mutant]) -> Generator[MutantReport]:
        cases: list[_Case] = []
        for mutant in mutants:
            try:
                patched = self.project.patched(mutant, self.sources)
            except PatchError as error:
                yield MutantReport.of(mutant, "stale", [], str(error))
            else:
                cases.append(_Case(mutant, patched))
        with closing(self._run_all(cases)) as through:
            for case in through:
                if case.broken:
                    yield MutantReport.of(case.mutant, "broken", [], case.broken)
                    continue
                killer = case.mutant.killer.check if case.mutant.killer is not None else ""
                fate, message = fate_of(
                    killer, case.failed, case.confirmed, case.unjudged, equivalent=case.mutant.equivalent is not None
                )
                yield MutantReport.of(case.mutant, fate, sorted(case.failed), message)

    def _run_all(self, cases: Sequence[_Case]) -> Generator[_Case]:
        """Every case against every check; yields each as soon as it is through."""
        batches = [
            Batch(n, self._loader(case.sources), self._scenarios(case), self._profile) for n, case in enumerate(cases)
        ]
        seen: dict[int, list[Observation]] = {}
        with closing(observe_forked(batches, jobs=self._jobs, limit=self._limit)) as arriving:
            for batch, _, observation in arriving:
                observations = seen.setdefault(batch.key, [])
                observations.append(observation)
                if len(observations) == len(batch.scenarios):
                    self._conclude(cases[batch.key], seen.pop(batch.key))
                    yield cases[batch.key]

    def _scenarios(self, case: _Case) -> list[Scenario]:
        """Those of every test, and behind them those of the killer once more."""
        scenarios = [scenario for test in self._tests for scenario in test.scenarios]
        return scenarios + self._killer(case).scenarios

    def _conclude(self, case: _Case, observations: Sequence[Observation]) -> None:
        target = next((o.died for o in observations if o.died is not None and o.blame == "target"), None)
        if target is not None:
            case.broken = target
            return
        place = 0
        for number, test in enumerate(self._tests):
            seen = observations[place : place + len(test.scenarios)]
            place += len(test.scenarios)
            if seen == self._green.get(number):
                continue  # the checks are pure: what passed on these observations passes again
            report = self._judge(test, seen, case.mutant.id)
            checks = [check for check in report.checks if check.id not in self.project.known]
            case.failed |= {check.id for check in checks if check.told_apart()}
            case.unjudged |= {
                check.id: check.message for check in checks if check.verdict != "pass" and not check.told_apart()
            }
        again = self._judge(self._killer(case), observations[place:], case.mutant.id)
        case.confirmed = {check.id for check in again.checks if check.told_apart()}

    def _killer(self, case: _Case) -> ChosenTest:
        """The killer's test with this check alone and the scenarios that it needs; nothing for one without a killer."""
        wanted = case.mutant.killer.check if case.mutant.killer is not None else ""
        found = [test for test in self._tests if any(check.id == wanted for check in test.checks)]
        test = found[0] if found else self._tests[0]
        checks = [check for check in test.checks if check.id == wanted]
        scenarios = [scenario for scenario in test.scenarios if any(scenario.name in check.on for check in checks)]
        return replace(test, checks=checks, scenarios=scenarios, observed={})

    def _judge(self, test: ChosenTest, observations: Sequence[Observation], whose: str) -> TestReport:
        """The verdicts on one test. Raises `KitFaultError`, so that no fault counts as a kill or goes unseen."""
        observed: dict[str, tuple[Scenario, Observation]] = {
            scenario.name: (scenario, observation)
            for scenario, observation in zip(test.scenarios, observations, strict=True)
        }
        report = judge_test(self._profile, test.test, test.checks, observed, self._requirements, self._lacks, 0.0)
        for check in report.checks:
            if check.verdict == "fault":
                raise KitFaultError.of_check(check.id, whose, check.message)
        return report

    def _loader(self, sources: Mapping[str, str]) -> Callable[[], Adapter]:
        """Loads the loop with these sources in place of those on disk; for a forked child."""
        package, root = self.project.package, self.project.root

        def load_mutated() -> Adapter:
            gc.set_threshold(_GARBAGE)
            try:
                log = self._open.enter_context(serving(sources, package, root))  # for as long as the child lives
            except AlreadyImported as error:
                raise BrokenTargetError(str(error)) from error
            adapter: Adapter = self._target.load(self._profile.adapt)
            if log.missing():
                raise BrokenTargetError(f"patched and never run: {', '.join(log.missing())}")
            if root is not None and (strangers := elsewhere(package, root)):
                raise BrokenTargetError(f"imported from outside the project's root: {', '.join(strangers)}")
            return adapter

        return load_mutated
