"""The plugin of pytest that writes down which tests and checks failed on which mutant: one file for each mutant.

mutmut itself keeps an exit code. The name of the mutant is in the environment; `stats` and nothing stand for runs on
the unmutated loop. A line is written as soon as its test is through, so that those before a hang are kept.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from looptck_mutants.systematic.settings import RECORDS, own_stage

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

PROPERTY = "looptck"
"""The property of a test of the suite that has its checks: id to verdict and message, of those that did not pass."""
CLEAN = "clean"
"""The file's name where nothing is mutated."""


def record_file(stage: Path, mutant: str) -> Path:
    """Where the records of a mutant are, or of the unmutated loop."""
    return stage / RECORDS / f"{CLEAN if mutant in {'', 'stats', 'list_all_tests'} else mutant}.jsonl"


def pytest_sessionstart() -> None:
    """Begin anew: what an earlier run recorded of this mutant no longer holds."""
    file = _own_file()
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(b"")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Record a test that failed, or could not be set up."""
    if not report.failed:
        return
    verdicts = dict(report.user_properties).get(PROPERTY) or {report.nodeid: ["fail", _reason(report)]}
    with _own_file().open("a", encoding="utf-8", errors="backslashreplace") as file:
        file.write(json.dumps(verdicts) + "\n")


def _reason(report: pytest.TestReport) -> str:
    crash = getattr(report.longrepr, "reprcrash", None)
    return str(crash.message) if crash is not None else str(report.longrepr)


def _own_file() -> Path:
    return record_file(own_stage(), os.environ.get("MUTANT_UNDER_TEST", ""))
