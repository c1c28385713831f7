"""What all tests share: how they are divided among workers, what of these and of forked children is measured."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import pytest
from tests.lean import Lean
from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coverage import Coverage

APART = ("tests/conformance/test_implementations.py",)
"""Files whose tests take long and share nothing: each may go to another worker."""
MEASURED = 2
"""How many of the children that a test forks are measured: the others run the same lines, and each costs a file."""


class ByFile(LoadFileScheduling):  # type: ignore[misc]
    """The tests of a file stay together, for they may share what is made once for all of them."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return nodeid if file in APART else file


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByFile | None:
    """What `--dist loadfile` stands for here."""
    return ByFile(config, log) if config.getoption("dist") == "loadfile" else None


def pytest_configure(config: pytest.Config) -> None:
    """Where this process runs tests under coverage, see to its children."""
    module = sys.modules.get("coverage")
    measuring = None if module is None else module.Coverage.current()
    if measuring is not None and (hasattr(config, "workerinput") or not config.getoption("numprocesses")):
        config.pluginmanager.register(Measured(measuring))


class Measured:
    """A process that runs tests under coverage."""

    def __init__(self, measuring: Coverage) -> None:
        self._measuring = measuring
        self._forked = 0
        # The way in for workers. A command that a test starts shall print what it prints without coverage.
        os.environ.pop("COVERAGE_PROCESS_CONFIG", None)
        os.register_at_fork(before=self._count, after_in_child=self._leave)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self) -> None:
        """A test begins."""
        self._forked = 0

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        """Nothing is lost should a worker be slow to end, and be killed for that."""
        self._measuring.save()

    def _count(self) -> None:
        self._forked += 1

    def _leave(self) -> None:
        """In the child: no more tracing and no file, where there are enough already."""
        if self._forked > MEASURED:
            self._measuring.stop()
            self._measuring.save = lambda: None  # type: ignore[method-assign]


@pytest.fixture(scope="session")
def lean() -> Iterator[Lean]:
    """A process that forks cheaply."""
    with Lean() as process:
        yield process
