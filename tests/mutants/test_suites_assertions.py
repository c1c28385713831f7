"""What of a suite is an assertion, so that a mutant is killed by it, and what is none.

Slower than others: each starts a dozen runs of pytest, in forked children.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.mutants.grading import graded, mutant, project, reasons, written
from tests.mutants.shelf import ONE_MORE

from looptck_mutants.suites import harness
from looptck_mutants.suites.forking import Zygotes


@pytest.fixture(scope="module")
def zygotes() -> Iterator[Zygotes]:
    with Zygotes([], 2) as zygotes:
        yield zygotes


ENDS = {
    "error": "raise KeyError('wrong')",
    "system_exit": "raise SystemExit(1)",
    "leaves": "os._exit(1)",
    "never_ends": "signal.pause()",
    "ends_its_parent": "os.killpg(os.getpgid(os.getppid()), 9)",
    "stops_its_parent": "os.kill(os.getppid(), signal.SIGSTOP)",
    "in_the_loop": "loop_class.refuse()",
    "in_the_contract": "asserts_in(looptck.contract.ag03)",
    "in_a_fake": "asserts_in(looptck_fakes)",
    "in_the_standard_library": "threading.Thread(group=1)",
}
"""What a test does that finds the cap to be passed, in place of an assertion."""
ASSERTS_ELSEWHERE = """
import json, os, signal, threading, unittest
import looptck.contract.ag03, looptck_fakes
from helpers import model_calls
from looptck.subject import Agent


def asserts_in(module):
    exec(compile("assert False", module.__file__, "exec"))


"""
FAILURES_OF_NOBODY = """

class TestDecoding(unittest.TestCase):
    failureException = json.JSONDecodeError

    def test_it(self):
        if model_calls(Agent) != 2:
            json.loads("")


class TestAnything(unittest.TestCase):
    failureException = Exception

    def test_it(self):
        if model_calls(Agent) != 2:
            raise KeyError
"""


def test_only_an_assertion_of_the_test_itself_is_a_kill(
    zygotes: Zygotes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(harness, "_LIMIT_AT_LEAST", 1.0)
    monkeypatch.setattr(harness, "_EXPECTED", 1)
    tests = [
        f"def test_{name}(loop_class):\n    if model_calls(loop_class) != 2:\n        {what}\n"
        for name, what in ENDS.items()
    ]
    text = "\n".join([ASSERTS_ELSEWHERE, *tests, FAILURES_OF_NOBODY])
    one_more = """
    class OneMore(Agent):
        def __init__(self, *seams, max_iter=8, **options):
            super().__init__(*seams, max_iter=max_iter + 1, **options)

        @staticmethod
        def refuse():
            raise AssertionError


    Agent = OneMore
    """
    suite = written(tmp_path / "suite", test_ends=text)
    report = graded(suite, project(tmp_path / "patches", more=one_more), zygotes, tmp_path / "copy")
    (more,) = report.mutants
    assert set(reasons(report).values()) == {""}
    assert (more.verdict, more.killed_by) == ("timeout", [])
    assert more.message == "test_ends.py::test_leaves ended its process"
    assert report.exit_code() == 1


ASSERTIONS = """
import unittest
from unittest import mock

import helpers, pytest
from looptck.subject import Agent


class NotSo(Exception):
    pass


class Wrong(AssertionError):
    pass


def check_calls(count):
    assert count == 2


def test_in_a_helper():
    check_calls(helpers.model_calls(Agent))


def test_of_pytest():
    if helpers.model_calls(Agent) != 2:
        pytest.fail("no")


def test_raises():
    with pytest.raises(ZeroDivisionError):
        1 / (helpers.model_calls(Agent) - 2)


def test_of_a_mock():
    mocked = mock.Mock()
    mocked(helpers.model_calls(Agent))
    mocked.assert_called_with(2)


def test_of_a_kind_of_its_own():
    if helpers.model_calls(Agent) != 2:
        raise Wrong


class TestIt(unittest.TestCase):
    def test_equal(self):
        self.assertEqual(helpers.model_calls(Agent), 2)


class TestOwn(unittest.TestCase):
    failureException = NotSo

    def test_fails(self):
        if helpers.model_calls(Agent) != 2:
            self.fail("no")

    def test_raises(self):
        if helpers.model_calls(Agent) != 2:
            raise NotSo
"""


def test_an_assertion_of_the_suite_of_unittest_or_of_pytest_is_a_kill(zygotes: Zygotes, tmp_path: Path) -> None:
    suite = written(tmp_path / "suite", test_it=ASSERTIONS)
    of = project(tmp_path / "patches", more=ONE_MORE)
    report = graded(suite, of, zygotes, tmp_path / "copy")
    assert sorted(mutant(report, "more").killed_by) == sorted(f"test_it.py::{each}" for each in BY_ASSERTION)
    assert report.exit_code() == 0


BY_ASSERTION = (
    "test_in_a_helper",
    "test_of_pytest",
    "test_raises",
    "test_of_a_mock",
    "test_of_a_kind_of_its_own",
    "TestIt::test_equal",
    "TestOwn::test_fails",
    "TestOwn::test_raises",
)
