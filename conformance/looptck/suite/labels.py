"""Values that a scenario is filled with, drawn from a seed: a loop that memorises one run knows nothing of the next."""

from __future__ import annotations

import json
import random

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
        self._ids: set[str] = set()

    def call_id(self) -> str:
        """A call id that this place has not used."""
        while (drawn := f"call_{self._random.randrange(16**6):06x}") in self._ids:
            continue
        self._ids.add(drawn)
        return drawn

    def tools(self, number: int) -> list[str]:
        """Different tool names."""
        return [f"{name}_{self._random.randrange(100)}" for name in self._random.sample(_TOOLS, number)]

    def tool(self) -> str:
        """A tool name."""
        return self.tools(1)[0]

    def text(self) -> str:
        """A few words, hardly ever the same twice."""
        return " ".join(self._random.choices(_WORDS, k=3)) + f" {self._random.randrange(10_000)}"

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
        return f"approve-{self._random.randrange(16**6):06x}"
