"""One run of a suite against one target: choose, observe, judge, report."""

from __future__ import annotations

import os
import platform
import time
from contextlib import closing
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from looptck import __version__, isolate
from looptck.children import Batch, late_import
from looptck.endless import Patience
from looptck.isolate import observe_forked, observe_safely
from looptck.judge import judge_test
from looptck.observe import LIMIT
from looptck.profile import profile_of
from looptck.report.model import Asked, Isolation, Kit, Report, TestReport, counts_of, verdict_of, worst
from looptck.requirements import requirement_set
from looptck.requirements import requirements as records_of
from looptck.spawn import observe_spawned
from looptck.suite import extras_of, tests_of
from looptck.suite.labels import Labels
from looptck.wire import sayable

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence

    from looptck.profile import Profile
    from looptck.suite.model import Check, Test

__all__ = ["ChosenTest", "Isolation", "NothingChosenError", "choose", "judged", "observe_all", "report"]


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


def choose(
    profile: str, pattern: str, seed: int, *, extras: bool = False, exact: Sequence[str] = ()
) -> list[ChosenTest]:
    """The tests and checks whose name or id contains `pattern`, or matches it as a glob; all for an empty one.

    A pattern that is the whole name of one, or of one of `exact` beside them, chooses that alone: this is how a report
    says to repeat a failure. With `extras` the tests that run only where they are asked for stand behind the others.
    Raises `NothingChosenError` where there is none.
    """
    chosen = []
    tests = (*tests_of(profile), *(extras_of(profile) if extras else ()))
    whole = any(pattern in {test.name, *(check.id for check in test.checks)} for test in tests) or pattern in exact
    matches = str.__eq__ if whole else _matches
    for test in tests:
        checks = [check for check in test.checks if matches(pattern, test.name) or matches(pattern, check.id)]
        if checks:
            wanted = {name for check in checks for name in check.on}
            scenarios = [s for s in test.build(Labels(seed, test.name)) if s.name in wanted]
            chosen.append(ChosenTest(profile_of(profile), test, checks, scenarios))
    if not chosen:
        msg = f"no test and no check of {profile} matches {pattern!r}; --list shows them"
        raise NothingChosenError(msg)
    return chosen


def matching(chosen: ChosenTest, pattern: str) -> ChosenTest | None:
    """Of a test that is no part of the suite what the pattern chooses, as `choose` does; None for nothing."""
    exact = any(check.id == pattern for check in chosen.checks)
    checks = [one for one in chosen.checks if one.id == pattern or (not exact and _matches(pattern, one.id))]
    if _matches(pattern, chosen.test.name):
        checks = chosen.checks
    wanted = {name for check in checks for name in check.on}
    scenarios = [scenario for scenario in chosen.scenarios if scenario.name in wanted]
    return ChosenTest(chosen.profile, chosen.test, list(checks), scenarios) if checks else None


def _matches(pattern: str, name: str) -> bool:
    return pattern in name or fnmatchcase(name, pattern)


def observe_all(
    chosen: Sequence[ChosenTest],
    load: Callable[[], Any],
    *,
    isolation: Isolation,
    jobs: int = 0,
    limit: float = LIMIT,
    patience: Patience | None = None,
) -> Iterator[ChosenTest]:
    """Observe the scenarios of the tests; yields each test when all of its scenarios are there.

    `load` makes the adapter; for the isolation `process` it has to be a `looptck.target.Loader`. Where scenarios in a
    row outlast the limit and never give the kit a turn, some behind them are not run, and that is said of them
    (`looptck.endless`); one `patience` for several calls makes one suite of what they observe.
    """
    begun = time.perf_counter()
    if isolation == "none":
        observing = _here(chosen, load, limit)
    else:
        jobs = jobs or os.cpu_count() or 1
        observing = _patiently(chosen, load, patience or Patience(), isolation=isolation, jobs=jobs, limit=limit)
    with closing(observing) as arriving:
        for test, scenario, observation in arriving:
            test.observed[scenario.name] = (scenario, observation)
            now = time.perf_counter()
            test.duration_s += now - begun
            begun = now
            if test.complete():
                yield test


