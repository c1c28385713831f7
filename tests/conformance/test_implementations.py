"""Loops of many styles: correct ones pass every check, each wrong one fails exactly what is recorded of it."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.conformance.implementations_harness import (
    OTHER_SEED,
    REMEMBER,
    ROOT,
    SEED,
    Implementations,
    chosen,
    forget_import,
    not_passed,
    not_passed_together,
    not_passed_where_it_waits,
    seen,
    with_waiting,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.lean import Lean

AG03, LESSON4 = Implementations("ag03", ROOT), Implementations("lesson4", ROOT / "lesson4")
ALONE = {"threads_for_tools", "queue_and_workers", "journal"}
BUSY = "import os\nparent = os.getppid()\nwhile os.getppid() == parent:\n    pass"


def named(loops: Implementations, files: list[Path]) -> list[pytest.ParameterSet]:
    """Each of these files with the loops that it belongs to."""
    return [pytest.param(loops, file, id=f"{loops.profile}-{file.stem}") for file in files]


CORRECT_AG03 = named(AG03, AG03.correct)
CORRECT = CORRECT_AG03 + named(LESSON4, LESSON4.correct)
WRONG = named(AG03, AG03.wrong) + named(LESSON4, LESSON4.wrong)
each_profile = pytest.mark.parametrize("loops", [AG03, LESSON4], ids=lambda loops: loops.profile)


@pytest.mark.parametrize(("loops", "file"), CORRECT)
def test_a_correct_loop_passes_every_check(loops: Implementations, file: Path, lean: Lean) -> None:
    # A child for each scenario, as the command line does it, costs five times as much: some have that, of each kind.
    observe = not_passed if file.stem in ALONE else not_passed_together
    assert lean(observe, loops.profile, file, SEED) == {}


@each_profile
def test_some_have_a_child_for_each_scenario(loops: Implementations) -> None:
    assert ALONE & {file.stem for file in loops.correct} != set()


def test_each_of_these_is_a_correct_loop() -> None:
    assert {file.stem for file in AG03.correct + LESSON4.correct} >= ALONE


@pytest.mark.parametrize(("loops", "file"), CORRECT)
def test_it_passes_in_this_process_and_with_other_values_too(
    loops: Implementations, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forget_import(monkeypatch)
    assert not_passed(loops.profile, file, OTHER_SEED, isolation="none") == {}


@pytest.fixture
def busy_machine() -> Iterator[None]:
    """A process that computes for every core."""
    with ExitStack() as stack:
        for _ in range(os.cpu_count() or 1):
            process = stack.enter_context(subprocess.Popen([sys.executable, "-ISc", BUSY]))
            stack.callback(process.kill)
        yield


# Where nobody waits, nothing is concluded from how long something lasts. In lesson4 nobody ever does.
@pytest.mark.usefixtures("busy_machine")
@pytest.mark.parametrize(("loops", "file"), CORRECT_AG03)
def test_where_it_waits_it_passes_with_other_values_while_others_use_every_core(
    loops: Implementations, file: Path, lean: Lean
) -> None:
    assert lean(not_passed_where_it_waits, loops.profile, file, OTHER_SEED) == {}


def test_loops_wait_where_tools_are_held_or_somebody_is_cancelled() -> None:
    names = {scenario.name for test in with_waiting(chosen("ag03", SEED)) for scenario in test.scenarios}
    assert names > {"six", "one-slot", "open-turn", "cancelled-in-tools", "cancelled-in-reply"}


@pytest.mark.parametrize(("loops", "file"), WRONG)
def test_a_wrong_loop_fails_exactly_what_is_recorded(loops: Implementations, file: Path, lean: Lean) -> None:
    found = lean(seen, loops.profile, file, file.stem in REMEMBER, loops.endless(file))
    assert {verdict: sorted(checks) for verdict, checks in found.items()} == loops.recorded(file), found


@each_profile
def test_every_wrong_loop_has_a_record_and_every_record_a_loop(loops: Implementations) -> None:
    assert loops.without_counterpart() == []


@each_profile
def test_records_are_sorted_lists_of_known_checks(loops: Implementations) -> None:
    assert loops.untidy() == []
