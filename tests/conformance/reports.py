"""Reports made by hand, for the tests of what is written from them."""

from __future__ import annotations

from typing import Any

from looptck.report.model import CheckReport, Report, TestReport, verdict_of
from looptck.session import report


def check(name: str = "max-iter/model-calls", verdict: str = "pass", **fields: Any) -> CheckReport:
    """A check of that verdict; one that failed was evaluated, unless `expected` is None."""
    values: dict[str, Any] = {
        "id": name,
        "requirement": "iteration-cap",
        "level": "must",
        "verdict": verdict,
        "message": "",
        "statement": "The model is asked three times.",
        "scenario": "endless",
    }
    if verdict == "fail":
        values |= {"expected": 3, "seen": 4}
    return CheckReport.model_validate(values | fields)


def named(*checks: CheckReport, name: str = "TestMaxIterStops") -> TestReport:
    """A test of these checks."""
    return TestReport(name=name, section="2.2", verdict=verdict_of(list(checks)), duration_s=0.25, checks=list(checks))


def reported(*tests: TestReport, target: str = "loop.py", stale: tuple[str, ...] = ()) -> Report:
    """A whole report of these tests."""
    return report(tests, target=target, profile="ag03", seed=9, isolation="fork", stale=stale)
