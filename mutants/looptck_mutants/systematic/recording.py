"""The plugin of pytest that writes down which tests and checks failed on which mutant: one file for each mutant.

mutmut itself keeps an exit code. The name of the mutant is in the environment; `stats` and nothing stand for runs on
the unmutated loop. A line is written as soon as its test is through, so that those before a hang are kept.
"""

from __future__ import annotations

import json
import os
from functools import cache
from typing import TYPE_CHECKING

import pytest

from looptck_mutants.suites.assertion import Assertions
from looptck_mutants.systematic.settings import MUTATED, RECORDS, own_stage
from looptck_mutants.systematic.subject import TESTS

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

PROPERTY = "looptck"
"""The property of a test of the suite that has its checks: id to verdict and message, of those that did not pass."""
CLEAN = "clean"
"""The file's name where nothing is mutated."""
_ASSERTED = pytest.StashKey[bool]()


def record_file(stage: Path, mutant: str) -> Path:
    """Where the records of a mutant are, or of the unmutated loop."""
    return stage / RECORDS / f"{CLEAN if mutant in {'', 'stats', 'list_all_tests'} else mutant}.jsonl"


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests() -> None:
    """Begin anew, before a `conftest.py` can fail: what an earlier run recorded of this mutant no longer holds."""
    _assertions()  # before a suite can put something in the place of what asserts
    file = _own_file()
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(b"")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Record a test that failed, by an assertion or otherwise. Of what is recorded of a test, the last line holds."""
    report = yield
    if report.failed:
        asserted = _assertions().made(item, call)
        if asserted:
            item.stash[_ASSERTED] = True
        if asserted or call.when != "call" or not item.stash.get(_ASSERTED, False):  # else a part of it has failed
            _record(report, "fail" if asserted else "error")
    return report


@cache
def _assertions() -> Assertions:
    return Assertions(own_stage() / MUTATED / TESTS)


def _record(report: pytest.TestReport, kind: str) -> None:
    verdicts = dict(report.user_properties).get(PROPERTY) or {report.nodeid: [kind, _reason(report)]}
    with _own_file().open("a", encoding="utf-8", errors="backslashreplace") as file:
        file.write(json.dumps(verdicts) + "\n")


def _reason(report: pytest.TestReport) -> str:
    crash = getattr(report.longrepr, "reprcrash", None)
    return str(crash.message) if crash is not None else str(report.longrepr)


def _own_file() -> Path:
    return record_file(own_stage(), os.environ.get("MUTANT_UNDER_TEST", ""))
