"""What the tests of the distribution share: the wheel, built once."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.packaging.building import build


@pytest.fixture(scope="session")
def wheel_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout."""
    return build("wheel", tmp_path_factory.mktemp("wheel"))
