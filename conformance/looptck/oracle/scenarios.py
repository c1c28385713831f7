"""Scenarios in files, each a check of its own: it is as predicted, or the record that broke is named."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from looptck.oracle.difference import Difference
from looptck.oracle.judging import OPEN, judge_one, unjudged
from looptck.scenario import ScenarioError, load_scenario
from looptck.session import ChosenTest
from looptck.suite.model import Check, Finding, Test, UndecidedError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from looptck.profile import Profile

TEST = "TestScenarios"
"""The name of the test that scenarios in files make together."""
AS_PREDICTED = "as-predicted"
"""The record that such a check serves as long as it passes; a failure names the one that broke."""
PREFIX = "scenario/"


def files_in(folder: str) -> list[Path]:
    """The scenario files of a folder, in the order of their names. Raises `ScenarioError` where there is none."""
    place = Path(folder)
    try:
        found = sorted(file for file in place.iterdir() if file.suffix == ".json")
    except OSError as error:
        msg = f"{folder}: {error.strerror}"
        raise ScenarioError(msg) from None
    if not found:
        msg = f"{folder}: it holds no scenario (*.json)"
        raise ScenarioError(msg)
    return found


def load(profile: Profile, files: Sequence[Path]) -> dict[str, Any]:
    """The scenarios of the files by the ids of their checks, named after their files.

    Raises `ScenarioError` for a file that cannot be read, is no scenario of the profile, or cannot be predicted.
    """
    found: dict[str, Any] = {}
    for file in files:
        try:
            text = file.read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            msg = f"{file}: {getattr(error, 'strerror', None) or 'not UTF-8'}"
            raise ScenarioError(msg) from None
        scenario = load_scenario(text, str(file), profile.scenario_from_json)
        why = unjudged(profile, scenario)
        if why is not None:
            msg = f"{file}: {why}"
            raise ScenarioError(msg)
        check_id = _id(file.stem, found)
        found[check_id] = scenario.model_copy(update={"name": check_id.removeprefix(PREFIX)})
    return found


def _id(stem: str, taken: Mapping[str, Any]) -> str:
    """The id of a file's check: its name in the letters that ids have, with a number where that is taken."""
    slug = re.sub(r"[^a-z0-9]+", "-", stem.lower()).strip("-") or "unnamed"
    number, check_id = 1, PREFIX + slug
    while check_id in taken:
        number += 1
        check_id = f"{PREFIX}{slug}-{number}"
    return check_id


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
