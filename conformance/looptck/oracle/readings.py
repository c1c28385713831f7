"""Where the specification is silent, every reading counts: explores what follows from each. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

T = TypeVar("T")

MOST = 4096
"""Combinations of readings that are followed for one run: twelve open questions with two answers each.

Drawn scenarios have a few hundred at most (of 10,000 from seed 1 as `tests/conformance/fuzz/drawing.py` draws them one
had 341), the suites' 12; one of somebody's own may have more.
"""


class TooOpenError(Exception):
    """More combinations than are followed, and none of those explains the run: nothing can be said of it."""

    def __init__(self) -> None:
        super().__init__(f"what is left open allows more than {MOST} runs, and this is none of the first {MOST}")


class Readings:
    """One way through the open questions. Asking about a record again gives the answer that was given before.

    `chosen` maps the ids of requirement records to the readings taken; the first is the reference loop's own.
    """

    def __init__(self, path: tuple[int, ...] = ()) -> None:
        self._path = path
        self._taken: list[tuple[int, int]] = []
        self.chosen: dict[str, Any] = {}

    def of(self, record: str, *options: T) -> T:
        """The reading of a record, one of the options."""
        if record not in self.chosen:
            place = len(self._taken)
            number = self._path[place] if place < len(self._path) else 0
            self._taken.append((number, len(options)))
            self.chosen[record] = options[number]
        taken: T = self.chosen[record]
        return taken

    def following(self) -> tuple[int, ...] | None:
        """The path behind this one, in the order of a search that goes deep first; None behind the last."""
        taken = list(self._taken)
        while taken:
            number, options = taken.pop()
            if number + 1 < options:
                return (*(number for number, _ in taken), number + 1)
        return None


def under_all_readings(make: Callable[[Readings], T]) -> Iterator[T]:
    """What `make` gives under each combination of readings that it asks for, those of the reference loop first.

    Raises `TooOpenError` behind the last that is followed where there are more.
    """
    path: tuple[int, ...] | None = ()
    for _ in range(MOST):
        if path is None:
            return
        readings = Readings(path)
        yield make(readings)
        path = readings.following()
    if path is not None:
        raise TooOpenError
