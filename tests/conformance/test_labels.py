"""Drawn values: what a check tells apart by its name, id or text is never drawn twice in a place."""

from __future__ import annotations

from looptck.suite.labels import Labels


def test_nothing_by_which_things_are_told_apart_is_drawn_twice() -> None:
    """With the seed 237 a tool that ran and one that was denied had one name, and a correct loop failed."""
    labels = Labels(237, "here")
    drawn = [label for _ in range(200) for label in (labels.tool(), *labels.tools(2), labels.call_id(), labels.text())]
    assert len(set(drawn)) == len(drawn)
    markers = [labels.marker() for _ in range(20_000)]
    assert len(set(markers)) == len(markers)


def test_the_same_seed_and_place_give_the_same_values() -> None:
    first, again, elsewhere = (Labels(1, place).tools(7) for place in ("here", "here", "there"))
    assert first == again != elsewhere
