"""`looptck replay TARGET FILE`: scenarios from files, each held against what the oracle predicts of it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from looptck.cli import UsageError, app
from looptck.cli.check import IsolationOption, Plan, TargetArgument, run_checks
from looptck.cli.choosing import of_files, target_of
from looptck.cli.options import HtmlOption, JobsOption, JsonOption, JunitOption, ProfileOption, known_profile
from looptck.cli.outputs import Outputs


@app.command()
def replay(
    target: TargetArgument = "",
    files: Annotated[list[str] | None, typer.Argument(metavar="FILE...", help="Scenarios as JSON.")] = None,
    *,
    profile: ProfileOption = "ag03",
    json: JsonOption = None,
    junit: JunitOption = None,
    html: HtmlOption = None,
    isolation: IsolationOption = "auto",
    jobs: JobsOption = 0,
    limit: Annotated[float, typer.Option(min=0.1, max=3600, help="Seconds of real time for one scenario.")] = 10.0,
) -> int:
    """Run scenarios that were saved, and say which requirement breaks in each.

    `looptck fuzz` saves what it finds; `looptck scenario` prints those of the suites.
    """
    from looptck.requirements import requirement_set  # noqa: PLC0415 - `looptck --help` needs no suite

    known_profile(profile)
    outputs = Outputs(json=json, junit=junit, html=html)
    outputs.look()
    loop = target_of(target, profile)
    if not files:
        raise UsageError("no scenario: give one or more files, such as `looptck fuzz` saves")
    test, names = of_files(profile, [Path(file) for file in files])
    plan = Plan(profile, 0, isolation, jobs, limit, requirement_set(profile).version, {}, names)
    return run_checks(loop, [test], plan, outputs)
