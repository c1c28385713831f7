"""A clock for the limits of children, so that no test waits for one and none is late on a busy machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from looptck import children

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

AGES = 1e6
"""Seconds beyond every deadline."""


class StandingClock:
    """It stands still until a loop makes a file to say that it will not end, and then it jumps.

    The loop has to print something as well: then the parent looks at its clock.
    """

    def __init__(self, file: Path) -> None:
        self.file, self.time = file, 0.0

    def __call__(self) -> float:
        if self.file.exists():
            self.file.unlink()
            self.time += AGES
        return self.time


def stand_still(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Path:
    """Have the parent's clock stand still. Returns the file that a loop makes which will not end."""
    file = folder / "endless"
    monkeypatch.setattr(children, "now", StandingClock(file))
    return file
