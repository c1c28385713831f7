"""What is measured of processes that fork: a process that runs tests, or forks for them, and few of its children."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from coverage import Coverage

FEW = 2
"""How many of the children that a test forks are measured: the others run the same lines, and each costs a file."""
WAY_IN = "COVERAGE_PROCESS_CONFIG"
"""The variable by which a new interpreter is told to be measured."""

way_in: dict[str, str] = {}
"""That variable, for the environment of those that shall be."""


class Measured:
    """This process, which is measured from its start. Commands that it starts print what they print without that."""

    def __init__(self, measuring: Coverage) -> None:
        self._measuring = measuring
        self._forked = 0
        if WAY_IN in os.environ:
            way_in[WAY_IN] = os.environ.pop(WAY_IN)
        os.register_at_fork(before=self._count, after_in_child=self._leave)

    def begin(self) -> None:
        """The next children are the first again."""
        self._forked = 0

    def save(self) -> None:
        """Write what there is: nothing is lost should this process be slow to end, and be killed for that."""
        self._measuring.save()

    def _count(self) -> None:
        self._forked += 1

    def _leave(self) -> None:
        """In the child: no more tracing and no file, where there are enough already."""
        if self._forked > FEW:
            self._measuring.stop()
            self._measuring.save = lambda: None  # type: ignore[method-assign]


def measured() -> Measured | None:
    """This process, if it is measured."""
    module = sys.modules.get("coverage")
    measuring: Coverage | None = None if module is None else module.Coverage.current()
    return None if measuring is None else Measured(measuring)
