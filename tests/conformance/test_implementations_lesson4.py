"""Metered loops of many styles: correct ones pass every check, each wrong one fails exactly what is recorded of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.conformance.implementations_harness import OTHER_SEED, ROOT, SEED, Implementations, forget_import, name

LOOPS = Implementations("lesson4", ROOT / "lesson4")


@pytest.mark.parametrize("file", LOOPS.correct, ids=name)
def test_a_correct_loop_passes_every_check(file: Path) -> None:
    assert LOOPS.not_passed(file, SEED) == {}


@pytest.mark.parametrize("file", LOOPS.correct, ids=name)
def test_it_passes_in_this_process_and_with_other_values_too(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forget_import(monkeypatch)
    assert LOOPS.not_passed(file, OTHER_SEED, isolation="none") == {}


@pytest.mark.parametrize("file", LOOPS.wrong, ids=name)
def test_a_wrong_loop_fails_exactly_what_is_recorded(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert LOOPS.seen(file, monkeypatch) == LOOPS.recorded(file)


def test_every_wrong_loop_has_a_record_and_every_record_a_loop() -> None:
    assert LOOPS.without_counterpart() == []


def test_records_are_sorted_lists_of_known_checks() -> None:
    assert LOOPS.untidy() == []
