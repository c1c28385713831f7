"""A timeline: what happened in a run, as bars in lanes over the order of what was asked; the same for both profiles.

A place is a number of happenings: the bar of what came first of all begins at 0 and ends at 1 if nothing else happened
meanwhile. No clock is involved.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Kind: TypeAlias = Literal["run", "model", "gate", "tool", "step", "span"]
Mark: TypeAlias = Literal["", "beyond", "broken"]
LONGEST = 300
"""Places that a timeline shows at most: a loop that asks for ever would fill any page."""


@dataclass(frozen=True, slots=True)
class Bar:
    """Something that lasted from one place to another. `end` is None where it never ended.

    `mark` is `beyond` where a limit should have prevented it, and `broken` where it was ended by an error, a refusal or
    a cancellation. `text` names it in a word, `told` says it in full.
    """

    start: int
    end: int | None
    text: str
    told: str
    mark: Mark = ""


@dataclass(frozen=True, slots=True)
class Lane:
    """Bars that do not overlap. `limit` is the text of a line below the lane that no bar should stand under."""

    kind: Kind
    label: str
    bars: tuple[Bar, ...]
    limit: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """A place that matters to all lanes: where a cap or a budget is reached, or where a run has its end."""

    at: int
    kind: Literal["cap", "budget", "end"]
    text: str


@dataclass(frozen=True, slots=True)
class Timeline:
    """The lanes from top to bottom and the lines across them. `size` is the number of places, `hidden` of those cut."""

    size: int
    lanes: tuple[Lane, ...]
    lines: tuple[Line, ...]
    hidden: int = 0

    def beyond(self) -> int:
        """How many bars a limit should have prevented."""
        return sum(bar.mark == "beyond" for lane in self.lanes for bar in lane.bars)


def lanes_of(kind: Kind, label: str, bars: Iterable[Bar], limit: int | None = None) -> list[Lane]:
    """As few lanes as keep the bars apart, each bar in the first that is free when it begins.

    With a limit, a bar in a lane below it is beyond: when it began, so many others were under way.
    """
    lanes: list[list[Bar]] = []
    for bar in sorted(bars, key=lambda bar: bar.start):
        free = next((place for place, lane in enumerate(lanes) if _over(lane[-1], bar.start)), len(lanes))
        if free == len(lanes):
            lanes.append([])
        late = limit is not None and free >= limit
        lanes[free].append(replace(bar, mark="beyond") if late else bar)
    return [
        Lane(
            kind,
            label if len(lanes) == 1 else f"{label} {place}",
            tuple(lane),
            f"limit {limit}" if place == limit else "",
        )
        for place, lane in enumerate(lanes, 1)
    ]


def _over(bar: Bar, place: int) -> bool:
    return bar.end is not None and max(bar.end, bar.start + 1) <= place


def cut(size: int, lanes: Sequence[Lane], lines: Sequence[Line]) -> Timeline:
    """The timeline of so many places, of which the first `LONGEST` are kept."""
    if size <= LONGEST:
        return Timeline(size, tuple(lanes), tuple(lines))
    kept = [
        replace(lane, bars=tuple(_cut(bar) for bar in lane.bars if bar.start < LONGEST))
        for lane in lanes
        if any(bar.start < LONGEST for bar in lane.bars)
    ]
    return Timeline(LONGEST, tuple(kept), tuple(line for line in lines if line.at <= LONGEST), size - LONGEST)


def _cut(bar: Bar) -> Bar:
    return bar if bar.end is None or bar.end <= LONGEST else replace(bar, end=None)
