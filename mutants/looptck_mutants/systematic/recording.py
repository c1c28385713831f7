"""The plugin of pytest that writes down which tests and checks failed on which mutant: one file for each mutant.

mutmut itself keeps an exit code. The name of the mutant is in the environment; `stats` and nothing stand for runs on
the unmutated loop. A line is written as soon as its test is through, so that those before a hang are kept.
"""

from __future__ import annotations

import json
import os
import sys
import unittest
from pathlib import Path
from typing import TYPE_CHECKING

import _pytest
import pytest

from looptck_mutants.systematic.settings import MUTATED, RECORDS, own_stage
from looptck_mutants.systematic.subject import TESTS

if TYPE_CHECKING:
    from collections.abc import Generator

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
        asserted = call.when == "call" and _asserted(item, call)
        if asserted:
            item.stash[_ASSERTED] = True
        if asserted or call.when != "call" or not item.stash.get(_ASSERTED, False):  # else a part of it has failed
            _record(report, "fail" if asserted else "error")
    return report


def _asserted(item: pytest.Item, call: pytest.CallInfo[None]) -> bool:
    """Whether the test itself found that something is not as it should be: the rule of `suites.inside`."""
    if call.excinfo is None or not call.excinfo.traceback:
        return False
    tests = own_stage() / MUTATED / TESTS
    own = getattr(getattr(item, "cls", None), "failureException", AssertionError)
    kinds = (AssertionError, pytest.fail.Exception, *([own] if _is_own(own, tests) else []))
    asserting = (tests, *(Path(str(module.__file__)).parent for module in (unittest, pytest, _pytest)))
    return isinstance(call.excinfo.value, kinds) and _lies_in(call.excinfo.traceback[-1].path, *asserting)


def _is_own(kind: object, tests: Path) -> bool:
    """Whether a test case's `failureException` is a class of the tests, and not a name for whatever is raised."""
    if not isinstance(kind, type) or not issubclass(kind, Exception):
        return False
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    return file is not None and _lies_in(file, tests)


def _lies_in(file: Path | str, *folders: Path) -> bool:
    return any(Path(file).resolve().is_relative_to(folder.resolve()) for folder in folders)


def _record(report: pytest.TestReport, kind: str) -> None:
    verdicts = dict(report.user_properties).get(PROPERTY) or {report.nodeid: [kind, _reason(report)]}
    with _own_file().open("a", encoding="utf-8", errors="backslashreplace") as file:
        file.write(json.dumps(verdicts) + "\n")


def _reason(report: pytest.TestReport) -> str:
    crash = getattr(report.longrepr, "reprcrash", None)
    return str(crash.message) if crash is not None else str(report.longrepr)


def _own_file() -> Path:
    return record_file(own_stage(), os.environ.get("MUTANT_UNDER_TEST", ""))
