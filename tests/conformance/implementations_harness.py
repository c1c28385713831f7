"""A folder of loops in many styles, judged: `correct` ones, and `wrong` ones with `expected.toml` of what they fail."""

from __future__ import annotations

import os
import sys
import tomllib
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING
from unittest import mock

from looptck import isolate, session, suite
from looptck.isolate import Batch, observe_forked
from looptck.observe import LIMIT
from looptck.profile import profile_of
from looptck.target import FILE_MODULE, parse_target
from looptck.warm import warm

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import pytest

    from looptck.adapter import Adapter
    from looptck.report.model import CheckReport
    from looptck.scenario import Scenario
    from looptck.session import ChosenTest

ROOT = Path(__file__).parents[1] / "implementations"
SEED, OTHER_SEED = 1, 20_261
REMEMBER = frozenset({"global_usage", "state_on_class"})
"""Wrong loops that take what they remember of a scenario into the next one of the same process."""
SHORT = 1.0
"""Seconds of real time for a scenario of a loop that would use all of a longer limit."""


@dataclass(frozen=True)
class Implementations:
    """The loops of one profile and what is recorded of them."""

    profile: str
    folder: Path

    @cached_property
    def correct(self) -> list[Path]:
        """Loops that keep the specification."""
        return sorted((self.folder / "correct").glob("*.py"))

    @cached_property
    def wrong(self) -> list[Path]:
        """Loops of one mistake each."""
        return sorted((self.folder / "wrong").glob("*.py"))

    @cached_property
    def expected(self) -> dict[str, dict[str, list[str]]]:
        """By verdict, then by the name of the wrong loop, the ids of its checks with that verdict.

        Failures that are not told apart stand under `obstacle`.
        """
        return tomllib.loads((self.folder / "wrong/expected.toml").read_text(encoding="utf-8"))

    @cached_property
    def known(self) -> list[str]:
        """The ids of all checks of the profile."""
        return sorted(check.id for test in suite.tests_of(self.profile) for check in test.checks)

    def recorded(self, file: Path) -> dict[str, list[str]]:
        """What is recorded of a wrong loop: by verdict, the ids of its checks that are not passed."""
        return {verdict: loops[file.stem] for verdict, loops in self.expected.items() if file.stem in loops}

    def endless(self, file: Path) -> bool:
        """Whether a wrong loop uses all of any limit."""
        return file.stem in self.expected["incomplete"]

    def without_counterpart(self) -> list[str]:
        """Wrong loops without a record, and records without a loop."""
        recorded = {loop for loops in self.expected.values() for loop in loops}
        return sorted(recorded ^ {file.stem for file in self.wrong})

    def untidy(self) -> list[str]:
        """Loops whose record is empty, not sorted, or names a check that there is not."""
        return [
            loop
            for loops in self.expected.values()
            for loop, checks in loops.items()
            if not checks or checks != sorted(set(checks)) or not set(checks) <= set(self.known)
        ]


def chosen(profile: str, seed: int) -> list[ChosenTest]:
    """The suite, none of its checks left out; what every child would do for itself is done."""
    tests = session.choose(profile, "", seed)
    warm(profile_of(profile), [scenario for test in tests for scenario in test.scenarios])
    known = [check.id for test in suite.tests_of(profile) for check in test.checks]
    assert [check.id for test in tests for check in test.checks] == known
    return tests


def loader(profile: str, file: Path) -> Callable[[], Adapter]:
    """What loads the loop of a file, in whatever process."""
    return lambda: parse_target(str(file), {}).load(profile_of(profile).adapt)


def judged(tests: Iterable[ChosenTest]) -> list[CheckReport]:
    """The checks of observed tests, each of them judged."""
    reports = [(test, check) for test in tests for check in session.judged(test, {}).checks]
    assert all(check.id in {each.id for each in test.checks} for test, check in reports)
    return [check for _, check in reports]


def reports(
    profile: str, file: Path, tests: Sequence[ChosenTest], isolation: session.Isolation = "fork", limit: float = LIMIT
) -> list[CheckReport]:
    """The checks of these tests, judged on the loop of a file as the command line does it."""
    found = judged(session.observe_all(tests, loader(profile, file), isolation=isolation, limit=limit))
    assert sorted(check.id for check in found) == sorted(check.id for test in tests for check in test.checks)
    return found


