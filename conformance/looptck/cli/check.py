"""`looptck check TARGET`: a suite against a loop."""

from __future__ import annotations

import sys
import time
from contextlib import nullcontext, redirect_stdout
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import typer

from looptck import __version__
from looptck.cli import app
from looptck.cli.choosing import chosen_of, in_folder, known_of, of_files, pinned_of, target_of
from looptck.cli.ending import insisting
from looptck.cli.options import (
    FolderOption,
    FormatOption,
    HtmlOption,
    JobsOption,
    JsonOption,
    JunitOption,
    ProfileOption,
    SeedOption,
    console,
    drawn,
    known_profile,
    progress,
)
from looptck.cli.outputs import Outputs
from looptck.report.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from rich.console import Console

    from looptck.describe import Description
    from looptck.judge import Observed
    from looptck.report.model import Asked, Isolation, Report, TestReport
    from looptck.session import ChosenTest
    from looptck.target import Target


@dataclass(frozen=True, slots=True)
class Plan:
    """How to run: what the options say beside the target and the outputs. `known` maps check ids to reasons.

    `files` maps the ids of checks that come from scenario files to those.
    """

    profile: str
    seed: int
    isolation: Asked
    jobs: int
    limit: float
    pinned: int
    known: dict[str, str]
    files: Mapping[str, str] = field(default_factory=dict)


TargetArgument: TypeAlias = Annotated[
    str,
    typer.Argument(
        help="reference, FILE.py[:Name] (Agent where not named), package.module:Name, or adapter:NAME. "
        "What it names is a loop's class, an adapter, or what makes one."
    ),
]
IsolationOption: TypeAlias = Annotated[
    Literal["auto", "fork", "process", "none"],
    typer.Option(
        help="fork: a child for each scenario; process: fresh interpreters, an import each, for many scenarios; "
        "none: this process, for debuggers; auto: process where the import starts threads or takes long, or an "
        "adapter asks for it; else fork."
    ),
]
_ScenariosOption: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="DIR", help="Scenario files (*.json) to check too, such as `looptck fuzz` saves."),
]
_SweepOption: TypeAlias = Annotated[
    bool, typer.Option("--crash-sweep", help="Also stop every scenario at each step, and resume from the journal.")
]


@app.command()
def check(
    target: TargetArgument = "",
    *,
    profile: ProfileOption = "ag03",
    select: Annotated[
        str, typer.Option("-k", help="Only tests and checks whose name contains, or matches, this.")
    ] = "",
    seed: SeedOption = None,
    json: JsonOption = None,
    junit: JunitOption = None,
    html: HtmlOption = None,
    report: FolderOption = None,
    output_format: FormatOption = "text",
    known_failures: Annotated[
        str | None, typer.Option(metavar="FILE", help="Check ids and reasons, as TOML: these may fail, and have to.")
    ] = None,
    requirements: Annotated[
        int | None, typer.Option(min=1, help="Version of the requirements that decides; newer checks are news.")
    ] = None,
    scenarios: _ScenariosOption = None,
    list_: Annotated[bool, typer.Option("--list", help="List tests and checks, and run nothing.")] = False,
    crash_sweep: _SweepOption = False,
    isolation: IsolationOption = "auto",
    jobs: JobsOption = 0,
    limit: Annotated[float, typer.Option(min=0.1, max=3600, help="Seconds of real time for one scenario.")] = 10.0,
) -> int:
    """Check an agent loop against the specification, and say why it fails.

    This is no sandbox: the loop runs with your rights. Do not check code that you would not run.
    """
    known_profile(profile)
    outputs = Outputs(json=json, junit=junit, html=html, folder=report, github=output_format == "github")
    outputs.look()
    number, pinned = drawn(seed), pinned_of(profile, requirements)
    own, files = of_files(profile, in_folder(scenarios, profile)) if scenarios is not None else (None, {})
    known = known_of(known_failures, profile, None if own is None else files)
    plan = Plan(profile, number, isolation, jobs, limit, pinned, known, files)
    chosen = chosen_of(profile, select, number, own, sweep=crash_sweep)
    return _list(chosen) if list_ else run_checks(target_of(target, profile), chosen, plan, outputs)


def _list(chosen: list[ChosenTest]) -> int:
    for item in chosen:
        typer.echo(f"{item.test.name} (section {item.test.section})")
        for one in item.checks:
            typer.echo(f"  {one.id:<32} {one.statement}")
    return 0


def run_checks(target: Target, chosen: list[ChosenTest], plan: Plan, outputs: Outputs) -> int:
    """Run the chosen checks, print and write what came of them; the exit code."""
    from looptck.report import github  # noqa: PLC0415 - see looptck.cli.choosing
    from looptck.report.junit import junit_xml  # noqa: PLC0415 - see looptck.cli.choosing

    with redirect_stdout(sys.stderr) if outputs.quiet else nullcontext():  # what a loop prints here is no JSON
        report = _run(target, chosen, plan, outputs)
    observed = {item.test.name: item.observed for item in chosen}
    outputs.write(
        json=report.model_dump_json(by_alias=True, indent=1),
        junit=lambda: junit_xml(report),
        html=lambda: _html(report, observed),
    )
    outputs.annotate(lambda: github.check_annotations(report), lambda: github.check_summary(report))
    return report.exit_code()


def _html(report: Report, observed: Mapping[str, Observed]) -> str:
    from looptck.report.html import check_html  # noqa: PLC0415 - only for who wants one

    return check_html(report, observed)


