"""A folder of loops in many styles, judged: `correct` ones, and `wrong` ones with `expected.toml` of what they fail."""

from __future__ import annotations

import sys
import tomllib
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from looptck import session, suite
from looptck.observe import LIMIT
from looptck.profile import profile_of
from looptck.target import FILE_MODULE, parse_target

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pytest

    from looptck.adapter import Adapter
    from looptck.report.model import CheckReport
    from looptck.scenario import Scenario
    from looptck.session import ChosenTest

ROOT = Path(__file__).parents[1] / "implementations"
SEED, OTHER_SEED = 1, 20_261
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
        """By verdict, then by the name of the wrong loop, the ids of its checks with that verdict."""
        return tomllib.loads((self.folder / "wrong/expected.toml").read_text(encoding="utf-8"))

    @cached_property
    def known(self) -> list[str]:
        """The ids of all checks of the profile."""
        return sorted(check.id for test in suite.tests_of(self.profile) for check in test.checks)

    def chosen(self, seed: int) -> list[ChosenTest]:
        """The suite, none of its checks left out."""
        chosen = session.choose(self.profile, "", seed)
        assert sorted(check.id for test in chosen for check in test.checks) == self.known
        return chosen

    def reports(
        self,
        file: Path,
        chosen: Sequence[ChosenTest],
        *,
        isolation: session.Isolation = "fork",
        limit: float = LIMIT,
    ) -> list[CheckReport]:
        """Every check that is chosen, judged on the loop of a file."""

        def load() -> Adapter:
            adapter: Adapter = parse_target(str(file), {}).load(profile_of(self.profile).adapt)
            return adapter

        observed = session.observe_all(chosen, load, isolation=isolation, limit=limit)
        reports = [check for test in observed for check in session.judged(test, {}).checks]
        if sorted(check.id for check in reports) != sorted(check.id for test in chosen for check in test.checks):
            msg = f"of {file} not every check was judged once"
            raise AssertionError(msg)
        return reports

    def not_passed(
        self, file: Path, chosen: Sequence[ChosenTest], *, isolation: session.Isolation = "fork"
    ) -> dict[str, str]:
        """What a correct loop must leave empty, with what helps to understand it."""
        return {
            check.id: f"{check.verdict} in {check.scenario}: {check.expected} != {check.seen} {check.message}"
            for check in self.reports(file, chosen, isolation=isolation)
            if check.verdict != "pass"
        }

    def recorded(self, file: Path) -> dict[str, list[str]]:
        """What is recorded of a wrong loop: by verdict, the ids of its checks that are not passed."""
        return {verdict: loops[file.stem] for verdict, loops in self.expected.items() if file.stem in loops}

    def seen(self, file: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
        """What is seen of it, in the same form."""
        endless = file.stem in self.expected["incomplete"]
        if endless:
            monkeypatch.setattr("looptck.isolate.GRACE", SHORT)
        by_verdict: dict[str, list[str]] = {}
        for check in self.reports(file, self.chosen(SEED), limit=SHORT if endless else LIMIT):
            if check.verdict != "pass":
                by_verdict.setdefault(check.verdict, []).append(check.id)
        return {verdict: sorted(checks) for verdict, checks in by_verdict.items()}

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


def with_waiting(chosen: Sequence[ChosenTest]) -> Iterator[ChosenTest]:
    """Of these tests, the checks of scenarios in which a loop waits for what the kit holds back, or is cancelled."""
    for test in chosen:
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
