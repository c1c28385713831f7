"""Cheap draws: whole numbers from hypothesis, looked up in tables whose first entry is the simplest.

Drawing is most of what an example costs, and making a strategy costs more than drawing from it, so each is made once.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

T = TypeVar("T")


class Draws:
    """Draws for one scenario. Shrinking leads to small numbers, so to the first entries of tables."""

    def __init__(self, draw: Callable[[st.SearchStrategy[Any]], Any]) -> None:
        self._draw = draw

    def number(self, most: int) -> int:
        """A whole number from 0 to `most`."""
        number: int = self._draw(_upto(most)) if most else 0
        return number

    def of(self, table: Sequence[T]) -> T:
        """An entry of a table."""
        return table[self.number(len(table) - 1)]

    def each_of(self, *tables: Sequence[Any]) -> tuple[Any, ...]:
        """An entry of each table, with one draw: for what hardly matters apart."""
        size = 1
        for table in tables:
            size *= len(table)
        number, entries = self.number(size - 1), []
        for table in tables:
            number, place = divmod(number, len(table))
            entries.append(table[place])
        return tuple(entries)

    def once_in(self, times: int) -> bool:
        """True once in so many times."""
        return self.number(times - 1) == times - 1


@cache
def _upto(most: int) -> st.SearchStrategy[int]:
    return st.integers(0, most)
