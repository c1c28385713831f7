"""The examples of lesson 4 do what they are for: the exercise holds, and the student's loop passes the profile."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.conformance.implementations_harness import OTHER_SEED, not_passed

from looptck_reference import metered

EXAMPLES = Path(__file__).parents[2] / "examples"
EXERCISE = EXAMPLES / "exercise4.py"
STUCK = "Stopped: repeated the same search call 3 times without progress."


def test_the_exercise_holds_and_says_how_each_run_ended() -> None:
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, str(EXERCISE)], env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "runaway: step_budget_exhausted after 6 steps. Stopped: reached the 6-step limit without an answer.",
        f"stuck: repeated_identical_call after 3 steps. {STUCK}",
    ]


def test_the_exercise_is_two_runs_and_four_assertions() -> None:
    lines = [line.strip() for line in EXERCISE.read_text(encoding="utf-8").splitlines()]
    assert sum(line.startswith("assert ") for line in lines) == 4
    assert sum(").run(" in line for line in lines) == 2


@pytest.mark.parametrize("change", [{"max_steps": 7}, {"max_steps": 5}, {"repeat_limit": 99}])
def test_it_fails_where_a_ceiling_does_not_hold(change: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    budget = metered.Budget
    monkeypatch.setattr(metered, "Budget", lambda **limits: budget(**limits | change))
    with pytest.raises(AssertionError):
        runpy.run_path(str(EXERCISE), run_name="__main__")


def test_the_loop_of_the_examples_passes_every_check() -> None:
    assert not_passed("lesson4", EXAMPLES / "my_metered_loop.py", OTHER_SEED) == {}
