"""What follows from a report, whoever shows it: said once beside the data."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conformance.reports import check, named, reported

from looptck.exit_codes import EXIT_INCOMPLETE
from looptck.report.model import exit_code_of, in_words
from looptck_mutants.outcome import MutantCounts


def test_counts_in_words_leave_out_what_there_is_none_of() -> None:
    some = reported(named(check("a/a"), check("a/b"), check("a/c", "fail"), check("a/d", "incomplete")))
    assert in_words(some.counts) == "2 pass, 1 fail, 1 incomplete"
    assert in_words(reported().counts) == ""
    assert in_words(MutantCounts.model_construct(killed=3, by_others=1, survived=0)) == "3 killed, 1 by others"


def test_the_checks_of_a_report_are_those_of_its_tests_in_order() -> None:
    first, second = named(check("a/a"), check("a/b", "fail")), named(check("b/a"), name="TestBudgetStopsBeforeDispatch")
    whole = reported(first, second)
    assert [one.id for one in whole.checks()] == ["a/a", "a/b", "b/a"]
    assert (first.passed(), second.passed()) == (1, 1)
    assert not {"checks", "passed"} & whole.model_dump(by_alias=True).keys()


@pytest.mark.parametrize(
    ("verdict", "fields", "evaluated", "told_apart"),
    [
        ("fail", {}, True, True),
        ("fail", {"expected": None, "seen": None}, False, False),
        ("fail", {"expected": None, "seen": 0}, True, True),
        ("pass", {"expected": 3, "seen": 3}, True, False),
        ("incomplete", {}, False, False),
    ],
)
def test_a_check_was_evaluated_where_it_shows_what_it_compared(
    verdict: str, fields: dict[str, Any], *, evaluated: bool, told_apart: bool
) -> None:
    made = check("a/a", verdict, **fields)
    assert (made.evaluated(), made.told_apart()) == (evaluated, told_apart)


def test_what_has_no_exit_code_of_its_own_is_incomplete() -> None:
    assert exit_code_of("skip") == EXIT_INCOMPLETE