def _here(
    chosen: Sequence[ChosenTest], load: Callable[[], Any], limit: float
) -> Generator[tuple[ChosenTest, Any, Any]]:
    """Test, scenario and observation, in this process."""
    adapter = load()
    for test in chosen:
        for scenario in test.scenarios:
            yield test, scenario, observe_safely(adapter, scenario, limit=limit, profile=test.profile)


def _patiently(
    chosen: Sequence[ChosenTest],
    load: Callable[[], Any],
    patience: Patience,
    *,
    isolation: Isolation,
    jobs: int,
    limit: float,
) -> Generator[tuple[ChosenTest, Any, Any]]:
    """Test, scenario and observation, in children."""
    places = [(test, scenario) for test in chosen for scenario in test.scenarios]

    def observing(first: int) -> Generator[tuple[int, Any]]:
        with closing(_in_children(places[first:], load, isolation=isolation, jobs=jobs, limit=limit)) as arriving:
            for place, observation in arriving:
                yield first + place, observation

    def outlasted(observation: Any) -> bool:
        return observation.died in {chosen[0].profile.over_limit, late_import(limit + isolate.GRACE)}

    def not_run(place: int, names: Sequence[str]) -> Any:
        test, scenario = places[place]
        why = "one scenario after the other outlasted the real-time limit, without a turn for the kit"
        return test.profile.observation(scenario.name, died=f"not run: {why} ({', '.join(names)})", blame="limit")

    scenarios = [(test.test.name, scenario.name) for test, scenario in places]
    with closing(patience.pass_on(scenarios, observing, outlasted, not_run)) as passing:
        for place, observation in passing:
            yield *places[place], observation


def _in_children(
    places: Sequence[tuple[ChosenTest, Any]],
    load: Callable[[], Any],
    *,
    isolation: Isolation,
    jobs: int,
    limit: float,
) -> Generator[tuple[int, Any]]:
    """Place and observation of each scenario.

    Forked, each has a child of its own: no run sees what another left. A process of its own is for targets whose import
    takes long: scenarios are dealt out to them in turn, so that which of them share one does not depend on time.
    """
    if isolation == "fork":
        batches = [Batch(n, load, [scenario], test.profile) for n, (test, scenario) in enumerate(places)]
        with closing(observe_forked(batches, jobs=jobs, limit=limit)) as forked:
            for batch, _, observation in forked:
                yield batch.key, observation
        return
    step, (test, _) = min(jobs, len(places)), places[0]
    batches = [Batch(n, load, [scenario for _, scenario in places[n::step]], test.profile) for n in range(step)]
    with closing(observe_spawned(batches, jobs=jobs, limit=limit)) as spawned:
        for batch, place, observation in spawned:
            yield batch.key + place * step, observation


def judged(test: ChosenTest, lacks: Mapping[str, str]) -> TestReport:
    """The report of one completely observed test."""
    records = records_of(test.profile.name)
    return judge_test(test.profile, test.test, test.checks, test.observed, records, lacks, round(test.duration_s, 4))


def report(
    tests: Iterable[TestReport],
    *,
    target: str,
    profile: str,
    seed: int,
    isolation: Isolation,
    asked: Asked = "auto",
    limit: float = LIMIT,
    requirements: int | None = None,
    stale: Sequence[str] = (),
) -> Report:
    """The report of a whole session.

    `asked` is the isolation that the user asked for, `requirements` the version of the set that decides, the newest
    where None.
    """
    places = {known.name: place for place, known in enumerate(tests_of(profile))}
    in_order = sorted(tests, key=lambda test: places.get(test.name, len(places)))
    checks = [check for test in in_order for check in test.checks]
    verdict = verdict_of(checks)
    if all(check.verdict == "skip" for check in checks):
        verdict = worst([])  # nothing was executed
    if stale and verdict == "pass":
        verdict = "fail"  # a file of known failures that is not true
    return Report(
        kit=Kit(version=__version__),
        target=sayable(target),
        profile=profile,
        requirements=requirement_set(profile).version if requirements is None else requirements,
        seed=seed,
        isolation=isolation,
        isolation_asked=asked,
        limit=limit,
        python=platform.python_version(),
        verdict=verdict,
        counts=counts_of(checks),
        tests=in_order,
        stale=list(stale),
    )
