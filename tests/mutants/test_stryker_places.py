"""Where an entry of Stryker's schema stands: around the changed lines of its hunk, and nothing else."""

from __future__ import annotations

import difflib
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.mutants.patching import FILE
from tests.mutants.replaying import replayed

from looptck_mutants import patchfile, stryker

SOURCE = "one\ntwo\nthree\nfour\nfive\n"


def entries(old: str, new: str, context: int = 3) -> list[dict[str, Any]]:
    lines = difflib.unified_diff(
        old.splitlines(keepends=True), new.splitlines(keepends=True), f"a/{FILE}", f"b/{FILE}", n=context
    )
    text = "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
    (file,) = patchfile.parse(text, "s01.patch").files
    return [stryker._place(hunk, old) for hunk in file.hunks]


def place(new: str, old: str = SOURCE) -> tuple[tuple[int, int], tuple[int, int], str]:
    (entry,) = entries(old, new)
    start, end = (entry["location"][key] for key in ("start", "end"))
    return (start["line"], start["column"]), (end["line"], end["column"]), entry["replacement"]


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        ("one\ntwo\n3\nfour\nfive\n", ((3, 1), (3, 6), "3")),
        ("one\n2\n3\nfour\nfive\n", ((2, 1), (3, 6), "2\n3")),
        ("1\ntwo\nthree\nfour\n5\n", ((1, 1), (5, 5), "1\ntwo\nthree\nfour\n5")),
        ("one\ntwo\n2a\n2b\nthree\nfour\nfive\n", ((2, 4), (2, 4), "\n2a\n2b")),
        ("zero\none\ntwo\nthree\nfour\nfive\n", ((1, 1), (1, 1), "zero\n")),
        ("one\ntwo\nthree\nfour\nfive\nsix\n", ((5, 5), (5, 5), "\nsix")),
        ("one\nfour\nfive\n", ((2, 1), (4, 1), "")),
        ("one\ntwo\nthree\nfour\n", ((5, 1), (6, 1), "")),
    ],
    ids=["line", "lines", "with what is between", "added", "added on top", "added below", "removed", "removed below"],
)
def test_a_place_covers_the_changed_lines(new: str, expected: tuple[tuple[int, int], tuple[int, int], str]) -> None:
    assert place(new) == expected


def test_lines_that_end_in_crlf_keep_their_ending() -> None:
    assert place("one\r\n2\r\n", "one\r\ntwo\r\n") == ((2, 1), (2, 4), "2")
    assert place("one\r\n1a\r\ntwo\r\n", "one\r\ntwo\r\n") == ((1, 4), (1, 4), "\r\n1a")


def test_a_column_counts_units_of_utf_16() -> None:
    assert place("one\ntwo\n", "one\n𝄞!\n") == ((2, 1), (2, 4), "two")


LINE = st.sampled_from(["a", "b", "𝄞", ""])
TEXT = st.lists(LINE, min_size=1, max_size=12).map(lambda lines: "\n".join(lines) + "\n")


@given(old=TEXT, new=TEXT)
@example(old="a\nb", new="a\n")
@example(old="a\nb\n", new="a\nb")
@example(old="a\nb", new="a\nb\n")
@example(old="a\nb", new="a\na\nb")
@example(old="a\nb", new="a")
def test_whatever_a_patch_does_its_places_do(old: str, new: str) -> None:
    if old != new:
        assert replayed(old, entries(old, new, context=1)) == new
