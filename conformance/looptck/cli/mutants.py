"""`looptck mutants`: every mutant of the reference against the suite."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

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
    from looptck_mutants.manifest import Mutant
    from looptck_mutants.outcome import MutantsReport

EXIT_INCOMPLETE = 2


@app.command()
def mutants(
    ids: Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="Only these mutants.")] = None,
    *,
    profile: ProfileOption = "ag03",
    seed: SeedOption = None,
    json: JsonOption = None,
    matrix: Annotated[bool, typer.Option("--matrix", help="Print which tests killed which mutants.")] = False,
    jobs: JobsOption = 0,
) -> int:
    """Confirm that every mutant of the reference is killed by the check meant for it."""
    from looptck_mutants.harness import Harness, RedBaselineError  # noqa: PLC0415 - `looptck --help` needs no harness
    from looptck_mutants.manifest import ManifestError  # noqa: PLC0415 - likewise
    from looptck_mutants.profiles import mutants_of  # noqa: PLC0415 - likewise

    known_profile(profile)
    writable(json)
    number = drawn(seed)
    out = console(quiet=json == "-")
    try:
        chosen = _chosen(mutants_of(profile), ids or [])
        harness = Harness(profile, REFERENCES[profile], number, jobs)
        out.print(f"Found {len(chosen)} mutants of {profile} (seed {number})")
        baseline = harness.baseline()
    except (ManifestError, RedBaselineError) as error:
        typer.echo(f"looptck: {' '.join(str(error).split())}", err=True)
        return EXIT_INCOMPLETE
    out.print(f"Baseline: {baseline.checks} checks pass on the unmutated loop in {baseline.wall_s:.1f} s")
    with progress(len(chosen), "mutants") as advance:
        report = harness.run(chosen, baseline, advance)
    _print(report, quiet=json == "-", matrix=matrix)
    write_json(report.model_dump_json(by_alias=True, indent=1), json)
    return report.exit_code()


def _chosen(known: tuple[Mutant, ...], ids: list[str]) -> list[Mutant]:
    unknown = [name for name in ids if name not in {mutant.id for mutant in known}]
    if unknown:
        raise UsageError(f"there is no mutant {unknown[0]!r}; there are {known[0].id} to {known[-1].id}")
    return [mutant for mutant in known if not ids or mutant.id in ids]


def _print(report: MutantsReport, *, quiet: bool, matrix: bool) -> None:
    from looptck_mutants.console import print_matrix, print_outcome  # noqa: PLC0415 - see mutants

    out = console(quiet=quiet)
    if matrix:
        print_matrix(out, report)
    print_outcome(out, report)
