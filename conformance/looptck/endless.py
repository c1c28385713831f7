"""When a loop outlasts the limit in one scenario after the other, the rest of them is not run.

A loop that never gives the kit a turn costs the whole limit and more in every scenario. Three in a row are enough to
know; `in a row` means in the order of the suite, so that what is run and told depends on no timing and on no number of
children.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

ENOUGH = 3
"""So many scenarios in a row that outlast the limit."""


def until_endless(
    arriving: Generator[tuple[int, Any]],
    total: int,
    outlasted: Callable[[Any], bool],
    not_run: Callable[[int, tuple[int, ...]], Any],
) -> Iterator[tuple[int, Any]]:
    """Pass observations on, each with its place among `total` scenarios, as soon as it is sure that they count.

    They come in any order. Once `ENOUGH` in a row have `outlasted` the limit, `arriving` is closed, and each scenario
    behind them is observed by `not_run`, which is given its place and those of the row.
    """
    seen: dict[int, Any] = {}
    fine: list[bool | None] = [None] * total
    sure = passed = 0
    with closing(arriving):
        for place, observation in arriving:
            seen[place], fine[place] = observation, not outlasted(observation)
            while sure < total and (sure < ENOUGH or any(fine[sure - ENOUGH : sure])):
                sure += 1  # whatever becomes of the others, no row ends before this one
            for known in sorted(place for place in seen if place < sure):
                yield known, seen.pop(known)
                passed += 1
            if passed == sure and sure < total and None not in fine[sure - ENOUGH : sure]:
                break
    for place in range(sure, total):
        yield place, not_run(place, tuple(range(sure - ENOUGH, sure)))
