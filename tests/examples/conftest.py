"""What the tests of the durable runner share."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2] / "examples/durable_runner"


@pytest.fixture(scope="module")
def example() -> Iterator[dict[str, ModuleType]]:
    """The modules of the durable runner, imported as a program beside them would, and forgotten afterwards."""
    names = ("values", "journal", "trip", "crashes")
    sys.path.insert(0, str(FOLDER))
    try:
        yield {name: __import__(name) for name in names}
    finally:
        sys.path.remove(str(FOLDER))
        for name in names:
            sys.modules.pop(name, None)


@pytest.fixture
def journals(example: dict[str, ModuleType], tmp_path: Path) -> Any:
    """Opens the journal of one file, as often as it is asked."""

    @contextmanager
    def opened(*types: type[Any]) -> Iterator[Any]:
        with example["journal"].SqliteJournal(tmp_path / "run.db", *types) as journal:
            yield journal

    return opened
