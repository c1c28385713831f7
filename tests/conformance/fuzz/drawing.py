"""Draws scenarios, as a search does, and does nothing with them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, TypeVar

from hypothesis import HealthCheck, Phase, given, seed, settings

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    import pytest
    from hypothesis.strategies import SearchStrategy

T = TypeVar("T")


def drawn_from(strategy: SearchStrategy[T], many: int, start: int = 1) -> list[T]:
    """So many of a strategy; those of a seed are always the same."""
    found: list[T] = []

    @seed(start)
    @settings(
        max_examples=many,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def each(scenario: T) -> None:
        found.append(scenario)

    each()
    return found


class Read(bytes):
    """Bytes of a scenario that keep which of them were read."""

    def __init__(self, _data: bytes) -> None:
        self.places: list[Any] = []

    def __getitem__(self, place: Any) -> Any:
        self.places.append(place)
        return super().__getitem__(place)


def read_for_two_choices(
    monkeypatch: pytest.MonkeyPatch, module: ModuleType, scenarios: Callable[[], SearchStrategy[object]]
) -> set[Any]:
    """Places of bytes that some scenario of a module is made from twice: shrinking one choice changes another."""
    kept: list[Read] = []

    def keep(data: bytes) -> Read:
        kept.append(Read(data))
        return kept[-1]

    drawn: Callable[[int], SearchStrategy[bytes]] = module.drawn
    monkeypatch.setattr(module, "drawn", lambda size: drawn(size).map(keep))
    assert drawn_from(scenarios(), 400)
    assert all(data.places for data in kept)
    return {place for data in kept for place, times in Counter(data.places).items() if times > 1}
