"""Expected beside seen: whether a row differs is decided by the values, not by what is left of them on the page."""

from __future__ import annotations

from looptck.report.beside import Pair, pairs
from looptck.report.text import LONGEST


def test_values_that_differ_only_where_they_are_cut_differ() -> None:
    (pair,) = pairs("~" * LONGEST + "a", "~" * LONGEST + "b")
    assert pair.expected == pair.seen == "~" * LONGEST + "…"
    assert pair.differs


def test_a_number_is_not_its_text() -> None:
    assert pairs({"calls": 1}, {"calls": "1"}) == [Pair("calls", "1", "1", differs=True)]


def test_lists_within_a_mapping_are_told_element_by_element() -> None:
    assert pairs({"runs": ["a", None]}, {"runs": ["a"]}) == [
        Pair("runs 1", "a", "a", differs=False),
        Pair("runs 2", "null", "(nothing)", differs=True),
    ]
