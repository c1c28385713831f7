"""Loops of many styles: correct ones pass every check, each wrong one fails exactly what is recorded of it."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.conformance.implementations_harness import OTHER_SEED, ROOT, SEED, Implementations, forget_import, name

if TYPE_CHECKING:
    from collections.abc import Iterator

LOOPS = Implementations("ag03", ROOT)
BUSY = "import os\nparent = os.getppid()\nwhile os.getppid() == parent:\n    pass"


@pytest.mark.parametrize("file", LOOPS.correct, ids=name)
def test_a_correct_loop_passes_every_check(file: Path) -> None:
    assert LOOPS.not_passed(file, SEED) == {}


@pytest.mark.parametrize("file", LOOPS.correct, ids=name)
def test_it_passes_in_this_process_too(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forget_import(monkeypatch)
    assert LOOPS.not_passed(file, SEED, isolation="none") == {}


@pytest.fixture
def busy_machine() -> Iterator[None]:
    """A process that computes for every core."""
    with ExitStack() as stack:
        for _ in range(os.cpu_count() or 1):
            process = stack.enter_context(subprocess.Popen([sys.executable, "-ISc", BUSY]))
            stack.callback(process.kill)
        yield


@pytest.mark.usefixtures("busy_machine")
@pytest.mark.parametrize("file", LOOPS.correct, ids=name)
def test_it_passes_with_other_values_while_others_use_every_core(file: Path) -> None:
    assert LOOPS.not_passed(file, OTHER_SEED) == {}


@pytest.mark.parametrize("file", LOOPS.wrong, ids=name)
def test_a_wrong_loop_fails_exactly_what_is_recorded(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert LOOPS.seen(file, monkeypatch) == LOOPS.recorded(file)


def test_every_wrong_loop_has_a_record_and_every_record_a_loop() -> None:
    assert LOOPS.without_counterpart() == []


def test_records_are_sorted_lists_of_known_checks() -> None:
    assert LOOPS.untidy() == []