def reports_together(profile: str, file: Path, tests: Sequence[ChosenTest], parts: int = 1) -> list[CheckReport]:
    """Likewise, but the scenarios of a test share a child, or so many, as those of a mutant do: that costs a fifth."""
    shares = [(test, test.scenarios[part::parts]) for test in tests for part in range(parts)]
    batches = [Batch(n, loader(profile, file), share, test.profile) for n, (test, share) in enumerate(shares) if share]
    for batch, place, observation in observe_forked(batches, jobs=os.cpu_count() or 1):
        test, share = shares[batch.key]
        test.observed[share[place].name] = (share[place], observation)
    return judged(tests)


def swept(file: Path, seed: int, first: int = 0, step: int = 1) -> dict[str, str]:
    """The checks of the crash sweep that the loop of a file does not pass, with what helps to understand it.

    With a `step` only each so-manieth scenario is observed, from the `first` on.
    """
    tests = session.choose("ag03", "TestCrashSweep", seed, extras=True)
    for test in tests:
        test.scenarios = test.scenarios[first::step]
        left = {scenario.name for scenario in test.scenarios}
        test.checks = [replace(check, on=tuple(name for name in check.on if name in left)) for check in test.checks]
    return _told(reports_together("ag03", file, tests, parts=2 * (os.cpu_count() or 1)))


def not_passed(profile: str, file: Path, seed: int, isolation: session.Isolation = "fork") -> dict[str, str]:
    """What a correct loop must leave empty, with what helps to understand it."""
    return _told(reports(profile, file, chosen(profile, seed), isolation))


def not_passed_together(profile: str, file: Path, seed: int) -> dict[str, str]:
    """Likewise, where the scenarios of a test share a child."""
    return _told(reports_together(profile, file, chosen(profile, seed)))


def not_passed_where_it_waits(profile: str, file: Path, seed: int) -> dict[str, str]:
    """Likewise, of the checks of `with_waiting` alone."""
    return _told(reports(profile, file, list(with_waiting(chosen(profile, seed)))))


def _told(found: list[CheckReport]) -> dict[str, str]:
    return {check.id: _tells(check) for check in found if check.verdict != "pass"}


def _tells(check: CheckReport) -> str:
    return f"{check.verdict} in {check.scenario}: {check.expected} != {check.seen} {check.message}"


def seen(profile: str, file: Path, alone: bool, endless: bool) -> dict[str, dict[str, str]]:  # noqa: FBT001 - as pickled
    """What is seen of a wrong loop, as it is recorded of it, each check with what helps to understand it.

    Scenarios of one that is `endless` have little time, and like those of one that is `alone` a child for each.
    """
    tests = chosen(profile, SEED)
    if endless:
        with mock.patch.object(isolate, "GRACE", SHORT):
            found = reports(profile, file, tests, limit=SHORT)
    else:
        found = reports(profile, file, tests) if alone else reports_together(profile, file, tests)
    by_verdict: dict[str, dict[str, str]] = {}
    for check in found:
        if check.verdict != "pass":
            obstacle = check.verdict == "fail" and not check.told_apart()
            by_verdict.setdefault("obstacle" if obstacle else check.verdict, {})[check.id] = _tells(check)
    return by_verdict


def with_waiting(tests: Sequence[ChosenTest]) -> Iterator[ChosenTest]:
    """Of these tests, the checks of scenarios in which a loop waits for what the kit holds back, or is cancelled."""
    for test in tests:
        waiting = {scenario.name for scenario in test.scenarios if _waits(scenario)}
        checks = [check for check in test.checks if waiting.intersection(check.on)]
        needed = {name for check in checks for name in check.on}
        if checks:
            yield replace(test, checks=checks, scenarios=[each for each in test.scenarios if each.name in needed])


def _waits(scenario: Scenario) -> bool:
    held = any(turn.hold for invocation in scenario.invocations for turn in invocation.turns)
    return held or scenario.finish != "at_once" or any(each.cancel != "never" for each in scenario.invocations)


def forget_import(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is loaded in this process leaves no trace of it when the test is over."""
    monkeypatch.setattr(sys, "path", sys.path.copy())
    monkeypatch.setitem(sys.modules, FILE_MODULE, sys)  # so that what is imported under this name goes again
