"""Scenarios of the user's own, each a check: it is as predicted, or the record that broke is named."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from looptck.oracle.difference import Difference
from looptck.oracle.judging import OPEN, judge_one
from looptck.session import ChosenTest
from looptck.suite.model import Check, Finding, Test, UndecidedError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from looptck.profile import Profile

TEST = "TestScenarios"
"""The name of the test that scenarios in files make together."""
AS_PREDICTED = "as-predicted"
"""The record that such a check serves as long as it passes; a failure names the one that broke."""
PREFIX = "scenario/"


def chosen(profile: Profile, scenarios: Mapping[str, Any]) -> ChosenTest:
    """The test of these scenarios, by the ids of their checks, with all of its checks chosen."""
    every = tuple(scenarios.values())
    test = Test(TEST, "-", lambda _labels: every)
    for check_id, scenario in scenarios.items():
        statement = "The run is what the oracle predicts of its scenario, and nothing more."
        test.checks.append(Check(check_id, AS_PREDICTED, statement, (scenario.name,), _check(profile)))
    return ChosenTest(profile, test, list(test.checks), list(every))


def _check(profile: Profile) -> Any:
    def as_predicted(evidence: Any) -> Finding:
        judged = judge_one(profile, evidence.scenario, evidence.observation)
        if judged.broken == OPEN:
            raise UndecidedError(judged.why)
        if judged.difference is None:
            return Finding(ok=True, expected="as predicted", seen="as predicted")
        return _finding(judged.difference)

    return as_predicted


def _finding(difference: Difference) -> Finding:
    about = difference.about
    return Finding(
        ok=False,
        expected=difference.expected if isinstance(difference.expected, list) else {about: difference.expected},
        seen=difference.seen if isinstance(difference.seen, list) else {about: difference.seen},
        requirement=difference.requirement,
        about=f"breaks {difference.requirement}, {about}",
    )
