"""`looptck mutants`: every mutant of the reference against the suite."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from looptck import __version__
from looptck.cli import UsageError, app
from looptck.cli.options import (
    FolderOption,
    FormatOption,
    HtmlOption,
    JobsOption,
    JsonOption,
    ProfileOption,
    SeedOption,
    console,
    drawn,
    known_profile,
    progress,
)
from looptck.cli.outputs import Outputs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from looptck_mutants.harness import Harness
    from looptck_mutants.manifest import Mutant
    from looptck_mutants.outcome import Baseline, MutantReport, MutantsReport

EXIT_INCOMPLETE = 2


@app.command()
def mutants(
    ids: Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="Only these mutants.")] = None,
    *,
    profile: ProfileOption = "ag03",
    seed: SeedOption = None,
    json: JsonOption = None,
    html: HtmlOption = None,
    report: FolderOption = None,
    output_format: FormatOption = "text",
    matrix: Annotated[bool, typer.Option("--matrix", help="Print which tests killed which mutants.")] = False,
    jobs: JobsOption = 0,
) -> int:
    """Confirm that every mutant of the reference is killed by the check meant for it."""
    from looptck_mutants.harness import RedBaselineError  # noqa: PLC0415 - `looptck --help` needs no harness
    from looptck_mutants.manifest import ManifestError  # noqa: PLC0415 - likewise

    known_profile(profile)
    outputs = Outputs(json=json, html=html, folder=report, github=output_format == "github")
    outputs.look()
    try:
        return _mutants(ids or [], profile, drawn(seed), jobs, outputs, matrix=matrix)
    except (ManifestError, RedBaselineError) as error:
        typer.echo(f"looptck: {' '.join(str(error).split())}", err=True)
        return EXIT_INCOMPLETE


def _mutants(ids: list[str], profile: str, seed: int, jobs: int, outputs: Outputs, *, matrix: bool) -> int:

    from looptck_mutants import github  # noqa: PLC0415 - see mutants
    from looptck_mutants.harness import Harness  # noqa: PLC0415 - see mutants
    from looptck_mutants.outcome import how_many  # noqa: PLC0415 - see mutants
    from looptck_mutants.project import reference_project  # noqa: PLC0415 - see mutants

    project = reference_project(profile)
    chosen = _chosen(project.mutants, ids)
    out = console(quiet=outputs.quiet)
    harness = Harness(project, seed, jobs)
    out.print(f"Found {how_many(len(chosen))} of {profile} (seed {seed})")
    baseline = harness.baseline()
    out.print(f"Baseline: {baseline.checks} checks pass on the unmutated loop in {baseline.wall_s:.1f} s")
    report = _run(harness, chosen, baseline, outputs)
    _print(report, quiet=outputs.quiet, matrix=matrix)
    outputs.write(
        json=report.model_dump_json(by_alias=True, indent=1),
        html=lambda: _html(report, chosen, harness.sources),
    )
    outputs.annotate(lambda: github.mutants_annotations(report), lambda: github.mutants_summary(report))
    return report.exit_code()


def _html(report: MutantsReport, mutants: Sequence[Mutant], sources: Mapping[str, str]) -> str:
    from looptck_mutants.html import mutants_html  # noqa: PLC0415 - only for who wants one

    return mutants_html(report, mutants, sources)


def _run(harness: Harness, chosen: list[Mutant], baseline: Baseline, outputs: Outputs) -> MutantsReport:
    """The report; each mutant goes to the folder of `--report` as soon as its fate is known."""
    header = {
        "verb": "mutants",
        "kit": __version__,
        "profile": harness.project.profile,
        "seed": harness.seed,
        "baseline": baseline.model_dump(),
        "mutants": [mutant.id for mutant in chosen],
    }
    with outputs.open(header) as folder, progress(len(chosen), "mutants") as advance:

        def done(mutant: MutantReport) -> None:
            if folder is not None:
                folder.add("mutant", mutant.model_dump())
            advance()

        report = harness.run(chosen, baseline, done)
        if folder is not None:
            folder.finish({"counts": report.counts.model_dump(), "exit_code": report.exit_code()})
    return report


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
