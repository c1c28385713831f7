"""The mutants on a terminal: what got away, the kill matrix, the last line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

from looptck_mutants.outcome import GOT_AWAY, NOT_RUN, how_many
from looptck_mutants.profiles import known_checks

if TYPE_CHECKING:
    from rich.console import Console

    from looptck_mutants.outcome import MutantReport, MutantsReport


def print_outcome(console: Console, report: MutantsReport) -> None:
    """Each mutant that was not killed by its own check, and the line that says what was tested in how long."""
    for mutant in report.mutants:
        if mutant.verdict in (*GOT_AWAY, *NOT_RUN):
            _print_away(console, mutant)
    counts = {fate: number for fate, number in report.counts.model_dump().items() if number}
    shown = ", ".join(f"{number} {fate.replace('_', ' ')}" for fate, number in counts.items())
    console.print(f"{how_many(len(report.mutants))} tested in {report.wall_s:.1f} s: {shown}")


def _print_away(console: Console, mutant: MutantReport) -> None:
    console.print(f"[bold red]{mutant.verdict.replace('_', ' ')}[/] [bold]{mutant.id}[/] {escape(mutant.title)}")
    console.print(f"  {mutant.message}", markup=False)
    killer = mutant.killer
    if mutant.killed_by:
        other = "other " if killer.check else ""
        console.print(f"  {other}checks failed: {', '.join(mutant.killed_by)}", markup=False)
    meant = f"{killer.check} of {killer.test}" if killer.check else "none"
    console.print(f"  meant for {meant}; patch {mutant.patch}", markup=False)


def print_matrix(console: Console, report: MutantsReport) -> None:
    """Mutants by tests: how many checks of each test failed; * where the mutant's own killer is among them."""
    tests = known_checks(report.profile)
    names = list(dict.fromkeys(tests.values()))
    letters = {name: chr(ord("A") + place) for place, name in enumerate(names)}
    table = Table(box=None, padding=(0, 1), show_edge=False)
    for heading in ("mutant", *letters.values(), "verdict"):
        table.add_column(heading, justify="left" if heading in {"mutant", "verdict"} else "right")
    for mutant in report.mutants:
        cells = []
        for name in names:
            failed = sum(tests[check] == name for check in mutant.killed_by)
            own = "*" if mutant.killer.check in mutant.killed_by and mutant.killer.test == name else ""
            cells.append(f"{failed}{own}" if failed else "·")
        table.add_row(mutant.id, *cells, mutant.verdict.replace("_", " "))
    console.print(table)
    for name, letter in letters.items():
        console.print(f"  {letter}  {name}", markup=False)
