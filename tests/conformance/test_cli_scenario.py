"""`looptck scenario`: the scenarios of the suites, listed and printed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.conformance.commands import ROOT

from looptck.lesson4.scenario import Scenario as MeteredScenario
from looptck.scenario import load_scenario
from looptck.suite import tests_of
from looptck.suite.labels import Labels

EXAMPLES = sorted((ROOT / "examples" / "scenarios").glob("*.json"))


def built(profile: str, seed: int) -> dict[str, Any]:
    return {
        f"{test.name}/{each.name}": each for test in tests_of(profile) for each in test.build(Labels(seed, test.name))
    }


@pytest.mark.parametrize(("profile", "read"), [("ag03", load_scenario), ("lesson4", None)])
def test_a_printed_scenario_is_read_as_the_same(looptck: Any, profile: str, read: Any) -> None:
    last = {name.partition("/")[0]: (name, each) for name, each in built(profile, 9).items()}
    assert last.keys() == {test.name for test in tests_of(profile)}
    for name, each in last.values():
        ran = looptck("scenario", name, "--profile", profile, "--seed", "9")
        assert (ran.code, ran.err) == (0, f"{name} of {profile}, seed 9\n")
        assert (read(ran.out, name) if read else MeteredScenario.model_validate_json(ran.out)) == each


def test_a_seed_is_drawn_and_told(looptck: Any) -> None:
    ran = looptck("scenario", "twin")
    seed = ran.err.rpartition(" ")[2].strip()
    assert load_scenario(ran.out, "twin") == built("ag03", int(seed))["TestHandExample/twin"]


@pytest.mark.parametrize("profile", ["ag03", "lesson4"])
def test_all_are_listed_with_the_number_of_their_checks(looptck: Any, profile: str) -> None:
    checks = {
        f"{test.name}/{name}": sum(name in check.on for check in test.checks)
        for test in tests_of(profile)
        for name in {name for check in test.checks for name in check.on}
    }
    for arguments in ((), ("--list",), ("whatever", "--list")):
        ran = looptck("scenario", *arguments, "--profile", profile)
        listed = {line.split()[0]: int(line.split()[1]) for line in ran.out.splitlines()}
        assert (ran.code, ran.err) == (0, "")
        assert listed.keys() == built(profile, 0).keys()
        assert {name: number for name, number in listed.items() if number} == checks


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("no-such",), "ag03 has no scenario 'no-such'; `looptck scenario --list` shows them"),
        (
            ("approved",),
            "several tests have a scenario 'approved': say TestGateVerdicts/approved or TestSpans/approved",
        ),
        (("hand", "--profile", "ag99"), "there is no profile 'ag99'"),
    ],
)
def test_a_name_that_is_not_one_scenario_is_one_line(looptck: Any, arguments: tuple[str, ...], told: str) -> None:
    ran = looptck("scenario", *arguments)
    assert (ran.code, ran.out, ran.err.count("\n")) == (4, "", 1)
    assert told in ran.err


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_the_scenarios_of_the_examples_are_those_of_the_suite(file: Path) -> None:
    printed = json.loads(file.read_text(encoding="utf-8"))
    assert load_scenario(json.dumps(printed), str(file)) in built("ag03", 1).values()
