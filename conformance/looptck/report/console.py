"""The report on a terminal: a line a test, then each check that did not pass, with its run as a worked example."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any

from rich import markup
from rich.table import Table

from looptck.profile import profile_of
from looptck.report.again import again
from looptck.report.beside import pairs
from looptck.report.diagnosis import headline, remarks
from looptck.report.given import given
from looptck.report.model import in_words
from looptck.report.text import LONGEST, message_of, one_line
from looptck.requirements import requirements

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from rich.console import Console

    from looptck.judge import Observed
    from looptck.report.model import CheckReport, Report, TestReport
    from looptck.requirements import Requirement

_STYLES = {"pass": "green", "fail": "bold red", "skip": "yellow", "incomplete": "magenta", "fault": "bold red reverse"}
_ROWS = 12
MOST_EXPLAINED = 20
"""Failures that are explained at length: of a loop that is just begun nearly everything fails."""
_MARKED = "[bold red]≠[/]"


def escape(text: str) -> str:
    """Text of a loop's or a user's such that it stays in its line, and neither terminal nor markup obeys it."""
    return markup.escape(one_line(text))


def print_test(console: Console, test: TestReport, width: int = 40) -> None:
    """One line: verdict, name, how many of its checks passed."""
    style = _STYLES[test.verdict]
    count = f"{test.passed()}/{len(test.checks)} checks"
    excused = _excused(test.checks)
    note = f"  [yellow]{excused} failed[/]" if excused else ""
    console.print(f"[{style}]{test.verdict:<10}[/] {test.name:<{width}} {count:>13}{note}", highlight=False)


def _excused(checks: Iterable[CheckReport]) -> str:
    """How many of them did not pass and decide nothing, by the reason: so many known, new, of good sense."""
    failed = [check for check in checks if check.known or (check.verdict == "fail" and not check.decides())]
    kinds = Counter("known" if check.known else "new" if check.news else "of good sense" for check in failed)
    return ", ".join(f"{number} {kind}" for kind, number in kinds.items())


def print_failures(
    console: Console, report: Report, observed: Mapping[str, Observed], repeat: Callable[[str], str] | None = None
) -> None:
    """Every check that failed or could not be judged; the same obstacle of several checks is told once.

    The first `MOST_EXPLAINED` failures are explained, each with its run; the others have a line each. `repeat` gives
    the command that repeats a check by its id; it is `looptck check` where there is none.
    """
    repeat = repeat or partial(again, report)
    told: set[str] = set()
    drawn: set[tuple[str, str]] = set()
    rest: list[CheckReport] = []
    explained = 0
    for test in report.tests:
        for check in test.checks:
            if check.verdict in {"pass", "skip"} or check.known:
                continue
            if not check.told_apart():
                key = f"{check.verdict} {check.message}"
                if key not in told:
                    told.add(key)
                    _print_obstacle(console, test, check, observed[test.name])
                    _print_again(console, repeat(check.id))
                continue
            explained += 1
            if explained > MOST_EXPLAINED:
                rest.append(check)
                continue
            _print_failure(console, report.profile, check, observed[test.name])
            if (test.name, check.scenario) not in drawn:
                drawn.add((test.name, check.scenario))
                _print_run(console, report.profile, observed[test.name][check.scenario])
                _print_output(console, observed[test.name], check)
            else:
                console.print(f"  its run is the one of scenario {check.scenario} above", style="dim")
            _print_again(console, repeat(check.id))
    _print_rest(console, rest)


def _print_rest(console: Console, rest: Sequence[CheckReport]) -> None:
    if rest:
        console.print(f"\n{len(rest)} more failed; -k ID explains one, --html all of them:", highlight=False)
    for check in rest:
        console.print(
            f"  {check.id:<32} {check.statement}", markup=False, highlight=False, no_wrap=True, overflow="ellipsis"
        )


def print_excused(console: Console, report: Report) -> None:
    """A line for each known failure, and for each entry of their file that is not true."""
    for check in (check for check in report.checks() if check.known):
        console.print(f"\n[yellow]known[/] [bold]{check.id}[/]  {escape(check.known)}", highlight=False)
    for line in report.stale:
        console.print(f"\n[bold red]stale[/] {escape(line)}: take it out", highlight=False)


def print_grounds(console: Console, windows: int) -> None:
    """What the verdicts rest on, where that is less than sleeping threads: a window in which nothing was recorded."""
    if windows:
        console.print(f"{windows} scenario(s) came to rest only by a settling window: a loop that polls, or no /proc")


def print_diagnosis(console: Console, report: Report) -> None:
    """Which of the kit's mutants fail the same checks, where there is a diagnosis."""
    if report.diagnosis is None:
        return
    console.print(f"\n[bold]diagnosis[/] {escape(headline(report.diagnosis))}", highlight=False)
    named = report.diagnosis.kind == "same" and len(report.diagnosis.mutants) == 1
    for mutant, lines in remarks(report.diagnosis):
        if not named:
            console.print(f"  [bold]{mutant.id}[/] {escape(mutant.title)}", highlight=False)
        for line in lines:
            console.print(f"  {one_line(line)}" if named else f"    {one_line(line)}", markup=False, highlight=False)
    for mutant in report.diagnosis.mutants[:1]:
        console.print(f"  more: looptck explain {mutant.id} --profile {report.profile}", markup=False, highlight=False)


