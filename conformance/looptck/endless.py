"""When a loop outlasts the limit in one scenario after the other, not all of the rest is run.

A loop that never gives the kit a turn costs the whole limit and more in every scenario. Three in a row within one test
are enough to know of this test, and two tests in a row to know of the loop. `In a row` means in the order of the suite,
so that what is run and told depends on no timing and on no number of children.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

ENOUGH = 3
"""So many scenarios in a row that outlast the limit, and the rest of their test is not run."""


class Patience:
    """What has become of scenarios so far; it may be handed on from one call to the next, and then they are one suite.

    Behind `ENOUGH` in a row that outlast the limit the rest of their test is not run. Where that has come about in two
    tests in a row, nothing behind is. A test too short for it that outlasts the limit throughout lies between two such
    as if it were not there.
    """

    def __init__(self) -> None:
        self._tests: list[str] = []
        self._names: list[str] = []
        self._late: list[bool | None] = []
        """Whether each scenario outlasted the limit, or was not run for that; None where it is not known."""
        self._over: list[str] = []

    def pass_on(
        self,
        scenarios: Sequence[tuple[str, str]],
        observing: Callable[[int], Generator[tuple[int, Any]]],
        outlasted: Callable[[Any], bool],
        not_run: Callable[[int, list[str]], Any],
    ) -> Generator[tuple[int, Any]]:
        """Pass observations on, each with its place among the `scenarios`, as soon as it is sure that they count.

        A scenario is given by the names of its test and of itself. `observing` observes those from a place on, and
        gives the observations with their places, in any order. It is closed where some of those are not to be run, and
        called again for what comes behind them. A scenario that is not run is observed by `not_run`, which is given its
        place and the names of those that were enough.
        """
        base, total = len(self._tests), len(self._tests) + len(scenarios)
        self._tests += [test for test, _ in scenarios]
        self._names += [name for _, name in scenarios]
        self._late += [None] * len(scenarios)
        begin = base
        try:
            while begin < total:
                skipped, row = self._behind(begin)
                for place in range(begin, skipped):
                    self._late[place] = True
                    yield place - base, not_run(place - base, row)
                begin = skipped
                if begin < total:
                    begin = yield from self._observed(begin, base, observing, outlasted)
        finally:
            for known in (self._tests, self._names, self._late):
                del known[begin:]

    def _observed(
        self,
        begin: int,
        base: int,
        observing: Callable[[int], Generator[tuple[int, Any]]],
        outlasted: Callable[[Any], bool],
    ) -> Generator[tuple[int, Any], None, int]:
        """Pass on those from a place to the end of the first row of `ENOUGH`. Returns that end, or that of all."""
        total, seen = len(self._late), {}
        self._late[begin:] = [None] * (total - begin)
        sure = passed = begin
        with closing(observing(begin - base)) as arriving:
            for number, observation in arriving:
                place = base + number
                seen[place], self._late[place] = observation, outlasted(observation)
                while sure < total and (sure == begin or not self._may_end(sure)):
                    sure += 1  # whatever becomes of the others, no row ends before this one
                for known in sorted(place for place in seen if place < sure):
                    yield known - base, seen.pop(known)
                    passed += 1
                if passed == sure < total and None not in self._late[sure - ENOUGH : sure]:
                    break
        return sure

    def _may_end(self, place: int) -> bool:
        """Whether a row may end before a place, as far as is known."""
        row = self._late[max(self._first(place - 1), place - ENOUGH) : place]
        return len(row) == ENOUGH and False not in row

    def _first(self, place: int) -> int:
        """Where the test of a scenario begins."""
        while place and self._tests[place - 1] == self._tests[place]:
            place -= 1
        return place

    def _behind(self, place: int) -> tuple[int, list[str]]:
        """From a place on, all before which is known: where scenarios are run again, and the names that are why."""
        total = len(self._tests)
        if self._over:
            return total, self._over
        row = self._row(place)
        if not row:
            return place, []
        first = self._first(place - 1)
        while self._passed_over(first):
            first = self._first(first - 1)
        if before := self._row(first):
            self._over = before + row
            return total, self._over
        test = self._tests[place - 1]
        return next((n for n in range(place, total) if self._tests[n] != test), total), row

    def _passed_over(self, end: int) -> bool:
        """Whether a test that ends before a place is too short for a row and outlasted the limit throughout."""
        first = self._first(end - 1) if end else 0
        return 0 < end - first < ENOUGH and False not in self._late[first:end]

    def _row(self, end: int) -> list[str]:
        """The names of the first row in the test whose scenarios end before a place, or none."""
        for place in range(self._first(end - 1) if end else 0, end - ENOUGH + 1):
            if all(self._late[place : place + ENOUGH]):
                return self._names[place : place + ENOUGH]
        return []
