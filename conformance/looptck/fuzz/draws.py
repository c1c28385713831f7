"""Choices for one scenario, read from bytes that hypothesis draws at once, and looked up in tables.

Drawing choice by choice was most of what an example cost; and of each example hypothesis made half a dozen variants
with a part of it repeated, so that only one in seven was new. Each part of a scenario reads from a place of its own:
what shrinks in one part means the same in all others. The first entry of each table is the simplest, for zeros are
where shrinking leads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Sequence

T = TypeVar("T")

_BYTE = 256


def drawn(size: int) -> st.SearchStrategy[bytes]:
    """So many bytes: those of one scenario."""
    return st.binary(min_size=size, max_size=size)


class Draws:
    """Reads choices from some bytes, from a place on. Raises `IndexError` behind the last of them."""

    def __init__(self, data: bytes, place: int = 0) -> None:
        self._data, self._place = data, place

    def part(self, place: int) -> Draws:
        """The choices of another part, from its place on."""
        return Draws(self._data, place)

    def number(self, most: int) -> int:
        """A whole number from 0 to `most`, of one byte or, where that is too small, two."""
        number = self._data[self._place]
        self._place += 1
        if most >= _BYTE:
            number += _BYTE * self._data[self._place]
            self._place += 1
        return number % (most + 1)

    def of(self, table: Sequence[T]) -> T:
        """An entry of a table."""
        return table[self.number(len(table) - 1)]

    def each_of(self, *tables: Sequence[Any]) -> tuple[Any, ...]:
        """An entry of each table."""
        return tuple(self.of(table) for table in tables)

    def once_in(self, times: int) -> bool:
        """True once in so many times."""
        return self.number(times - 1) == times - 1
