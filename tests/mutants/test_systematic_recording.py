"""The plugin that writes down what failed: an assertion of a test is told from an error, and an earlier run forgotten.

Each of these takes most of a second: pytest is started with the plugin, as mutmut does it.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.mutants.stages import record

from looptck_mutants.systematic.recording import record_file
from looptck_mutants.systematic.results import Recorded, read_recorded
from looptck_mutants.systematic.running import environment
from looptck_mutants.systematic.settings import MUTATED

MUTANT = "fares.x_total__mutmut_1"
TESTS = """\
import unittest
from unittest.mock import Mock

import pytest

from fares import checked


@pytest.fixture
def broken():
    assert False


@pytest.fixture
def breaks_later():
    yield
    assert False


class WrongError(Exception): ...


class TestWhatever(unittest.TestCase):
    failureException = ValueError

    def test_value(self):
        int("x")


class TestCase(unittest.TestCase):
    failureException = WrongError

    def test_own(self):
        self.assertEqual(1, 2)

    def test_parts(self):
        with self.subTest("first"):
            self.assertEqual(1, 2)


def test_passes(): ...


def test_assertion():
    assert False


def test_raises():
    with pytest.raises(ValueError):
        pass


def test_mock():
    Mock().assert_called()


def test_error():
    None + 1


def test_set_up(broken): ...


def test_torn_down(breaks_later):
    assert False


def test_of_the_loop():
    checked(0)


@pytest.mark.xfail
def test_known():
    assert False


@pytest.mark.xfail(strict=True)
def test_no_longer_known(): ...


def test_exits():
    raise SystemExit
"""
LOOP = """\
def checked(rides):
    assert rides
"""


def recorded(stage: Path, conftest: str = "") -> Recorded:
    """What is recorded of these tests in a stage."""
    folder = stage / MUTATED
    (folder / "tests").mkdir(parents=True)
    for name, text in (("fares.py", LOOP), ("tests/test_fares.py", TESTS), ("tests/conftest.py", conftest)):
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    told = {**environment({}, stage, None), "MUTANT_UNDER_TEST": MUTANT}
    options = ["-p", "looptck_mutants.systematic.recording", "-p", "no:cacheprovider", "-q"]
    subprocess.run([sys.executable, "-m", "pytest", *options, "tests"], cwd=folder, env=told, check=False)
    return read_recorded(stage, MUTANT)


@pytest.fixture
def stage(tmp_path: Path) -> Path:
    """A stage with what an earlier run recorded."""
    record(tmp_path, MUTANT, {"earlier": ["fail", ""]})
    return tmp_path


def test_only_what_a_test_itself_asserts_is_a_failure_and_all_else_is_an_error(stage: Path) -> None:
    seen = recorded(stage)
    assert {test.partition("::")[2] for test in seen.failed} == {
        "TestCase::test_own",
        "TestCase::test_parts",
        "test_assertion",
        "test_mock",
        "test_raises",
    }
    assert {test.partition("::")[2]: text.splitlines()[0] for test, text in seen.errors.items()} == {
        "TestWhatever::test_value": "ValueError: invalid literal for int() with base 10: 'x'",
        "test_error": "TypeError: unsupported operand type(s) for +: 'NoneType' and 'int'",
        "test_set_up": "assert False",
        "test_torn_down": "assert False",
        "test_of_the_loop": "AssertionError",
        "test_no_longer_known": "[XPASS(strict)] ",
        "test_exits": "SystemExit",
    }


def test_where_the_tests_do_not_even_begin_nothing_of_an_earlier_run_is_left(stage: Path) -> None:
    assert recorded(stage, conftest="raise ValueError\n") == Recorded()
    assert record_file(stage, MUTANT).exists()