def print_summary(console: Console, report: Report, seconds: float) -> None:
    """The last line: what was run, and the verdict."""
    shown = in_words(report.counts)
    excused = _excused(report.checks())
    shown += f" ({excused})" if excused else ""
    head = f"[{_STYLES[report.verdict]}]{report.verdict.upper()}[/]"
    place = f"{report.target} against {report.profile}"
    line = f"\n{head} {escape(place)}: {shown} in {seconds:.1f} s (seed {report.seed})"
    console.print(line, highlight=False, soft_wrap=True)


def _print_obstacle(console: Console, test: TestReport, check: CheckReport, observed: Observed) -> None:
    same = [other.id for other in test.checks if other.message == check.message]
    console.print(f"\n[{_STYLES[check.verdict]}]{check.verdict}[/] [bold]{test.name}[/]", highlight=False)
    _print_message(console, check, soft_wrap=True)
    listed = ", ".join(same[:4]) + (f" and {len(same) - 4} more" if len(same) > 4 else "")  # noqa: PLR2004 - one line
    console.print(f"  scenario {check.scenario}; checks: {listed}", markup=False, highlight=False)
    _print_output(console, observed, check)


def _print_failure(console: Console, profile: str, check: CheckReport, observed: Observed) -> None:
    console.print(
        f"\n[{_STYLES[check.verdict]}]{check.verdict}[/] [bold]{check.id}[/] ({_weight(check)})", highlight=False
    )
    console.print(f"  {check.statement}", markup=False, highlight=False)
    if check.message:
        _print_message(console, check, soft_wrap=False)
    if check.message.startswith(f"breaks {check.requirement}"):
        _print_rule(console, requirements(profile)[check.requirement])
    console.print(_beside(check, profile_of(profile).as_written(observed[check.scenario][0])))


def _print_rule(console: Console, record: Requirement) -> None:
    """What a requirement says that the message names by its id: one line, of a long statement the first sentence."""
    first, more, _ = record.statement.partition(". ")
    said = record.statement if len(record.statement) + 2 <= console.width or not more else f"{first}."
    console.print(f"  {said}", markup=False, highlight=False, no_wrap=True, overflow="ellipsis")


def _print_message(console: Console, check: CheckReport, *, soft_wrap: bool) -> None:
    told = message_of(check.verdict, check.message)
    console.print(f"  {told}", markup=False, highlight=False, soft_wrap=soft_wrap)


def _weight(check: CheckReport) -> str:
    return f"news since requirements {check.since}, {check.level}" if check.news else check.level


def _print_again(console: Console, command: str) -> None:
    console.print(f"  again: {one_line(command)}", markup=False, highlight=False, soft_wrap=True)


def _print_output(console: Console, observed: Observed, check: CheckReport) -> None:
    output = observed[check.scenario][1].output if check.scenario in observed else ""
    if output.strip():
        console.print(f"  the loop printed, at the end: {output[-200:]!r}", markup=False, highlight=False)


def _beside(check: CheckReport, shown: Mapping[str, str]) -> Table:
    """Expected beside seen, row by row; rows that differ are marked. Calls are `shown` as the model writes them."""
    table = Table(box=None, padding=(0, 2), show_edge=False)
    for heading in ("", "expected", "seen", ""):
        table.add_column(heading, overflow="fold")
    for pair in pairs(check.expected, check.seen, shown):
        table.add_row(escape(pair.label), escape(pair.expected), escape(pair.seen), _MARKED if pair.differs else "")
    for other in check.alternatives:
        for pair in pairs(other, other, shown):
            table.add_row(escape(f"or {pair.label}".rstrip()), escape(pair.expected), "", "")
    return table


def _print_run(console: Console, name: str, observed: tuple[Any, Any]) -> None:
    """The run that was observed: of which scenario, what that sets, and the worked example."""
    scenario, _ = observed
    console.print(f"the run of scenario {escape(scenario.name)}", style="dim", highlight=False)
    if options := given(scenario):
        console.print(f"  {one_line(options)}", markup=False, highlight=False)
    console.print(_run(name, observed))


def _run(name: str, observed: tuple[Any, Any]) -> Table:
    """The run that was observed, told as a worked example in the way of its profile."""
    profile = profile_of(name)
    table = Table(box=None, padding=(0, 2))
    for heading in ("step", "messages before", "model returned", "loop did", "usage so far"):
        table.add_column(heading, overflow="fold")
    told = profile.rows(profile.evidence(*observed))
    for row in told[:_ROWS]:
        cells = [escape(cell[:LONGEST]) for cell in (row.step, row.before, row.model, row.usage)]
        table.add_row(*cells[:-1], "\n".join(escape(deed[:LONGEST]) for deed in row.did), cells[-1])
    if len(told) > _ROWS:
        table.add_row("…", f"{len(told) - _ROWS} more like these")
    return table
