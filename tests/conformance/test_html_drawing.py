"""A timeline in pixels: bars where they belong, texts that fit, labels that do not cover each other."""

from __future__ import annotations

from itertools import pairwise

import pytest
from tests.conformance.timelines import ANSWERS, LOOKS, drawn, scenario

from looptck.report.html.drawing import BAR, LANE, Mark, Picture
from looptck.report.html.drawing import drawn as picture_of
from looptck.report.lanes import Bar, Lane, Line, Timeline, lanes_of

LETTER = 6.4


def one_lane(*bars: Bar, size: int = 10, lines: tuple[Line, ...] = (), kind: str = "tool") -> Picture:
    lane = Lane("gate" if kind == "gate" else "tool", kind, bars)
    return picture_of(Timeline(size, (lane,), lines))


def extent(mark: Mark) -> tuple[float, float]:
    length = len(mark.text) * LETTER
    return (mark.x - length, float(mark.x)) if mark.anchor == "end" else (float(mark.x), mark.x + length)


# lanes


def test_bars_that_overlap_have_lanes_of_their_own_and_a_free_lane_is_used_again() -> None:
    bars = [Bar(0, 4, "a", ""), Bar(1, 2, "b", ""), Bar(2, 3, "c", ""), Bar(5, None, "d", ""), Bar(9, 10, "e", "")]
    lanes = lanes_of("tool", "tool", bars, limit=1)
    assert [(lane.label, [bar.text for bar in lane.bars], lane.limit) for lane in lanes] == [
        ("tool 1", ["a", "d"], "limit 1"),
        ("tool 2", ["b", "c", "e"], ""),
    ]
    assert [bar.mark for lane in lanes for bar in lane.bars] == ["", "", "beyond", "beyond", "beyond"]


def test_what_took_no_place_still_has_one_of_its_own() -> None:
    lanes = lanes_of("span", "spans", [Bar(2, 2, "a", ""), Bar(2, 2, "b", "")])
    assert [[bar.text for bar in lane.bars] for lane in lanes] == [["a"], ["b"]]


# bars


def test_bars_stand_side_by_side_in_the_lane_of_theirs() -> None:
    picture = picture_of(drawn(scenario(LOOKS, ANSWERS)))
    models = [shape for shape in picture.shapes if shape.css.startswith("model")]
    (tool,) = (shape for shape in picture.shapes if shape.css.startswith("tool"))
    assert models[0].x + models[0].width < tool.x
    assert tool.x + tool.width < models[1].x
    assert tool.y == models[0].y + LANE
    assert all(picture.top <= shape.y <= shape.y + BAR <= picture.bottom for shape in picture.shapes)
    assert all(0 <= shape.x <= shape.x + shape.width <= picture.width for shape in picture.shapes)


@pytest.mark.parametrize("size", [1, 12, 13, 24, 25, 60, 61, 300])
def test_every_text_fits_in_its_bar_and_every_bar_in_the_picture(size: int) -> None:
    bars = [Bar(place, place + 1, "a_name_that_is_long", "") for place in range(size)]
    picture = one_lane(*bars, size=size)
    assert all(len(shape.text) * LETTER <= shape.width for shape in picture.shapes)
    assert max(shape.x + shape.width for shape in picture.shapes) <= picture.width
    assert picture.ticks[0][1] == 0
    assert len(picture.ticks) <= 12
    assert picture.grid.count("M") == size + 1


def test_a_long_text_is_clipped_in_the_bar_and_told_beside_it() -> None:
    (shape,) = one_lane(Bar(0, 3, "a_name_that_is_long_" * 2, "told " * 100)).shapes
    assert shape.text.startswith("a_name_that_is")
    assert shape.text.endswith("…")
    assert (len(shape.told), shape.told[-1]) == (201, "…")


def test_a_bar_that_never_ended_reaches_the_edge_and_one_without_a_place_is_a_sliver() -> None:
    never, sliver = one_lane(Bar(2, None, "a", ""), Bar(1, 1, "b", "")).shapes
    assert (never.css, sliver.css) == ("tool open", "tool")
    assert never.x + never.width > 300
    assert 0 < sliver.width < 10
    assert sliver.text == ""


def test_marks_are_classes_and_verdicts_are_signs() -> None:
    beyond, broken = one_lane(Bar(0, 1, "a", "", "beyond"), Bar(1, 2, "b", "", "broken")).shapes
    assert (beyond.css, broken.css) == ("tool beyond", "tool broken")
    asked = one_lane(*(Bar(n, n + 1, v, "") for n, v in enumerate(("allow", "deny", "need_approval"))), kind="gate")
    assert [(shape.css, shape.text) for shape in asked.shapes] == [
        ("gate allow", "✓"),
        ("gate deny", "✕"),
        ("gate need-approval", "?"),
    ]


# lines


@pytest.mark.parametrize("size", [1, 5, 40])
def test_labels_of_lines_stay_in_the_picture_and_off_each_other(size: int) -> None:
    lines = tuple(Line(place, "cap", f"tokens: {place}000 > 100") for place in range(size + 1))
    picture = one_lane(Bar(0, size, "a", ""), size=size, lines=lines)
    extents = [(mark.label_y, *extent(mark)) for mark in picture.marks]
    assert all(left >= 0 and right <= picture.width for _, left, right in extents)
    assert all(row < picture.top for row, _, _ in extents)
    for (row, _, right), (following, left, _) in pairwise(sorted(extents)):
        assert row != following or right <= left


def test_the_picture_is_told_in_words() -> None:
    picture = picture_of(drawn(scenario(LOOKS, ANSWERS)))
    assert picture.told == "model calls: 2; tool runs: 1; spans: 4; end of the run at 6"
