"""Drawn values: what a check tells apart by its name, id or text is never drawn twice in a place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from looptck.profile import PROFILES
from looptck.suite import tests_of
from looptck.suite.labels import Labels

if TYPE_CHECKING:
    from collections.abc import Iterator

    from looptck.suite.model import Test

TOLD_APART_BY = {"id", "name", "marker", "approvals", "answer", "arguments"}


def test_nothing_by_which_things_are_told_apart_is_drawn_twice() -> None:
    labels = Labels(237, "here")
    drawn = [label for _ in range(100) for label in (labels.tool(), *labels.tools(2), labels.call_id(), labels.text())]
    assert len(set(drawn)) == len(drawn)
    markers = [labels.marker() for _ in range(20_000)]
    assert len(set(markers)) == len(markers)


def test_the_same_seed_and_place_give_the_same_values() -> None:
    first, again, elsewhere = (Labels(1, place).tools(7) for place in ("here", "here", "there"))
    assert first == again != elsewhere


@pytest.mark.parametrize("test", [test for name in PROFILES for test in tests_of(name)], ids=lambda test: test.name)
def test_what_is_the_same_in_a_scenario_does_not_depend_on_the_seed(test: Test) -> None:
    """With the seed 237 a tool that ran and one that was denied had one name, and a correct loop failed."""
    shapes = {shape(test, seed) for seed in (0, *range(200, 260))}
    assert len(shapes) == 1


def shape(test: Test, seed: int) -> tuple[tuple[str, ...], ...]:
    """Which names, ids and texts of each scenario are the same: each as the number of its first occurrence."""
    return tuple(numbered(scenario.model_dump()) for scenario in test.build(Labels(seed, test.name)))


def numbered(data: Any) -> tuple[str, ...]:
    first: dict[str, int] = {}
    return tuple(str(first.setdefault(text, len(first))) for text in texts(data))


def texts(data: Any) -> Iterator[str]:
    if isinstance(data, dict):
        for key, value in data.items():
            yield from ([str(value)] if key in TOLD_APART_BY else texts(value))
    elif isinstance(data, list | tuple):
        for item in data:
            yield from texts(item)