def _run(target: Target, chosen: list[ChosenTest], plan: Plan, outputs: Outputs) -> Report:
    from looptck import session  # noqa: PLC0415 - see looptck.cli.choosing
    from looptck.describe import describe  # noqa: PLC0415 - see looptck.cli.choosing
    from looptck.report.excuses import stale  # noqa: PLC0415 - see looptck.cli.choosing
    from looptck.target import Loader  # noqa: PLC0415 - see looptck.cli.choosing

    begun, load = time.perf_counter(), _once(Loader(target, plan.profile), plan)
    description = describe(load, isolated=plan.isolation != "none", limit=plan.limit)
    isolation = description.isolation if plan.isolation == "auto" else plan.isolation
    tests: list[TestReport] = []
    with outputs.open(_header(target, chosen, plan)) as folder:
        for test in _tests(chosen, load, description, plan, isolation):
            tests.append(test)
            if folder is not None:
                folder.add("test", test.model_dump(mode="json"))
        report = session.report(
            tests,
            target=target.text,
            profile=plan.profile,
            seed=plan.seed,
            isolation=isolation,
            asked=plan.isolation,
            requirements=plan.pinned,
            limit=plan.limit,
            stale=stale(tests, plan.known),
        )
        report = _with_diagnosis(report)
        if folder is not None:
            folder.finish(_footer(report))
    _print(console(quiet=outputs.quiet), report, chosen, description, plan, time.perf_counter() - begun)
    return report


def _once(load: Callable[[], Any], plan: Plan) -> Callable[[], Any]:
    """In this process a target is imported once, for its description and for all its scenarios."""
    return cache(load) if plan.isolation == "none" else load


def _with_diagnosis(report: Report) -> Report:
    """The report, and where checks failed what that resembles."""
    if not report.counts.fail:
        return report
    from looptck.report.diagnosis import diagnosis_of  # noqa: PLC0415 - see looptck.cli.choosing
    from looptck_mutants.matrix import columns_of  # noqa: PLC0415 - nobody reads the matrix of a loop that passes

    return report.model_copy(update={"diagnosis": diagnosis_of(report, columns_of(report.profile))})


def _tests(
    chosen: list[ChosenTest], load: Callable[[], Any], description: Description, plan: Plan, isolation: Isolation
) -> Iterator[TestReport]:
    """The report of each test as soon as it is there."""
    from looptck import session  # noqa: PLC0415 - see looptck.cli.choosing
    from looptck.report.excuses import excused  # noqa: PLC0415 - see looptck.cli.choosing

    if description.refused:
        for item in chosen:
            yield excused(_refused(item, description), plan.known, plan.pinned)
        return
    here = isolation == "none"
    with insisting() if here else nullcontext(), progress(len(chosen), "checking", shown=not here) as advance:
        for item in session.observe_all(chosen, load, isolation=isolation, jobs=plan.jobs, limit=plan.limit):
            yield excused(session.judged(item, description.lacks), plan.known, plan.pinned)
            advance()


def _refused(item: ChosenTest, description: Description) -> TestReport:
    """The report of a test whose target cannot be used."""
    from looptck.session import judged  # noqa: PLC0415 - see looptck.cli.choosing

    seen = item.profile.observation
    item.observed = {
        scenario.name: (scenario, seen(scenario.name, died=description.refused, blame="target"))
        for scenario in item.scenarios
    }
    return judged(item, {})


def _header(target: Target, chosen: list[ChosenTest], plan: Plan) -> dict[str, Any]:
    from looptck.wire import sayable  # noqa: PLC0415 - see looptck.cli.choosing

    return {
        "verb": "check",
        "kit": __version__,
        "target": sayable(target.text),
        "profile": plan.profile,
        "seed": plan.seed,
        "requirements": plan.pinned,
        "tests": [item.test.name for item in chosen],
    }


def _footer(report: Report) -> dict[str, Any]:
    counts = report.counts.model_dump(by_alias=True)
    return {"verdict": report.verdict, "counts": counts, "stale": report.stale, "exit_code": report.exit_code()}


def _again(report: Report, plan: Plan, check_id: str) -> str:
    """The command that repeats a check; one of a scenario file is a replay of that."""
    from looptck.report.again import again, replayed  # noqa: PLC0415 - see looptck.cli.choosing

    return replayed(report, plan.files[check_id]) if check_id in plan.files else again(report, check_id)


def _print(
    out: Console,
    report: Report,
    chosen: list[ChosenTest],
    description: Description,
    plan: Plan,
    seconds: float,
) -> None:
    from looptck.report.console import (  # noqa: PLC0415 - see looptck.cli.choosing
        print_diagnosis,
        print_excused,
        print_failures,
        print_grounds,
        print_summary,
        print_test,
    )

    if description.refused:
        typer.echo(f"looptck: {one_line(description.refused)}", err=True)
    else:
        for test in report.tests:
            print_test(out, test, max(40, *(len(test.name) for test in report.tests)))
        observed = {item.test.name: item.observed for item in chosen}
        print_failures(out, report, observed, lambda check_id: _again(report, plan, check_id))
        print_excused(out, report)
        print_diagnosis(out, report)
        seen = [observation for item in chosen for _, observation in item.observed.values()]
        print_grounds(out, sum(getattr(observation, "settled_by", "") == "window" for observation in seen))
    print_summary(out, report, seconds)
