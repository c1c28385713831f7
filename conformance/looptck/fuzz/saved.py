"""Scenarios that were found, kept as files that `looptck replay` and `looptck check --scenarios` take."""

from __future__ import annotations

import json
from tempfile import TemporaryFile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

FOLDER = "looptck.found"
"""Where they are kept when nobody says otherwise."""


def usable(folder: Path) -> None:
    """See before a search that what it finds can be kept. Raises `OSError` where the folder cannot be made or written.

    A folder that was not there is not left behind.
    """
    new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryFile(dir=folder):
        pass
    if new:
        folder.rmdir()


def save(folder: Path, name: str, scenario: Any) -> Path:
    """Write a scenario to the folder, under the name or a numbered one: no file of another is overwritten.

    Raises `OSError` where it cannot be written.
    """
    text = json.dumps(scenario.model_dump(mode="json", exclude_defaults=True), ensure_ascii=True, indent=1) + "\n"
    folder.mkdir(parents=True, exist_ok=True)
    number = 1
    while True:
        file = folder / f"{name}{'' if number == 1 else f'-{number}'}.json"
        try:
            with file.open("x", encoding="utf-8") as new:
                new.write(text)
        except FileExistsError:
            if file.read_text(encoding="utf-8", errors="replace") == text:
                return file
            number += 1
        else:
            return file
