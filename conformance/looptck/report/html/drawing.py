"""A timeline as shapes: where each bar, line and label of the picture stands, in pixels. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from looptck.report.lanes import Bar, Lane, Line, Timeline

LANE, BAR, HEAD, AXIS = 24, 18, 16, 18
"""Heights: of a lane, of a bar in it, of a row of line labels, of the axis."""
_EDGE, _LETTER, _NARROWEST, _SHARE = 6, 6.4, 240, 0.6
_CELLS = ((12, 40), (24, 30), (60, 20), (10_000, 13))
"""Up to so many places, the width of one."""
_SIGNS = {"allow": "✓", "deny": "✕", "need_approval": "?", "raised": "!"}
_TOLD, _TICKS, _TOO_FEW = 200, 10, 3


@dataclass(frozen=True, slots=True)
class Shape:
    """A bar: its box, its classes, the text that fits in it and what it says in full."""

    x: int
    y: int
    width: int
    css: str
    text: str
    told: str


@dataclass(frozen=True, slots=True)
class Mark:
    """A vertical line and its label; `anchor` tells on which side of the line that stands."""

    x: int
    label_y: int
    kind: str
    text: str
    anchor: str


@dataclass(frozen=True, slots=True)
class Label:
    """The name of a lane; `limited` where a limit is drawn below it, `first` where the one above is of another kind."""

    text: str
    y: int
    limited: bool
    first: bool


@dataclass(frozen=True, slots=True)
class Picture:
    """The whole; `bottom` is where the lanes end and the axis begins."""

    width: int
    height: int
    top: int
    bottom: int
    labels: list[Label]
    shapes: list[Shape]
    marks: list[Mark]
    ticks: list[tuple[int, int]]
    grid: str
    told: str
    hidden: int


def drawn(timeline: Timeline) -> Picture:
    """The picture of a timeline."""
    cell = next(width for most, width in _CELLS if timeline.size <= most)
    width = max(timeline.size * cell + 2 * _EDGE, _NARROWEST)
    marks, rows = _marks(timeline.lines, cell, width)
    top = rows * HEAD + 4
    bottom = top + LANE * len(timeline.lanes)
    every = next(step for step in (1, 5, 10, 50) if timeline.size <= _TICKS * step or step == 50)  # noqa: PLR2004 - the last
    return Picture(
        width=width,
        height=bottom + AXIS,
        top=top,
        bottom=bottom,
        labels=[_label(lane, place, timeline.lanes, top) for place, lane in enumerate(timeline.lanes)],
        shapes=[
            _shape(bar, lane, top + LANE * place, cell, timeline.size)
            for place, lane in enumerate(timeline.lanes)
            for bar in lane.bars
        ],
        marks=marks,
        ticks=[(_EDGE + place * cell, place) for place in range(0, timeline.size + 1, every)],
        grid="".join(f"M{_EDGE + place * cell} {top}V{bottom}" for place in range(timeline.size + 1)),
        told=_told(timeline),
        hidden=timeline.hidden,
    )


def _label(lane: Lane, place: int, lanes: Sequence[Lane], top: int) -> Label:
    text = f"{lane.label}, {lane.limit}" if lane.limit else lane.label
    return Label(text, top + LANE * place, bool(lane.limit), place > 0 and lanes[place - 1].kind != lane.kind)


def _shape(bar: Bar, lane: Lane, y: int, cell: int, size: int) -> Shape:
    """A bar; one that never ended reaches the edge, and one in which nothing was asked is narrow."""
    end = size if bar.end is None else bar.end
    width = max((end - bar.start) * cell - 2, 5)
    classes = [lane.kind, bar.mark, "open" if bar.end is None else ""]
    text = _SIGNS.get(bar.text, bar.text) if lane.kind == "gate" else bar.text
    classes.append(bar.text.replace("_", "-") if lane.kind == "gate" else "")
    css = " ".join(name for name in classes if name)
    told = bar.told if len(bar.told) <= _TOLD else bar.told[:_TOLD] + "…"
    return Shape(_EDGE + bar.start * cell + 1, y + (LANE - BAR) // 2, width, css, _fitting(text, width), told)


def _fitting(text: str, width: int) -> str:
    """As much of a text as a bar has room for; nothing where that would be a letter or two of many."""
    room = int((width - 4) / _LETTER)
    if len(text) <= room:
        return text
    return text[: room - 1] + "…" if room > _TOO_FEW else ""


def _marks(lines: Sequence[Line], cell: int, width: int) -> tuple[list[Mark], int]:
    """The lines with their labels in as few rows as keep them apart, and the number of these rows."""
    rows: list[float] = []
    found = []
    for line in sorted(lines, key=lambda line: line.at):
        x = _EDGE + line.at * cell
        length = len(line.text) * _LETTER + 8
        left = x > width * _SHARE or x + length > width
        begin, end = (x - length, float(x)) if left else (float(x), x + length)
        row = next((place for place, taken in enumerate(rows) if taken <= begin), len(rows))
        rows[row : row + 1] = [end]
        found.append(Mark(x, row * HEAD + 12, line.kind, line.text, "end" if left else "start"))
    return found, len(rows)


def _told(timeline: Timeline) -> str:
    """The picture in words."""
    names = {"model": "model calls", "tool": "tool runs", "gate": "gate questions", "step": "steps", "span": "spans"}
    numbers = {kind: sum(len(lane.bars) for lane in timeline.lanes if lane.kind == kind) for kind in names}
    parts = [f"{names[kind]}: {number}" for kind, number in numbers.items() if number]
    most = sum(lane.kind == "tool" for lane in timeline.lanes)
    parts += [f"tools in flight: at most {most}"] if most > 1 else []
    parts += [f"{line.text} at {line.at}" for line in sorted(timeline.lines, key=lambda line: line.at)]
    beyond = timeline.beyond()
    parts += [f"beyond a limit: {beyond}"] if beyond else []
    return "; ".join(parts)
