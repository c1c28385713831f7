"""Correct loops pass every scenario of the suite by their requests, and wrong ones fail by theirs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from looptck.adapter import ContractAdapter
from looptck.observe import observe_here
from looptck.provider.wire import request_body
from looptck.scenario import Scenario
from looptck.serve.judge import Ended, judge
from looptck.suite import tests_of
from looptck.suite.labels import Labels
from looptck.target import parse_target
from looptck_fakes import ModelAsked
from looptck_reference import Agent

SCENARIOS = {
    f"{test.name}/{each.name}": each for test in tests_of("ag03") for each in test.build(Labels(11, test.name))
}
WITHOUT_REQUESTS = {"TestGateVerdicts/open-turn-over-budget", "TestStepRunnerErrorEndsRun/model-refused"}
"""Where a correct loop asks its model nothing, so there is nothing to judge."""
IMPLEMENTATIONS = Path(__file__).parents[1] / "implementations"


def bodies(scenario: Scenario, loop: Any) -> list[list[bytes]]:
    """The requests of a loop, by invocation, as its provider would send them."""
    seen = observe_here(ContractAdapter(loop), scenario)
    if scenario.transport == "http":
        return [[json.dumps(body).encode() for body in seen.http]]
    found: list[list[bytes]] = [[] for _ in scenario.invocations]
    for record in seen.records:
        if isinstance(record, ModelAsked):
            found[int(record.script)].append(request_body("m", record.messages, record.tools, record.options))
    return found


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_reference_passes_by_its_requests(name: str) -> None:
    report = judge(SCENARIOS[name], bodies(SCENARIOS[name], Agent), Ended("done", finished=True))
    assert report.verdict == ("incomplete" if name in WITHOUT_REQUESTS else "pass")
    assert report.findings == []


@pytest.mark.parametrize(
    ("file", "name", "check"),
    [
        ("as_completed", "TestParallelToolsBoundedOrderPreserved/roomy", "call-order"),
        ("recursive_off_by_one", "TestMaxIterStops/looping", "within-cap"),
        ("recursive_off_by_one", "TestMaxIterStops/default", "within-default-cap"),
        ("waits_for_denied", "TestGateVerdicts/denied", "all-asked"),
    ],
)
def test_a_wrong_loop_fails_by_its_requests(file: str, name: str, check: str) -> None:
    loop = parse_target(str(IMPLEMENTATIONS / "wrong" / f"{file}.py"), {}).load(lambda found, _module: found)
    report = judge(SCENARIOS[name], bodies(SCENARIOS[name], loop), Ended("done", finished=True))
    assert [finding.id for finding in report.findings if finding.level == "must"] == [f"requests/{check}"]


def test_readings_other_than_the_references_pass_too() -> None:
    target = parse_target(str(IMPLEMENTATIONS / "correct" / "other_readings.py"), {})
    loop = target.load(lambda found, _module: found)
    names = ["TestGateVerdicts/gate-raises", "TestBudgetStopsBeforeDispatch/tokens-at", "TestSpans/raising"]
    reports = [judge(SCENARIOS[name], bodies(SCENARIOS[name], loop), Ended("", finished=True)) for name in names]
    assert [(report.verdict, report.findings) for report in reports] == [("pass", [])] * 3
