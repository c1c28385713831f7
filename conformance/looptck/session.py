"""One run of a suite against one target: choose, observe, judge, report."""

from __future__ import annotations

import os
import platform
import time
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Literal

from looptck import __version__
from looptck.isolate import Batch, observe_forked, observe_safely
from looptck.judge import judge_test
from looptck.observe import LIMIT
from looptck.profile import profile_of
from looptck.report.model import Kit, Report, TestReport, counts_of, verdict_of, worst
from looptck.requirements import requirements
from looptck.suite import tests_of
from looptck.suite.labels import Labels

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from looptck.profile import Profile
    from looptck.suite.model import Check, Test

Isolation = Literal["fork", "none"]


class NothingChosenError(Exception):
    """A selection that matches no test and no check; the text is one line."""


@dataclass(slots=True)
class ChosenTest:
    """A test with the checks that were chosen of it and the scenarios that those need."""

    profile: Profile
    test: Test
    checks: list[Check]
    scenarios: list[Any]
    observed: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    duration_s: float = 0.0

    def complete(self) -> bool:
        """Whether every scenario has been observed."""
        return len(self.observed) == len(self.scenarios)


def choose(profile: str, pattern: str, seed: int) -> list[ChosenTest]:
    """The tests and checks whose name or id contains `pattern`, or matches it as a glob; all for an empty one.

    A pattern that is the whole name of one chooses that alone: this is how a report says to repeat a failure. Raises
    `NothingChosenError` where there is none.
    """
    chosen = []
    whole = any(pattern in {test.name, *(check.id for check in test.checks)} for test in tests_of(profile))
    matches = str.__eq__ if whole else _matches
    for test in tests_of(profile):
        checks = [check for check in test.checks if matches(pattern, test.name) or matches(pattern, check.id)]
        if checks:
            wanted = {name for check in checks for name in check.on}
            scenarios = [s for s in test.build(Labels(seed, test.name)) if s.name in wanted]
            chosen.append(ChosenTest(profile_of(profile), test, checks, scenarios))
    if not chosen:
        msg = f"no test and no check of {profile} matches {pattern!r}; --list shows them"
        raise NothingChosenError(msg)
    return chosen


def _matches(pattern: str, name: str) -> bool:
    return pattern in name or fnmatchcase(name, pattern)


def observe_all(
    chosen: Sequence[ChosenTest],
    load: Callable[[], Any],
    *,
    isolation: Isolation,
    jobs: int = 0,
    limit: float = LIMIT,
) -> Iterator[ChosenTest]:
    """Observe the scenarios of the tests; yields each test when all of its scenarios are there."""
    begun = time.perf_counter()
    for test, scenario, observation in _observations(chosen, load, isolation=isolation, jobs=jobs, limit=limit):
        test.observed[scenario.name] = (scenario, observation)
        now = time.perf_counter()
        test.duration_s += now - begun
        begun = now
        if test.complete():
            yield test


def _observations(
    chosen: Sequence[ChosenTest], load: Callable[[], Any], *, isolation: Isolation, jobs: int, limit: float
) -> Iterator[tuple[ChosenTest, Any, Any]]:
    """Test, scenario and observation. Forked, each scenario has a child of its own: no run sees what another left."""
    places = [(test, scenario) for test in chosen for scenario in test.scenarios]
    if isolation == "fork":
        batches = [Batch(n, load, [scenario], test.profile) for n, (test, scenario) in enumerate(places)]
        for batch, _, observation in observe_forked(batches, jobs=jobs or os.cpu_count() or 1, limit=limit):
            yield *places[batch.key], observation
        return
    adapter = load()
    for test, scenario in places:
        yield test, scenario, observe_safely(adapter, scenario, limit=limit, profile=test.profile)


def judged(test: ChosenTest, lacks: Mapping[str, str]) -> TestReport:
    """The report of one completely observed test."""
    records = requirements(test.profile.name)
    return judge_test(test.profile, test.test, test.checks, test.observed, records, lacks, round(test.duration_s, 4))


def report(tests: Iterable[TestReport], *, target: str, profile: str, seed: int, isolation: Isolation) -> Report:
    """The report of a whole session."""
    in_order = sorted(tests, key=lambda test: [known.name for known in tests_of(profile)].index(test.name))
    checks = [check for test in in_order for check in test.checks]
    verdict = verdict_of(checks)
    if all(check.verdict == "skip" for check in checks):
        verdict = worst([])  # nothing was executed
    return Report(
        kit=Kit(version=__version__),
        target=target,
        profile=profile,
        seed=seed,
        isolation=isolation,
        python=platform.python_version(),
        verdict=verdict,
        counts=counts_of(checks),
        tests=in_order,
    )
