"""Adapters for loops that do not meet a contract, by name: entry points of the group `looptck.adapters`.

Each is an adapter, its class, or a function that makes one. Those of the kit lie in this package and need an extra
of its distribution; other distributions add theirs to the same group. Nothing of them is imported here.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import Distribution, entry_points

GROUP = "looptck.adapters"


@dataclass(frozen=True, slots=True)
class Known:
    """Where an adapter is, and what to install where something is missing that it needs."""

    module: str
    attribute: str
    hint: str


def known_adapters() -> dict[str, Known]:
    """The adapters of every distribution that is installed, by name."""
    found = sorted(entry_points(group=GROUP), key=lambda point: point.name)
    return {point.name: Known(point.module, point.attr, _hint(point.name, point.dist)) for point in found}


def _hint(name: str, distribution: Distribution | None) -> str:
    """How to install what an adapter needs, where its distribution has an extra of the same name."""
    if distribution is None or name not in (distribution.metadata.get_all("Provides-Extra") or ()):
        return ""
    return f"pip install '{distribution.name}[{name}]'"
