"""A loop that outlasts the limit three times in a row: what is still told, and that no order of arrival changes it."""

from __future__ import annotations

from collections.abc import Generator
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from looptck.endless import ENOUGH, until_endless

LATE, FINE = "late", "fine"


def told(observations: str, order: list[int], taken: list[int] | None = None) -> list[tuple[int, str]]:
    """What comes out, where `L` stands for a scenario that outlasts the limit; `taken` is what was asked for."""

    def arriving() -> Generator[tuple[int, Any]]:
        for place in order:
            if taken is not None:
                taken.append(place)
            yield place, LATE if observations[place] == "L" else FINE

    def not_run(_place: int, row: tuple[int, ...]) -> str:
        return f"not run: {row}"

    return list(until_endless(arriving(), len(observations), lambda seen: seen == LATE, not_run))


@pytest.mark.parametrize(
    ("observations", "ran"),
    [("LLL..", 3), (".LLL..", 4), ("L.LL.LLLL", 8), ("LL.LL.LL", 8), ("....", 4), ("LLL", 3), ("..LLL", 5), ("L", 1)],
)
def test_behind_three_in_a_row_nothing_is_run(observations: str, ran: int) -> None:
    seen = dict(told(observations, list(range(len(observations)))))
    assert [place for place in seen if not seen[place].startswith("not run")] == list(range(ran))
    assert {seen[place] for place in range(ran, len(seen))} <= {f"not run: {tuple(range(ran - ENOUGH, ran))}"}


def test_what_is_behind_is_not_asked_for() -> None:
    taken: list[int] = []
    told("LLL......", list(range(9)), taken)
    assert taken == [0, 1, 2]


def test_a_row_that_comes_late_waits_for_those_before_it() -> None:
    assert dict(told(".LLL..", [1, 2, 3, 4, 0, 5])) == dict(told(".LLL..", [0, 1, 2, 3, 4, 5]))


@pytest.mark.parametrize("observations", ["LLL.L", ".LLL.", "L.LLL", "LL.LL"])
def test_no_order_of_arrival_changes_what_is_told(observations: str) -> None:
    expected = sorted(told(observations, list(range(5))))
    assert all(sorted(told(observations, list(order))) == expected for order in permutations(range(5)))


@given(st.data(), st.text("L.", min_size=1, max_size=30))
def test_each_scenario_is_told_once_in_any_order(data: Any, observations: str) -> None:
    order = data.draw(st.permutations(range(len(observations))))
    seen = told(observations, order)
    assert sorted(place for place, _ in seen) == list(range(len(observations)))
    assert sorted(seen) == sorted(told(observations, sorted(order)))


def test_one_that_is_late_holds_nobody_up() -> None:
    def arriving() -> Generator[tuple[int, Any]]:
        yield 1, FINE
        yield 2, FINE
        raise AssertionError

    passing = until_endless(arriving(), 4, lambda seen: seen == LATE, lambda _place, _row: "")
    assert [next(passing), next(passing)] == [(1, FINE), (2, FINE)]
