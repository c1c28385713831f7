"""A loop that outlasts the limit in a row: what is still run and told, and that no order of arrival changes it."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from functools import partial
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from looptck.endless import Patience

LATE, FINE = "late", "fine"
Order = Callable[[int, int], Sequence[int]]
"""In which order the places from one on, and before another, arrive."""


def in_order(first: int, total: int) -> Sequence[int]:
    return range(first, total)


class Calls:
    """Passes observations on. Each word is a test; `L` stands for a scenario of it that outlasts the limit."""

    def __init__(self, order: Order = in_order) -> None:
        self.order, self.patience = order, Patience()
        self.taken: list[str] = []

    def told(self, words: str, number: int = 0) -> list[str]:
        """One call. Each scenario is called by the numbers of its test and of itself in this, and told in order.

        `number` is that of the first test.
        """
        tests = words.split()
        names = [
            (str(number + n), f"{number + n}{place}") for n, test in enumerate(tests) for place in range(len(test))
        ]
        late = "".join(tests)

        def observing(first: int) -> Generator[tuple[int, Any]]:
            for place in self.order(first, len(late)):
                self.taken.append(names[place][1])
                yield place, LATE if late[place] == "L" else FINE

        def not_run(_place: int, row: Sequence[str]) -> str:
            return f"not run ({' '.join(row)})"

        passing = self.patience.pass_on(names, observing, lambda seen: seen == LATE, not_run)
        told = sorted(passing)
        assert [place for place, _ in told] == list(range(len(late)))
        return [f"{names[place][1]} {what}" for place, what in told]


def ran(told: Sequence[str]) -> str:
    return " ".join(line.split()[0] for line in told if "not run" not in line)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (".... ....", "00 01 02 03 10 11 12 13"),
        ("LLL.. ...", "00 01 02 10 11 12"),
        (".LLL..L ...", "00 01 02 03 10 11 12"),
        ("LL.LL.LL", "00 01 02 03 04 05 06 07"),
        (".LL LL.", "00 01 02 10 11 12"),
        ("LLL. LLL. ....", "00 01 02 10 11 12"),
        ("LLL ..LLL. ....", "00 01 02 10 11 12 13 14"),
        ("LLL. LL.LL LLL. ....", "00 01 02 10 11 12 13 14 20 21 22 30 31 32 33"),
        ("LLL. LL LLL. L. ....", "00 01 02 10 11 20 21 22"),
        ("LLL. L. LLL. ....", "00 01 02 10 11 20 21 22 30 31 32 33"),
        ("L LL L LLL. LL L LLL. . ....", "00 10 11 20 30 31 32 40 41 50 60 61 62"),
        ("LL LL LL ..", "00 01 10 11 20 21 30 31"),
        ("LLL", "00 01 02"),
        ("L", "00"),
    ],
)
def test_the_rest_of_a_test_is_not_run_behind_three_in_a_row_and_nothing_behind_two_such(
    words: str, expected: str
) -> None:
    calls = Calls()
    assert ran(calls.told(words)) == expected
    assert " ".join(calls.taken) == expected, "what is not run is not asked for"


def test_what_is_not_run_is_told_with_those_that_were_enough() -> None:
    assert [line for line in Calls().told("LLLL. .LLL. ..") if "not run" in line] == [
        "03 not run (00 01 02)",
        "04 not run (00 01 02)",
        "14 not run (00 01 02 11 12 13)",
        "20 not run (00 01 02 11 12 13)",
        "21 not run (00 01 02 11 12 13)",
    ]


WORDS = ["LLL.L .", ".LLL. .", "L.LLL", "LL.LL", "LLL LLL", "LLL. L", "L LLL. L", "LLL L.L"]


@pytest.mark.parametrize("words", WORDS)
def test_no_order_of_arrival_changes_what_is_told(words: str) -> None:
    expected = Calls().told(words)
    total = len(words.replace(" ", ""))
    for order in permutations(range(total)):
        assert Calls(partial(behind, order)).told(words) == expected


def behind(order: Sequence[int], first: int, _total: int) -> Sequence[int]:
    return [place for place in order if place >= first]


@settings(deadline=None)
@given(st.data(), st.lists(st.text("L.", min_size=1, max_size=6), min_size=1, max_size=8).map(" ".join))
def test_several_calls_in_any_order_of_arrival_tell_what_one_does(data: Any, words: str) -> None:
    expected = Calls().told(words)
    calls = Calls(lambda first, total: data.draw(st.permutations(range(first, total))))
    assert [line for n, word in enumerate(words.split()) for line in calls.told(word, n)] == expected
    assert Calls(lambda first, total: data.draw(st.permutations(range(first, total)))).told(words) == expected


def test_a_row_may_lie_in_several_calls() -> None:
    calls = Calls()
    told = [ran(calls.told(word)) for word in ("LL", ".", "L", "LL", "..", ".")]
    assert told == ["00 01", "00", "00", "00 01", "", ""]


def test_once_nothing_is_run_nothing_is_in_any_later_call() -> None:
    calls = Calls()
    assert [ran(calls.told(word, n)) for n, word in enumerate(["LLL.", "LLL", ".", "....", "L"])] == [
        "00 01 02",
        "10 11 12",
        "",
        "",
        "",
    ]


def test_a_call_that_is_broken_off_leaves_only_what_was_sure() -> None:
    patience = Patience()

    def breaks(_first: int) -> Generator[tuple[int, Any]]:
        yield 1, LATE
        yield 2, LATE
        raise LookupError

    names = [("test", str(n)) for n in range(3)]
    with pytest.raises(LookupError):
        list(patience.pass_on(names, breaks, lambda seen: seen == LATE, lambda *_: "not run"))
    passing = patience.pass_on(names, lambda _: (pair for pair in enumerate("abc")), lambda _: False, lambda *_: "no")
    assert list(passing) == [(0, "a"), (1, "b"), (2, "c")]


def test_one_that_is_late_holds_nobody_up() -> None:
    def arriving(_first: int) -> Generator[tuple[int, Any]]:
        yield 1, FINE
        yield 2, FINE
        yield 4, LATE
        raise AssertionError

    names = [*[("one", str(n)) for n in range(4)], *[("other", str(n)) for n in range(2)]]
    passing = Patience().pass_on(names, arriving, lambda seen: seen == LATE, lambda *_: "")
    assert [next(passing), next(passing), next(passing)] == [(1, FINE), (2, FINE), (4, LATE)]
