"""What stands on the page of a report: sections, tests, checks, and each run once, where it is first needed. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from looptck.profile import profile_of
from looptck.report.again import again
from looptck.report.beside import in_words_of, pairs
from looptck.report.diagnosis import headline, remarks
from looptck.report.excuses import why_excused
from looptck.report.given import given
from looptck.report.html.drawing import drawn
from looptck.report.model import in_words
from looptck.report.text import LONGEST, one_line, text_of
from looptck.requirements import requirements

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from looptck.judge import Observed
    from looptck.report.beside import Pair
    from looptck.report.html.drawing import Picture
    from looptck.report.model import CheckReport, Diagnosis, Likeness, Report, TestReport
    from looptck.report.row import Row
    from looptck.requirements import Requirement

_ROWS, _DEEDS, _PAIRS = 12, 12, 20
BEYOND = "-"
"""The section of what the specification does not speak of."""
_OUTPUT = 400


@dataclass(frozen=True, slots=True)
class RunView:
    """A run: what its scenario sets, its rows as cells, how many more there are, its picture, what the loop printed."""

    anchor: str
    scenario: str
    given: str
    rows: list[tuple[str, ...]]
    more: int
    picture: Picture | None
    output: str


@dataclass(frozen=True, slots=True)
class CheckView:
    """A check with what belongs to it.

    `run` is the run that decided it, drawn `here` or, if not, at another check of the test. `pairs` has the rows that
    are shown and `more` how many are not.
    """

    report: CheckReport
    requirement: Requirement | None
    note: str
    again: str
    pairs: list[Pair]
    more: int
    alternatives: list[str]
    run: RunView | None
    here: bool

    @property
    def failed(self) -> bool:
        """Whether the filter for failed ones shows it."""
        return self.report.verdict not in {"pass", "skip"}


@dataclass(frozen=True, slots=True)
class TestView:
    """A test and its checks."""

    __test__ = False  # pytest must not collect it
    report: TestReport
    checks: list[CheckView]

    @property
    def failed(self) -> bool:
        """Whether any check did."""
        return any(check.failed for check in self.checks)


@dataclass(slots=True)
class SectionView:
    """A section of the specification and its tests; `-` is none, for tests that the specification does not have."""

    name: str
    tests: list[TestView] = field(default_factory=list)

    @property
    def heading(self) -> str:
        """What stands above its tests."""
        if self.name == BEYOND:
            return "Beyond the specification"
        return f"Section {self.name}" if self.name[:1].isdigit() else self.name

    @property
    def failed(self) -> bool:
        """Whether any test did."""
        return any(test.failed for test in self.tests)


@dataclass(frozen=True, slots=True)
class DiagnosisView:
    """Which mutants fail the same checks: a sentence, and what is to be said of each of them."""

    head: str
    mutants: list[tuple[Likeness, list[str]]]


@dataclass(frozen=True, slots=True)
class Page:
    """The whole. `failed` are the ids of the checks that the filter for failed ones shows."""

    report: Report
    counts: str
    again: str
    sections: list[SectionView]
    failed: list[str]
    diagnosis: DiagnosisView | None


def page_of(report: Report, observed: Mapping[str, Observed]) -> Page:
    """The page of a report."""
    order = {
        record.section: place for place, record in reversed(list(enumerate(requirements(report.profile).values())))
    }
    sections: dict[str, SectionView] = {}
    for test in sorted(report.tests, key=lambda test: _place(test.section, order)):
        section = sections.setdefault(test.section, SectionView(test.section))
        section.tests.append(_test(report, test, observed.get(test.name, {})))
    shown = in_words(report.counts) or "no checks"
    checks = [check for section in sections.values() for test in section.tests for check in test.checks]
    failed = [check.report.id for check in checks if check.failed]
    return Page(report, shown, again(report), list(sections.values()), failed, _diagnosis(report.diagnosis))


def _diagnosis(diagnosis: Diagnosis | None) -> DiagnosisView | None:
    if diagnosis is None:
        return None
    return DiagnosisView(headline(diagnosis), remarks(diagnosis))


def _place(section: str, order: Mapping[str, int]) -> tuple[Any, ...]:
    """Numbers in their natural order, 2.10 behind 2.9; headings in that of the specification; what is of none, last."""
    numbers = [int(number) for number in re.findall(r"\d+", section)] if section[:1].isdigit() else []
    return (section == BEYOND, not numbers, numbers, order.get(section, len(order)))


def _test(report: Report, test: TestReport, observed: Observed) -> TestView:
    """A test. A run is drawn at the first failed check that it decided, or else at the first check that it decided."""
    homes: dict[str, str] = {}
    for check in sorted(test.checks, key=lambda check: check.verdict in {"pass", "skip"}):
        homes.setdefault(check.scenario, check.id)
    runs = {name: _run(report.profile, test.name, name, observed[name]) for name in homes if name in observed}
    as_written = profile_of(report.profile).as_written
    shown = {name: as_written(observed[name][0]) for name in homes if name in observed}
    return TestView(test, [_check(report, check, homes, runs, shown.get(check.scenario, {})) for check in test.checks])


def _check(
    report: Report,
    check: CheckReport,
    homes: Mapping[str, str],
    runs: Mapping[str, RunView | None],
    shown: Mapping[str, str],
) -> CheckView:
    """A check; its calls are `shown` as the model writes them."""
    rows, more = _some(pairs(check.expected, check.seen, shown)) if check.evaluated() else ([], 0)
    return CheckView(
        report=check,
        requirement=requirements(report.profile).get(check.requirement),
        note=why_excused(check) if check.known or check.news else "",
        again=again(report, check.id),
        pairs=rows,
        more=more,
        alternatives=[text_of(in_words_of(other, shown)) for other in check.alternatives],
        run=runs.get(check.scenario),
        here=homes[check.scenario] == check.id,
    )


def _some(rows: list[Pair]) -> tuple[list[Pair], int]:
    """The first rows and the first that differ behind them, and how many are left out."""
    kept = rows[:_PAIRS] + [row for row in rows[_PAIRS:] if row.differs][:_PAIRS]
    return kept, len(rows) - len(kept)


def _run(profile_name: str, test: str, name: str, observed: tuple[Any, Any]) -> RunView | None:
    """The run of a scenario; None where there is nothing to show of it."""
    profile, (scenario, observation) = profile_of(profile_name), observed
    output = observation.output[-_OUTPUT:].strip()
    evidence = profile.evidence(*observed)
    rows, timeline = profile.rows(evidence), profile.timeline(evidence)
    if not rows and timeline is None and not output:
        return None
    anchor = re.sub(r"\s+", "-", f"run/{test}/{name}")
    cells = [_cells(row) for row in rows[:_ROWS]]
    picture, more = drawn(timeline) if timeline else None, max(len(rows) - _ROWS, 0)
    return RunView(anchor, name, one_line(given(scenario)), cells, more, picture, output)


def _cells(row: Row) -> tuple[str, ...]:
    did: Sequence[str] = row.did
    if len(did) > _DEEDS:
        did = [*did[: _DEEDS - 1], f"{len(did) - _DEEDS} more like these", did[-1]]
    lines = "\n".join(one_line(deed[:LONGEST]) for deed in did)
    return (*(one_line(cell[:LONGEST]) for cell in (row.step, row.before, row.model)), lines, row.usage)
