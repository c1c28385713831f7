"""A clock for the limits of children, so that no test waits for one and none is late on a busy machine."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from looptck import children

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

AGES = 1e6
"""Seconds beyond every deadline."""


class StandingClock:
    """It stands still, until a loop that will not end writes its process id to a file. While that is there, it races.

    The loop has to print something then: so the parent looks at its clock.
    """

    def __init__(self, file: Path) -> None:
        self.file, self.time = file, 0.0

    def __call__(self) -> float:
        if self._stays():
            self.time += AGES
        return self.time

    def _stays(self) -> bool:
        try:
            os.kill(int(self.file.read_text(encoding="utf-8")), 0)
        except (FileNotFoundError, ValueError, ProcessLookupError):  # nobody, not yet, no longer
            return False
        return True


def stand_still(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Path:
    """Have the parent's clock stand still. Returns the file for the process id of a loop that will not end."""
    file = folder / "endless"
    monkeypatch.setattr(children, "now", StandingClock(file))
    return file
