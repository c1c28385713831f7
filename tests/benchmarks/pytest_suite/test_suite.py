"""The suite in the plain pytest way, in process: one item for each check, the observations cached for each test.

It is what the mutants benchmark compares with: start pytest on a copy of the loop, once for every mutant. The seed is
taken from the environment, so that both sides see the same values.
"""

from __future__ import annotations

import os
from functools import cache

import pytest

from looptck import suite
from looptck.report.model import TestReport
from looptck.session import choose, judged, observe_all
from looptck.target import Target

PROFILE = "ag03"
SEED = int(os.environ.get("LOOPTCK_BENCH_SEED", "7"))
LOOP = Target("reference", "looptck_reference", "Agent")
CHECKS = [pytest.param(test.name, check.id, id=check.id) for test in suite.tests_of(PROFILE) for check in test.checks]


@cache
def report(name: str) -> TestReport:
    """One test of the specification, observed in this process and judged."""
    (test,) = observe_all(choose(PROFILE, name, SEED), LOOP.load, isolation="none")
    return judged(test, lacks={})


@pytest.mark.parametrize(("test", "check"), CHECKS)
def test_check(test: str, check: str) -> None:
    seen = next(found for found in report(test).checks if found.id == check)
    assert seen.verdict == "pass", f"{seen.message}: expected {seen.expected!r}, seen {seen.seen!r}"
