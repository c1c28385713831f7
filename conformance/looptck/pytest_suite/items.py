"""A check as an item of pytest, and what becomes of its verdict.

pass is passed; a failure that decides is failed, one that does not (a `should`, a known failure, news) is xfailed; skip
is skipped. What could not be judged is an error in the setup, where observing takes place, unless it is known or news;
a target that cannot be used is one at every item. A known failure that does not fail is failed.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Any

import pytest

from looptck.report.excuses import why_excused
from looptck.report.text import one_line
from looptck.requirements import requirements

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from looptck.pytest_suite.suite import Judgement, Suite
    from looptck.suite.model import Check, Finding, Test

FUZZED = "test_fuzzed[fuzz/as-predicted]"
"""The name of the item that searches."""
MARKERS = {
    "looptck(test, section, level)": "a check of an agent loop, by its test, the section and whether it is a must",
    "looptck_must": "a check of something that the specification says",
    "looptck_should": "a check of good sense that the specification leaves unsaid; it decides nothing",
}
"""The markers of the items, as the ini file's `markers` lists them."""


class CheckError(Exception):
    """A check that did not pass. `summary` is one line, the text is what `looptck check` prints.

    A failure carries the scenario, the observation, and the finding where the check was evaluated.
    """

    def __init__(self, summary: str, told: str, *about: Any) -> None:
        super().__init__(told)
        self.summary = summary
        self.about = about


class NotJudgedError(CheckError):
    """A check that could not be judged, or has an excuse that does not hold."""


class CheckItem(pytest.Item):
    """A check on a loop. Made with the keywords `suite`, `test` and `check`."""

    def __init__(self, *, suite: Suite, test: Test, check: Check, **rest: Any) -> None:
        super().__init__(**rest)
        self.suite, self.test, self.check = suite, test, check
        self.judgement: Judgement | None = None
        level = requirements(suite.profile.name)[check.requirement].level
        self.add_marker(pytest.mark.looptck(test=test.name, section=test.section, level=level))
        self.add_marker(f"looptck_{level}")
        self.extra_keyword_matches.add(test.name)

    def setup(self) -> None:
        """Observe and judge; raise where there is no verdict to tell."""
        if self.suite.description.refused:
            refused = one_line(self.suite.description.refused)
            raise NotJudgedError(refused, refused)
        ours = [item for item in self.session.items if isinstance(item, CheckItem) and item.suite is self.suite]
        self.judgement = self.suite.judge(self.test, self.check, [(item.test, item.check) for item in ours])
        report, excuse = self.judgement.check, why_excused(self.judgement.check)
        if report.verdict == "fault" or (report.verdict == "incomplete" and not (report.known or report.news)):
            raise NotJudgedError(_last_line(report.message), self._told(self.judgement))
        if report.verdict == "incomplete":
            pytest.xfail(one_line(f"{excuse}: {report.message}"))
        if report.verdict == "skip" and not self.judgement.stale:
            pytest.skip(one_line(report.message))
        if report.verdict == "fail" and excuse:
            self.add_marker(pytest.mark.xfail(reason=f"{excuse}: {report.statement}", raises=CheckError))

    def runtest(self) -> None:
        """Tell the verdict. A debugger that is asked to look at a failure finds its parts here."""
        assert self.judgement is not None, "set up"  # noqa: S101 - narrows the type
        for line in self.judgement.stale:
            raise NotJudgedError(line, f"{line}: take it out")
        check, report = self.check, self.judgement.check
        if report.verdict == "fail":
            scenario, observation = self.suite.observed(self.test)[report.scenario]
            finding: Finding | None = None
            if report.told_apart():
                finding = check.function(self.suite.profile.evidence(scenario, observation))
            raise CheckError(report.statement, self._told(self.judgement), scenario, observation, finding)
        if report.verdict != "pass":  # with --runxfail nothing is excused, and what was not judged has not passed
            raise NotJudgedError(_last_line(report.message), self._told(self.judgement))

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Where it is from and what it is called at the head of its failure."""
        return self.path, None, self.name

    def _told(self, judgement: Judgement) -> str:
        return self.suite.explain(judgement, "" if self.suite.repeatable else self._again())

    def _again(self) -> str:
        isolation = "" if self.suite.isolation == "fork" else f" --loop-isolation {self.suite.isolation}"
        return f"pytest {shlex.quote(self.nodeid)} --loop-seed {self.suite.settings.seed}{isolation}"


def _last_line(message: str) -> str:
    return one_line(message.strip().rpartition("\n")[2])


def without_traceback(excinfo: pytest.ExceptionInfo[BaseException], summary: str) -> Any:
    """How pytest is to show a `CheckError` of this summary: what is wrong with the loop, and no line of ours."""
    shown = excinfo.getrepr(style="value")
    if shown.reprcrash is not None:
        shown.reprcrash.message = summary
    return shown


def items(parent: pytest.Collector, suite: Suite) -> Iterator[pytest.Item]:
    """The items of a suite, in the order of the specification; then the user's own scenarios, and the fuzzer's."""
    for test in suite.tests:
        for check in test.checks:
            name = item_name(test, check)
            whole = f"{parent.nodeid}::{name}"  # as text, since pytest takes ids apart as text: --lf compares the parts
            yield CheckItem.from_parent(parent, name=name, nodeid=whole, suite=suite, test=test, check=check)
    if suite.settings.fuzz:
        from looptck.pytest_suite.fuzzed import FuzzItem  # noqa: PLC0415 - hypothesis is heavy, and an extra

        yield FuzzItem.from_parent(parent, name=FUZZED, nodeid=f"{parent.nodeid}::{FUZZED}", suite=suite)


def item_name(test: Test, check: Check) -> str:
    """The test's name in the spelling of a function, and the check's id: `test_max_iter_stops[max-iter/error]`."""
    return f"{re.sub('(?<=[a-z0-9])(?=[A-Z])', '_', test.name).lower()}[{check.id}]"
