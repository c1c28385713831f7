"""What every way of `looptck mutants` does around its run: the folder of `--report`, then text, files, exit code."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from looptck import __version__
from looptck.cli.options import console, progress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from looptck.cli.outputs import Outputs
    from looptck.report.folder import RunFolder
    from looptck_mutants.harness import Harness
    from looptck_mutants.manifest import Mutant
    from looptck_mutants.outcome import Baseline, MutantReport, MutantsReport
    from looptck_mutants.project import Project
    from looptck_mutants.suites.harness import SuiteHarness


def print_found(harness: Harness | SuiteHarness, chosen: Sequence[Mutant], outputs: Outputs) -> None:
    """Tell how many mutants of what there are, and from which seed."""
    from looptck.report.text import how_many  # noqa: PLC0415 - `looptck --help` needs no mutants

    project = harness.project
    of = project.foreign_loop or project.profile
    found = f"Found {how_many(len(chosen), 'mutant')} of {of} (seed {harness.seed})"
    console(quiet=outputs.quiet).print(found)


def on_the_mutants(
    harness: Harness | SuiteHarness, chosen: list[Mutant], baseline: Baseline, outputs: Outputs, **more: str
) -> MutantsReport:
    """The report. Each mutant goes to the folder of `--report` at once, and again where its fate is another later.

    `more` is for the header of the folder.
    """
    header = {
        **_header(harness.project.profile, harness.project.loop),
        **more,
        "seed": harness.seed,
        "baseline": baseline.model_dump(),
        "mutants": [mutant.id for mutant in chosen],
    }
    written: dict[str, MutantReport] = {}
    with outputs.open(header) as folder, progress(len(chosen), "mutants") as advance:

        def write(mutant: MutantReport) -> None:
            if folder is not None and written.get(mutant.id) != mutant:
                folder.add("mutant", mutant.model_dump())
            written[mutant.id] = mutant

        def done(mutant: MutantReport) -> None:
            write(mutant)
            advance()

        report = harness.run(chosen, baseline, done)
        for mutant in report.mutants:
            write(mutant)
        _finish(folder, report)
    return report


@contextmanager
def afterwards(profile: str, loop: str, outputs: Outputs) -> Iterator[Callable[[MutantsReport], None]]:
    """The folder of `--report`, taken before the run, and a function that writes a whole report to it."""
    with outputs.open(_header(profile, loop)) as folder:

        def write(report: MutantsReport) -> None:
            if folder is not None:
                for mutant in report.mutants:
                    folder.add("mutant", mutant.model_dump())
            _finish(folder, report)

        yield write


def _header(profile: str, loop: str) -> dict[str, str]:
    return {"verb": "mutants", "kit": __version__, "profile": profile, "loop": loop}


def _finish(folder: RunFolder | None, report: MutantsReport) -> None:
    if folder is None:
        return
    suite = {} if report.suite is None else {"suite": report.suite.model_dump()}
    folder.finish({"seed": report.seed, "counts": report.counts.model_dump(), **suite, "exit_code": report.exit_code()})


def conclude(
    report: MutantsReport, patches: Callable[[], tuple[Project, Mapping[str, str]]], outputs: Outputs, *, matrix: bool
) -> int:
    """Print, write, annotate; the exit code. `patches` gives what the HTML page shows: patches and modules' texts."""
    from looptck_mutants import github  # noqa: PLC0415 - see print_found
    from looptck_mutants.console import print_matrix, print_outcome  # noqa: PLC0415 - likewise
    from looptck_mutants.html import mutants_html  # noqa: PLC0415 - likewise

    out = console(quiet=outputs.quiet)
    if matrix:
        print_matrix(out, report)
    print_outcome(out, report)
    outputs.write(
        json=report.model_dump_json(by_alias=True, indent=1),
        html=lambda: mutants_html(report, *patches()),
    )
    outputs.annotate(lambda: github.mutants_annotations(report), lambda: github.mutants_summary(report))
    return report.exit_code()
