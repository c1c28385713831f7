"""`looptck mutants`: mutants of a loop, by patches or by mutmut, against the suite or somebody's tests."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from looptck.cli import UsageError, app
from looptck.cli.concluding import conclude, on_the_mutants, print_found
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
    named,
)
from looptck.cli.outputs import Outputs
from looptck.cli.suites import judged_by_tests
from looptck.cli.systematic import (
    Asked,
    LoopOption,
    SourceOption,
    StageOption,
    SystematicOption,
    TestsOption,
    TriageOption,
    systematic,
)
from looptck.exit_codes import EXIT_INCOMPLETE

if TYPE_CHECKING:
    from collections.abc import Callable

    from looptck_mutants.manifest import Mutant
    from looptck_mutants.project import Project

ManifestOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--manifest", metavar="DIR", help="Mutants of a loop of your own, as the manifest in DIR says."),
]


@app.command()
def mutants(
    context: typer.Context,
    ids: Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="Only these mutants.")] = None,
    *,
    profile: ProfileOption = "ag03",
    manifest: ManifestOption = None,
    by_mutmut: SystematicOption = False,
    source: SourceOption = None,
    loop: LoopOption = None,
    tests: TestsOption = None,
    stage: StageOption = None,
    triage: TriageOption = None,
    seed: SeedOption = None,
    json: JsonOption = None,
    html: HtmlOption = None,
    report: FolderOption = None,
    output_format: FormatOption = "text",
    matrix: Annotated[bool, typer.Option("--matrix", help="Print which tests killed which mutants.")] = False,
    jobs: JobsOption = 0,
) -> int:
    """Run the mutants of a loop, the reference or yours, and tell which the suite, or your tests, did not kill."""
    known_profile(profile)
    find = partial(_reference, profile) if manifest is None else partial(_foreign, manifest, context)
    outputs = Outputs(json=json, html=html, folder=report, github=output_format == "github")
    outputs.look()
    places = {"--manifest": manifest, "--source": source, "--tests": tests, "--stage": stage, "--triage": triage}
    for option, place in places.items():
        named(option, place)
    asked = Asked(source=source, loop=loop, tests=tests, stage=stage, triage=triage)
    if by_mutmut and manifest is not None:
        raise UsageError("--manifest: its patches are the mutants, and with --systematic mutmut makes them; choose one")
    if by_mutmut and ids:
        raise UsageError(f"{ids[0]}: ids are those of patches, and with --systematic mutmut makes the mutants")
    if by_mutmut:
        return systematic(asked, profile, seed, jobs, outputs, matrix=matrix)
    asked.only_with_systematic()
    return _by_patches(find, ids or [], tests or "", drawn(seed), jobs, outputs, matrix=matrix)


def _by_patches(
    find: Callable[[], Project], ids: list[str], tests: str, seed: int, jobs: int, outputs: Outputs, *, matrix: bool
) -> int:
    """The mutants of the project's patches, judged by tests of somebody's where there are any."""
    from looptck_mutants.harness import RedBaselineError  # noqa: PLC0415 - `looptck --help` needs no harness
    from looptck_mutants.manifest import ManifestError  # noqa: PLC0415 - likewise

    project: Project | None = None
    try:
        project = find()
        chosen = _chosen(project.mutants, ids)
        if given := tests or project.tests:
            return judged_by_tests(given, project, chosen, seed, jobs, outputs, matrix=matrix)
        return _by_suite(project, chosen, seed, jobs, outputs, matrix=matrix)
    except (ManifestError, RedBaselineError) as error:
        text = " ".join(str(error).split())
        if project is not None and project.given and isinstance(error, ManifestError):
            raise UsageError(text) from None
        typer.echo(f"looptck: {text}", err=True)
        return EXIT_INCOMPLETE


def _reference(profile: str) -> Project:
    from looptck_mutants.project import reference_project  # noqa: PLC0415 - see _by_patches

    return reference_project(profile)


def _foreign(manifest: str, context: typer.Context) -> Project:
    """The project of a manifest, which says its profile itself. Raises `UsageError` where it cannot be read."""
    from looptck_mutants.foreign import load_project  # noqa: PLC0415 - see _by_patches
    from looptck_mutants.manifest import ManifestError  # noqa: PLC0415 - see _by_patches

    source = context.get_parameter_source("profile")
    if source is not None and source.name == "COMMANDLINE":
        raise UsageError("--profile: the manifest says which it is; leave one of them out")
    try:
        return load_project(manifest)
    except ManifestError as error:
        raise UsageError(" ".join(str(error).split())) from None


def _by_suite(project: Project, chosen: list[Mutant], seed: int, jobs: int, outputs: Outputs, *, matrix: bool) -> int:
    from looptck_mutants.harness import Harness  # noqa: PLC0415 - see _by_patches

    harness = Harness(project, seed, jobs)
    print_found(harness, chosen, outputs)
    baseline = harness.baseline()
    passed = f"Baseline: {baseline.checks} checks pass on the unmutated loop in {baseline.wall_s:.1f} s"
    console(quiet=outputs.quiet).print(passed)
    report = on_the_mutants(harness, chosen, baseline, outputs)
    return conclude(report, lambda: (project, harness.sources), outputs, matrix=matrix)


def _chosen(known: tuple[Mutant, ...], ids: list[str]) -> list[Mutant]:
    unknown = [name for name in ids if name not in {mutant.id for mutant in known}]
    if unknown:
        raise UsageError(f"there is no mutant {unknown[0]!r}; there are {known[0].id} to {known[-1].id}")
    return [mutant for mutant in known if not ids or mutant.id in ids]
