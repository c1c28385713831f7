"""What all tests share: how they are divided among workers, how these are measured, a process that forks cheaply."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.lean import Lean
from tests.measuring import Measured, measured
from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]

if TYPE_CHECKING:
    from collections.abc import Iterator

APART = ("tests/conformance/test_implementations.py",)
"""Files whose tests take long and share nothing: each may go to another worker."""


class ByFile(LoadFileScheduling):  # type: ignore[misc]
    """The tests of a file stay together, for they may share what is made once for all of them."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return nodeid if file in APART else file


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByFile | None:
    """What `--dist loadfile` stands for here."""
    return ByFile(config, log) if config.getoption("dist") == "loadfile" else None


def pytest_addoption(parser: pytest.Parser) -> None:
    """What takes long is done in part, unless it is asked for."""
    parser.addoption("--every-mutant", action="store_true", help="hold every mutant beside the recorded kill matrix")


def pytest_configure(config: pytest.Config) -> None:
    """Where this process runs the tests itself, see to what is measured of it."""
    runs_tests = hasattr(config, "workerinput") or not config.getoption("numprocesses")
    process = measured() if runs_tests else None
    if process is not None:
        config.pluginmanager.register(UnderCoverage(process))


class UnderCoverage:
    """What the measuring has to know of the tests."""

    def __init__(self, process: Measured) -> None:
        self._process = process

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self) -> None:
        self._process.begin()

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        self._process.save()


@pytest.fixture(scope="session")
def lean() -> Iterator[Lean]:
    """A process that forks cheaply."""
    with Lean() as process:
        yield process
