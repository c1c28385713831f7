"""Values that a scenario is filled with, drawn from a seed: a loop that memorises one run knows nothing of the next.

Names, texts, ids and markers come once in a place: what a check tells apart by them is different.
"""

from __future__ import annotations

import json
import random
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_TOOLS = ("get_weather", "find_flights", "read_page", "list_files", "convert_money", "look_up", "send_note")
_WORDS = (
    "amber",
    "birch",
    "cobalt",
    "delta",
    "ember",
    "fjord",
    "garnet",
    "harbor",
    "indigo",
    "juniper",
    "krill",
    "lumen",
)


class Labels:
    """Draws ids, names, texts and token counts. The same seed and place give the same values."""

    def __init__(self, seed: int, place: str) -> None:
        self._random = random.Random(f"{seed}/{place}")
        self._drawn: set[str] = set()

    def _once(self, draw: Callable[[], str]) -> str:
        """What this place has not drawn before."""
        while (drawn := draw()) in self._drawn:
            continue
        self._drawn.add(drawn)
        return drawn

    def call_id(self) -> str:
        """A call id."""
        return self._once(lambda: f"call_{self._random.randrange(16**6):06x}")

    def tools(self, number: int) -> list[str]:
        """Tool names, at most seven, of different kinds."""
        names = self._random.sample(_TOOLS, number)
        return [self._once(partial(self._numbered, name)) for name in names]

    def _numbered(self, name: str) -> str:
        return f"{name}_{self._random.randrange(100)}"

    def tool(self) -> str:
        """A tool name."""
        return self.tools(1)[0]

    def text(self) -> str:
        """A few words and a number."""
        return self._once(lambda: " ".join((*self._random.choices(_WORDS, k=3), str(self._random.randrange(10_000)))))

    def pieces(self) -> tuple[str, ...]:
        """A text in the pieces that it is streamed in."""
        words = self.text().split()
        return (*(word + " " for word in words[:-1]), words[-1] + ".")

    def arguments(self) -> str:
        """Arguments as JSON text, spaced in a way that re-encoding would change."""
        return json.dumps({"q": self.text(), "n": self._random.randrange(100)}, separators=(" , ", ": "))

    def number(self, low: int, high: int) -> int:
        """A whole number from low to high, both included."""
        return self._random.randint(low, high)

    def marker(self) -> str:
        """An approval marker."""
        return self._once(lambda: f"approve-{self._random.randrange(16**6):06x}")
