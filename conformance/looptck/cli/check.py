"""`looptck check TARGET`: a suite against a loop."""

from __future__ import annotations

import sys
import time
from contextlib import nullcontext, redirect_stdout
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from looptck.cli import UsageError, app
from looptck.cli.options import (
    REFERENCES,
    JobsOption,
    JsonOption,
    ProfileOption,
    SeedOption,
    console,
    drawn,
    known_profile,
    progress,
    writable,
    write_json,
)

if TYPE_CHECKING:
    from rich.console import Console

    from looptck.describe import Description
    from looptck.report.model import Report, TestReport
    from looptck.session import ChosenTest
    from looptck.target import Target


@app.command()
def check(
    target: Annotated[
        str, typer.Argument(help="reference, FILE.py[:Name] (Agent where not named), or package.module:Name.")
    ] = "",
    *,
    profile: ProfileOption = "ag03",
    select: Annotated[
        str, typer.Option("-k", help="Only tests and checks whose name contains, or matches, this.")
    ] = "",
    seed: SeedOption = None,
    json: JsonOption = None,
    list_: Annotated[bool, typer.Option("--list", help="List tests and checks, and run nothing.")] = False,
    isolation: Annotated[
        Literal["fork", "none"],
        typer.Option(help="fork: a child process for each scenario; none: this process, for debuggers."),
    ] = "fork",
    jobs: JobsOption = 0,
    limit: Annotated[float, typer.Option(min=0.1, max=3600, help="Seconds of real time for one scenario.")] = 10.0,
) -> int:
    """Check an agent loop against the specification, and say why it fails.

    This is no sandbox: the loop runs with your rights. Do not check code that you would not run.
    """
    known_profile(profile)
    writable(json)
    number = drawn(seed)
    chosen = _chosen(profile, select, number)
    if list_:
        return _list(chosen)
    found = _target(target, profile)
    with redirect_stdout(sys.stderr) if json == "-" else nullcontext():  # what a loop prints here is no JSON
        report = _run(found, chosen, profile=profile, seed=number, isolation=isolation, jobs=jobs, limit=limit, to=json)
    write_json(report.model_dump_json(by_alias=True, indent=1), json)
    return report.exit_code()


def _chosen(profile: str, select: str, seed: int) -> list[ChosenTest]:
    from looptck.session import NothingChosenError, choose  # noqa: PLC0415 - `looptck --help` needs no suite

    try:
        return choose(profile, select, seed)
    except NothingChosenError as error:
        raise UsageError(str(error)) from None


def _target(text: str, profile: str) -> Target:
    from looptck.target import UnknownTargetError, parse_target  # noqa: PLC0415 - see _chosen

    if not text:
        raise UsageError("no target: give reference, a file (loop.py or loop.py:Name), or package.module:Name")
    try:
        return parse_target(text, {"reference": REFERENCES[profile]})
    except UnknownTargetError as error:
        raise UsageError(str(error)) from None


def _list(chosen: list[ChosenTest]) -> int:
    for item in chosen:
        typer.echo(f"{item.test.name} (section {item.test.section})")
        for one in item.checks:
            typer.echo(f"  {one.id:<32} {one.statement}")
    return 0


def _run(
    target: Target,
    chosen: list[ChosenTest],
    *,
    profile: str,
    seed: int,
    isolation: Literal["fork", "none"],
    jobs: int,
    limit: float,
    to: str | None,
) -> Report:
    from looptck import session  # noqa: PLC0415 - see check
    from looptck.describe import describe  # noqa: PLC0415 - see check
    from looptck.profile import profile_of  # noqa: PLC0415 - see check

    def load() -> Any:
        return target.load(profile_of(profile).adapt)

    begun = time.perf_counter()
    out = console(quiet=to == "-")
    description = describe(load, isolated=isolation == "fork", limit=limit)
    tests: list[TestReport] = []
    if description.refused:
        tests = [_refused(item, description) for item in chosen]
    else:
        with progress(len(chosen), "checking", shown=isolation == "fork") as advance:
            for item in session.observe_all(chosen, load, isolation=isolation, jobs=jobs, limit=limit):
                tests.append(session.judged(item, description.lacks))
                advance()
    report = session.report(tests, target=target.text, profile=profile, seed=seed, isolation=isolation)
    _print(out, report, chosen, description, time.perf_counter() - begun)
    return report


def _refused(item: ChosenTest, description: Description) -> TestReport:
    """The report of a test whose target cannot be used."""
    from looptck.session import judged  # noqa: PLC0415 - see check

    seen = item.profile.observation
    item.observed = {
        scenario.name: (scenario, seen(scenario.name, died=description.refused, blame="target"))
        for scenario in item.scenarios
    }
    return judged(item, {})


def _print(out: Console, report: Report, chosen: list[ChosenTest], description: Description, seconds: float) -> None:
    from looptck.report.console import print_failures, print_grounds, print_summary, print_test  # noqa: PLC0415 - see check

    if description.refused:
        typer.echo(f"looptck: {description.refused}", err=True)
    else:
        for test in report.tests:
            print_test(out, test, max(40, *(len(test.name) for test in report.tests)))
        print_failures(out, report, {item.test.name: item.observed for item in chosen})
        seen = [observation for item in chosen for _, observation in item.observed.values()]
        print_grounds(out, sum(getattr(observation, "settled_by", "") == "window" for observation in seen))
    print_summary(out, report, seconds)
