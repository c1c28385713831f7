"""A tracer of the profile lesson4 that also notes how much had been asked of the fakes when a span began and ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from looptck.lesson4.observation import SpanSeen
from looptck.observe.normal import plain, text
from looptck_fakes.lesson4 import FakeSpan

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(slots=True)
class _Placed(FakeSpan):
    """A span with its places; `position` tells the present one."""

    position: Callable[[], int] = int
    began: int = 0
    finished: int | None = None

    def __exit__(self, *_: object) -> None:
        self.ended = True
        self.finished = self.position()


class SpanLog:
    """Keeps the spans of a scenario in the order they were opened. `position` is the present place of `SpanSeen`."""

    def __init__(self, position: Callable[[], int]) -> None:
        self._position = position
        self._spans: list[_Placed] = []

    def span(self, name: str) -> FakeSpan:
        """Open a span, as `looptck.contract.lesson4.Tracer`."""
        opened = _Placed(name, position=self._position, began=self._position())
        self._spans.append(opened)
        return opened

    def seen(self) -> tuple[SpanSeen, ...]:
        """Every span so far."""
        return tuple(
            SpanSeen(text(span.name), plain(span.attributes), span.ended, span.began, span.finished)
            for span in self._spans
        )
