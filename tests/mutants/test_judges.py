"""Which check or test is meant for a mutant, and that every report marks the same one."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from tests.mutants.outcomes import found, met, outcome

from looptck_mutants.console import print_matrix
from looptck_mutants.html.view import exhibits_of
from looptck_mutants.judges import is_own
from looptck_mutants.manifest import Killer
from looptck_mutants.outcome import KillerReport, MutantReport, MutantsReport, SuiteReport, SuiteTest
from looptck_mutants.project import reference_project

TEST, CHECK = "test_cap.py::test_it", "max-iter/model-calls"
TESTS = (f"{TEST}[one]", f"{TEST}[two]", f"{TEST}_too")


def meant(test: str, check: str = "", *killed_by: str) -> MutantReport:
    return met(found("ag03", "s01"), killer=KillerReport(test=test, check=check), killed_by=list(killed_by))


def judged(*mutants: MutantReport) -> MutantsReport:
    """A report of somebody's tests."""
    tests = [SuiteTest(id=test, counts=True, reason="", kills=1) for test in TESTS]
    return outcome("ag03", *mutants).model_copy(update={"suite": SuiteReport(path="tests", tests=tests)})


@pytest.mark.parametrize(
    ("test", "check", "judge", "own"),
    [
        ("TestMaxIterStops", CHECK, CHECK, True),
        ("TestMaxIterStops", CHECK, "max-iter/error", False),
        ("TestMaxIterStops", CHECK, "TestMaxIterStops", False),
        (TEST, "", TEST, True),
        (TEST, "", f"{TEST}[one]", True),
        (TEST, "", f"{TEST}_too", False),
        (f"{TEST}[one]", "", f"{TEST}[one]", True),
        (f"{TEST}[one]", "", TEST, False),
        ("", "", "[one]", False),
        ("", "", "", False),
    ],
)
def test_which_judge_is_the_mutants_own(test: str, check: str, judge: str, *, own: bool) -> None:
    assert is_own(meant(test, check), judge) == own
    if test and not check:
        assert Killer(test=test).means(judge) == own


def test_the_matrix_marks_the_cases_of_the_test_that_is_meant() -> None:
    text = io.StringIO()
    print_matrix(Console(file=text, width=140), judged(meant(TEST, "", TESTS[1], TESTS[2])))
    assert text.getvalue().splitlines()[1].split() == ["s01", "·", "1*", "1", "killed"]


def test_the_page_marks_them_too() -> None:
    (shown,) = exhibits_of(judged(meant(TEST, "", TESTS[1], TESTS[2])), reference_project("ag03"), {"files": {}})
    assert [(cell.test, cell.meant, cell.hit) for cell in shown.cells] == [
        (TESTS[0], True, False),
        (TESTS[1], True, True),
        (TESTS[2], False, False),
    ]
