"""The mutants on a terminal: what got away, the kill matrix, the last line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table

from looptck.report.console import escape
from looptck.report.model import in_words
from looptck.report.text import how_many, one_line
from looptck_mutants.judges import groups_of, is_own, letter, look_at
from looptck_mutants.lines import lines_of
from looptck_mutants.outcome import GOT_AWAY, NOT_RUN
from looptck_mutants.pitfalls import PITFALLS

if TYPE_CHECKING:
    from rich.console import Console

    from looptck_mutants.outcome import MutantReport, MutantsReport, SuiteReport


def print_outcome(console: Console, report: MutantsReport) -> None:
    """Each mutant that was not killed by its own check, and the line that says what was tested in how long."""
    for mutant in report.mutants:
        if mutant.verdict in (*GOT_AWAY, *NOT_RUN):
            _print_away(console, mutant, report)
    if report.suite is not None:
        _print_idle(console, report.suite)
    rate = ""
    if (systematic := report.systematic) is not None:
        for line in systematic.stale:
            console.print(f"stale entry: {one_line(line)}", style="bold red", markup=False)
        rate = f" ({systematic.redone} run by {systematic.tool}, {systematic.per_s:.1f} in a second)"
    tested = how_many(len(report.mutants), "mutant")
    console.print(f"{tested} tested in {report.wall_s:.1f} s: {in_words(report.counts)}{rate}")
    if systematic is not None and report.suite is not None:
        console.print("These kills were seen once: without --systematic, each has to be seen in further runs")


def _print_away(console: Console, mutant: MutantReport, report: MutantsReport) -> None:
    fate = mutant.verdict.replace("_", " ")
    console.print(f"[bold red]{fate}[/] [bold]{escape(mutant.id)}[/] {escape(mutant.title)}")
    console.print(f"  {one_line(mutant.message)}", markup=False)
    killer = mutant.killer
    if mutant.killed_by:
        other = "other " if killer.check and report.suite is None else ""
        what = "checks" if report.suite is None else "tests"
        console.print(f"  {other}{what} failed: {one_line(', '.join(mutant.killed_by))}", markup=False)
    if mutant.diff:
        for line in (line.rstrip("\r\n") for line in lines_of(mutant.diff)[2:] if line[0] != " "):
            console.print(f"  {one_line(line)}", markup=False)
        return
    if report.suite is not None:
        _print_hint(console, mutant, report.profile)
        return
    meant = f"{killer.check} of {killer.test}" if killer.check else "none"
    console.print(f"  meant for {meant}; patch {one_line(mutant.patch)}", markup=False)


def _print_hint(console: Console, mutant: MutantReport, profile: str) -> None:
    """What somebody's test would have to look at."""
    if isinstance(mutant.pitfall, int):
        console.print(f"  pitfall {mutant.pitfall}: {PITFALLS.get(mutant.pitfall, '')}".rstrip(": "), markup=False)
    if (hint := look_at(profile, mutant)) is not None:
        console.print(f"  a test would have to look at: {hint[0]}", markup=False)
        console.print(f"  what is required: {hint[1]}", markup=False)
    elif mutant.killer.test:
        console.print(f"  meant for {mutant.killer.test}", markup=False)
    console.print(f"  patch {one_line(mutant.patch)}", markup=False)


def _print_idle(console: Console, suite: SuiteReport) -> None:
    """The tests of somebody's suite that killed nothing."""
    idle = [test.id for test in suite.tests if test.counts and not test.kills]
    if idle:
        console.print(f"{how_many(len(idle), 'test')} killed nothing:")
    for test in idle:
        console.print(f"  {one_line(test)}", markup=False)


def print_matrix(console: Console, report: MutantsReport) -> None:
    """Mutants by tests: how many checks of each test failed; * where the mutant's own killer is among them."""
    groups = groups_of(report)
    letters = [letter(place) for place in range(len(groups))]
    table = Table(box=None, padding=(0, 1), show_edge=False)
    for heading in ("mutant", *letters, "verdict"):
        table.add_column(heading, justify="left" if heading in {"mutant", "verdict"} else "right")
    for mutant in report.mutants:
        cells = []
        for group in groups:
            failed = group.failed(mutant)
            own = "*" if any(is_own(mutant, judge.id) for judge in failed) else ""
            cells.append(f"{len(failed)}{own}" if failed else "·")
        table.add_row(mutant.id, *cells, mutant.verdict.replace("_", " "))
    console.print(table)
    for head, group in zip(letters, groups, strict=True):
        console.print(f"  {head}  {one_line(group.name)}", markup=False)
