"""The fuzzer as an item of pytest: it fails where a scenario is found in which the loop is not what was predicted."""

from __future__ import annotations

import io
import time
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any

import pytest

from looptck.fuzz.observing import Here, Observer
from looptck.fuzz.report import report_of
from looptck.fuzz.saved import FOLDER
from looptck.fuzz.search import Found, Search, search
from looptck.fuzz.telling import keep, tell
from looptck.pytest_suite.items import CheckError, NotJudgedError
from looptck.pytest_suite.suite import WIDTH, own_warnings
from looptck.report.text import no_commands, one_line

if TYPE_CHECKING:
    from pathlib import Path

    from looptck.fuzz.report import FuzzReport
    from looptck.pytest_suite.suite import Suite
    from looptck.report.model import Isolation


class FuzzItem(pytest.Item):
    """A search. Made with the keyword `suite`, whose settings tell how many scenarios; what fails is kept in files."""

    def __init__(self, *, suite: Suite, **rest: Any) -> None:
        super().__init__(**rest)
        self.suite = suite
        self.add_marker("looptck_must")

    def setup(self) -> None:
        """Raise where the loop cannot be used at all."""
        if self.suite.description.refused:
            refused = one_line(self.suite.description.refused)
            raise NotJudgedError(refused, refused)

    def runtest(self) -> None:
        """Search, and tell what was found."""
        suite, with_, begun = self.suite, self.suite.settings, time.perf_counter()
        here = suite.isolation == "none"
        plan = Search(with_.seed, with_.fuzz, lacks=frozenset(suite.description.lacks))
        with own_warnings(), closing((Here if here else Observer)(suite.profile, suite.load, with_.limit)) as observing:
            found = Found()
            try:
                search(suite.profile, observing, plan, found=found)
            except KeyboardInterrupt:
                with suppress(NotJudgedError):  # pytest ends here, and tells nothing of an item that it was in
                    self._kept(found)
                raise
        files = self._kept(found)
        report = report_of(suite.name, suite.profile.name, plan, found, files, time.perf_counter() - begun)
        if report.verdict != "pass":
            kind = CheckError if report.verdict == "fail" else NotJudgedError
            raise kind(report.lines()[-1], self._told(report, found))

    def _kept(self, found: Found) -> dict[str, str]:
        """The files of what failed, by what broke. Raises `NotJudgedError` where they cannot be written."""
        try:
            return keep(found, self.suite.profile.name, self.config.rootpath / FOLDER)
        except OSError as error:
            why = f"{FOLDER} beside the ini file cannot be written: {error.strerror}"
            raise NotJudgedError(why, why) from None

    def _told(self, report: FuzzReport, found: Found) -> str:
        from rich.console import Console  # noqa: PLC0415 - only for a failure

        out = io.StringIO()
        isolation: Isolation = "none" if self.suite.isolation == "none" else "fork"
        console = Console(file=out, width=WIDTH, color_system=None)
        tell(console, report, found, self.suite.profile, isolation, self.suite.settings.limit)
        return "\n".join(line.rstrip() for line in no_commands(out.getvalue()).strip().splitlines())

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Where it is from and what it is called at the head of its failure."""
        return self.path, None, self.name
