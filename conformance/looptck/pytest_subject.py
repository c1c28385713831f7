"""A pytest plugin with the loop that a suite is run on as fixtures: `pytest -p looptck.pytest_subject`.

Which loop that is, `looptck.subject` tells.
"""

from __future__ import annotations

from typing import Any

import pytest

from looptck import subject


@pytest.fixture(scope="session")
def loop_class() -> Any:
    """The class of the loop."""
    return subject.Agent


@pytest.fixture(scope="session")
def budget_class() -> Any:
    """The class of the meter that stands beside a loop of the profile lesson4."""
    return subject.Budget
