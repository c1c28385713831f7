"""The report on a terminal: a line a test, then each check that did not pass, with its run as a worked example."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.markup import escape
from rich.table import Table

from looptck.profile import profile_of
from looptck.report.again import again
from looptck.report.beside import pairs
from looptck.report.text import LONGEST, text_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import Console

    from looptck.judge import Observed
    from looptck.report.model import CheckReport, Report, TestReport

_STYLES = {"pass": "green", "fail": "bold red", "skip": "yellow", "incomplete": "magenta", "fault": "bold red reverse"}
_ROWS = 12
_MARKED = "[bold red]≠[/]"


def print_test(console: Console, test: TestReport, width: int = 40) -> None:
    """One line: verdict, name, how many of its checks passed."""
    passed = sum(check.verdict == "pass" for check in test.checks)
    notes = sum(check.verdict == "fail" and check.level == "should" for check in test.checks)
    style = _STYLES[test.verdict]
    count = f"{passed}/{len(test.checks)} checks"
    note = f"  [yellow]{notes} of good sense failed[/]" if notes else ""
    console.print(f"[{style}]{test.verdict:<10}[/] {test.name:<{width}} {count:>13}{note}", highlight=False)


def print_failures(console: Console, report: Report, observed: Mapping[str, Observed]) -> None:
    """Every check that failed or could not be judged; the same obstacle of several checks is told once."""
    told: set[str] = set()
    drawn: set[tuple[str, str]] = set()
    for test in report.tests:
        for check in test.checks:
            if check.verdict in {"pass", "skip"} or check.known:
                continue
            if not check.told_apart():
                key = f"{check.verdict} {check.message}"
                if key not in told:
                    told.add(key)
                    _print_obstacle(console, test, check, observed[test.name])
                    _print_again(console, report, check)
                continue
            _print_failure(console, check)
            if (test.name, check.scenario) not in drawn:
                drawn.add((test.name, check.scenario))
                console.print(_run(report.profile, observed[test.name][check.scenario]))
                _print_output(console, observed[test.name], check)
            else:
                console.print(f"  its run is the one of scenario {check.scenario} above", style="dim")
            _print_again(console, report, check)


def print_excused(console: Console, report: Report) -> None:
    """A line for each known failure, and for each entry of their file that is not true."""
    for check in (check for test in report.tests for check in test.checks if check.known):
        console.print(f"\n[yellow]known[/] [bold]{check.id}[/]  {escape(check.known)}", highlight=False)
    for line in report.stale:
        console.print(f"\n[bold red]stale[/] {escape(line)}: take it out", highlight=False)


def print_grounds(console: Console, windows: int) -> None:
    """What the verdicts rest on, where that is less than sleeping threads: a window in which nothing was recorded."""
    if windows:
        console.print(f"{windows} scenario(s) came to rest only by a settling window: a loop that polls, or no /proc")


def print_summary(console: Console, report: Report, seconds: float) -> None:
    """The last line: what was run, and the verdict."""
    counts = report.counts.model_dump(by_alias=True)
    shown = ", ".join(f"{number} {name}" for name, number in counts.items() if number)
    head = f"[{_STYLES[report.verdict]}]{report.verdict.upper()}[/]"
    place = f"{report.target} against {report.profile}"
    console.print(f"\n{head} {escape(place)}: {shown} in {seconds:.1f} s (seed {report.seed})", highlight=False)


def _print_obstacle(console: Console, test: TestReport, check: CheckReport, observed: Observed) -> None:
    same = [other.id for other in test.checks if other.message == check.message]
    console.print(f"\n[{_STYLES[check.verdict]}]{check.verdict}[/] [bold]{test.name}[/]", highlight=False)
    console.print(f"  {check.message}", markup=False, highlight=False)
    listed = ", ".join(same[:4]) + (f" and {len(same) - 4} more" if len(same) > 4 else "")  # noqa: PLR2004 - one line
    console.print(f"  scenario {check.scenario}; checks: {listed}", markup=False, highlight=False)
    _print_output(console, observed, check)


def _print_failure(console: Console, check: CheckReport) -> None:
    console.print(
        f"\n[{_STYLES[check.verdict]}]{check.verdict}[/] [bold]{check.id}[/] ({_weight(check)})", highlight=False
    )
    console.print(f"  {check.statement}", markup=False, highlight=False)
    if check.message:
        console.print(f"  {check.message}", markup=False, highlight=False)
    console.print(_beside(check))


def _weight(check: CheckReport) -> str:
    return f"news since requirements {check.since}, {check.level}" if check.news else check.level


def _print_again(console: Console, report: Report, check: CheckReport) -> None:
    console.print(f"  again: {again(report, check.id)}", markup=False, highlight=False, soft_wrap=True)


def _print_output(console: Console, observed: Observed, check: CheckReport) -> None:
    output = observed[check.scenario][1].output if check.scenario in observed else ""
    if output.strip():
        console.print(f"  the loop printed, at the end: {output[-200:]!r}", markup=False, highlight=False)


def _beside(check: CheckReport) -> Table:
    """Expected beside seen, row by row; rows that differ are marked."""
    table = Table(box=None, padding=(0, 2), show_edge=False)
    for heading in ("", "expected", "seen", ""):
        table.add_column(heading, overflow="fold")
    for pair in pairs(check.expected, check.seen):
        table.add_row(escape(pair.label), escape(pair.expected), escape(pair.seen), _MARKED if pair.differs else "")
    for other in check.alternatives:
        table.add_row("or", escape(text_of(other)), "", "")
    return table


def _run(name: str, observed: tuple[Any, Any]) -> Table:
    """The run that was observed, told as a worked example in the way of its profile."""
    profile, (scenario, _) = profile_of(name), observed
    table = Table(
        title=f"the run of scenario {scenario.name}", title_justify="left", title_style="dim", box=None, padding=(0, 2)
    )
    for heading in ("step", "messages before", "model returned", "loop did", "usage so far"):
        table.add_column(heading, overflow="fold")
    told = profile.rows(profile.evidence(*observed))
    for row in told[:_ROWS]:
        cells = (row.step, row.before, row.model, "\n".join(row.did), row.usage)
        table.add_row(*(escape(cell[:LONGEST]) for cell in cells))
    if len(told) > _ROWS:
        table.add_row("…", f"{len(told) - _ROWS} more like these")
    return table
