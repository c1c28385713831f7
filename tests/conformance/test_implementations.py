"""Loops of many styles: correct ones pass every check, each wrong one fails exactly what is recorded of it."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from looptck import session, suite
from looptck.observe import LIMIT
from looptck.target import FILE_MODULE, parse_target

if TYPE_CHECKING:
    from collections.abc import Iterator

    from looptck.report.model import CheckReport

FOLDER = Path(__file__).parents[1] / "implementations"
CORRECT = sorted((FOLDER / "correct").glob("*.py"))
WRONG = sorted((FOLDER / "wrong").glob("*.py"))
EXPECTED: dict[str, dict[str, list[str]]] = tomllib.loads((FOLDER / "wrong/expected.toml").read_text(encoding="utf-8"))
KNOWN = sorted(check.id for test in suite.tests_of("ag03") for check in test.checks)
SEED, OTHER_SEED = 1, 20_261
SHORT = 1.0
"""Seconds of real time for a scenario of a loop that would use all of a longer limit."""
BUSY = "import os\nparent = os.getppid()\nwhile os.getppid() == parent:\n    pass"


def _reports(
    file: Path, seed: int, *, isolation: session.Isolation = "fork", limit: float = LIMIT
) -> list[CheckReport]:
    """Every check of the suite, none left out, judged on the loop of a file."""
    chosen = session.choose("ag03", "", seed)
    observed = session.observe_all(chosen, parse_target(str(file), {}).load, isolation=isolation, limit=limit)
    reports = [check for test in observed for check in session.judged(test, "ag03", {}).checks]
    assert sorted(check.id for check in reports) == KNOWN
    return reports


def _not_passed(reports: list[CheckReport]) -> dict[str, str]:
    """What a correct loop must leave empty, with what helps to understand it."""
    return {
        check.id: f"{check.verdict} in {check.scenario}: {check.expected} != {check.seen} {check.message}"
        for check in reports
        if check.verdict != "pass"
    }


def _name(file: Path) -> str:
    return file.stem


@pytest.mark.parametrize("file", CORRECT, ids=_name)
def test_a_correct_loop_passes_every_check(file: Path) -> None:
    assert _not_passed(_reports(file, SEED)) == {}


@pytest.mark.parametrize("file", CORRECT, ids=_name)
def test_it_passes_in_this_process_too(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", sys.path.copy())
    monkeypatch.setitem(sys.modules, FILE_MODULE, sys)  # so that what is imported under this name goes again
    assert _not_passed(_reports(file, SEED, isolation="none")) == {}


@pytest.fixture
def busy_machine() -> Iterator[None]:
    """A process that computes for every core."""
    with ExitStack() as stack:
        for _ in range(os.cpu_count() or 1):
            process = stack.enter_context(subprocess.Popen([sys.executable, "-ISc", BUSY]))
            stack.callback(process.kill)
        yield


@pytest.mark.usefixtures("busy_machine")
@pytest.mark.parametrize("file", CORRECT, ids=_name)
def test_it_passes_with_other_values_while_others_use_every_core(file: Path) -> None:
    assert _not_passed(_reports(file, OTHER_SEED)) == {}


@pytest.mark.parametrize("file", WRONG, ids=_name)
def test_a_wrong_loop_fails_exactly_what_is_recorded(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    endless = file.stem in EXPECTED["incomplete"]
    if endless:
        monkeypatch.setattr("looptck.isolate.GRACE", SHORT)
    reports = _reports(file, SEED, limit=SHORT if endless else LIMIT)
    seen = {
        verdict: sorted(check.id for check in reports if check.verdict == verdict)
        for verdict in {check.verdict for check in reports} - {"pass"}
    }
    assert seen == {verdict: loops[file.stem] for verdict, loops in EXPECTED.items() if file.stem in loops}


def test_every_wrong_loop_has_a_record_and_every_record_a_loop() -> None:
    assert sorted({name for loops in EXPECTED.values() for name in loops}) == [file.stem for file in WRONG]


def test_records_are_sorted_lists_of_known_checks() -> None:
    for loops in EXPECTED.values():
        for name, checks in loops.items():
            assert checks, name
            assert checks == sorted(set(checks)), name
            assert set(checks) <= set(KNOWN), name
