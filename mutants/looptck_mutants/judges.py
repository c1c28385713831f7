"""What mutants are held against in a report: the checks of the kit's suite, or the tests of somebody's. Pure.

They are told in groups, which are the columns of a kill matrix: a named test with its checks; of somebody's suite each
test is a column of its own, or each file where the tests are too many for a table that can be read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from looptck.requirements import requirements
from looptck.suite import tests_of
from looptck_mutants.manifest import stands_for

if TYPE_CHECKING:
    from looptck_mutants.outcome import MutantReport, MutantsReport, SuiteReport

COLUMNS = 26
"""How many tests may have columns of their own."""


@dataclass(frozen=True, slots=True)
class Judge:
    """A check or a test by the name that `killed_by` has for it, and what it states, if it says so."""

    id: str
    statement: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """What is one column, and the judges in it."""

    name: str
    judges: tuple[Judge, ...]

    def failed(self, mutant: MutantReport) -> list[Judge]:
        """Those that the mutant failed."""
        return [judge for judge in self.judges if judge.id in mutant.killed_by]


def groups_of(report: MutantsReport) -> list[Group]:
    """The columns, in order."""
    if report.suite is None:
        return [
            Group(test.name, tuple(Judge(check.id, check.statement) for check in test.checks))
            for test in tests_of(report.profile)
        ]
    counting = [test.id for test in report.suite.tests if test.counts]
    return [Group(test, (Judge(test),)) for test in counting] if len(counting) <= COLUMNS else files_of(report.suite)


def files_of(suite: SuiteReport) -> list[Group]:
    """The tests of somebody's suite that count, by file."""
    files: dict[str, list[Judge]] = {}
    for test in suite.tests:
        if test.counts:
            files.setdefault(test.id.partition("::")[0], []).append(Judge(test.id))
    return [Group(name, tuple(judges)) for name, judges in files.items()]


def is_own(mutant: MutantReport, judge: str) -> bool:
    """Whether this check is meant to kill a mutant, or this test where a manifest names one of somebody's suite."""
    killer = mutant.killer
    return judge == killer.check if killer.check else bool(killer.test) and stands_for(killer.test, judge)


def letter(place: int) -> str:
    """What a column is headed with: A to Z, then AA, AB and so on."""
    rest, last = divmod(place, 26)
    return (letter(rest - 1) if rest else "") + chr(ord("A") + last)


def look_at(profile: str, mutant: MutantReport) -> tuple[str, str] | None:
    """What a test would have to look at to kill a mutant, and the requirement behind it, each as one line.

    None where no check of the kit's own suite is meant for it.
    """
    for test in tests_of(profile):
        for check in test.checks:
            if check.id == mutant.killer.check:
                record = requirements(profile)[check.requirement]
                return f"{check.statement} ({check.id})", f"{record.statement} ({record.id})"
    return None
