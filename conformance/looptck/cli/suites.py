"""`looptck mutants --tests PATH`: the mutants against somebody's tests."""

from __future__ import annotations

import importlib.util
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from looptck import __version__
from looptck.cli import UsageError
from looptck.cli.options import console, progress
from looptck.report.text import one_line

if TYPE_CHECKING:
    from rich.console import Console

    from looptck.cli.outputs import Outputs
    from looptck_mutants.manifest import Mutant
    from looptck_mutants.outcome import Baseline, MutantReport, MutantsReport
    from looptck_mutants.project import Project
    from looptck_mutants.suites.harness import SuiteHarness


def judged_by_tests(
    tests: str, project: Project, chosen: list[Mutant], seed: int, jobs: int, outputs: Outputs, *, matrix: bool
) -> int:
    """Run, print, write; the exit code. Raises `UsageError` where there is no pytest or no tests, `ManifestError`."""
    if importlib.util.find_spec("pytest") is None:
        raise UsageError('--tests needs pytest: python -m pip install "looptck[pytest]"')

    from looptck_mutants import github  # noqa: PLC0415 - `looptck --help` needs no mutants
    from looptck_mutants.console import print_matrix, print_outcome  # noqa: PLC0415 - likewise
    from looptck_mutants.html import mutants_html  # noqa: PLC0415 - likewise
    from looptck_mutants.suites.forking import Zygotes  # noqa: PLC0415 - likewise
    from looptck_mutants.suites.harness import SuiteHarness  # noqa: PLC0415 - likewise
    from looptck_mutants.suites.suite import NoSuiteError, read_suite  # noqa: PLC0415 - likewise
    from looptck_mutants.suites.warming import warmed  # noqa: PLC0415 - likewise

    out = console(quiet=outputs.quiet)
    with tempfile.TemporaryDirectory(prefix="looptck-") as place:
        try:
            suite = read_suite(tests, Path(place))
            with Zygotes(warmed(project, suite), jobs) as zygotes:
                harness = SuiteHarness(project, suite, seed, zygotes)
                report = _run(harness, chosen, outputs, out)
        except NoSuiteError as error:
            raise UsageError(f"--tests {' '.join(str(error).split())}") from None
    if matrix:
        print_matrix(out, report)
    print_outcome(out, report)
    outputs.write(
        json=report.model_dump_json(by_alias=True, indent=1),
        html=lambda: mutants_html(report, project, harness.sources),
    )
    outputs.annotate(lambda: github.mutants_annotations(report), lambda: github.mutants_summary(report))
    return report.exit_code()


def _run(harness: SuiteHarness, chosen: list[Mutant], outputs: Outputs, out: Console) -> MutantsReport:
    from looptck_mutants.foreign import check_killers  # noqa: PLC0415 - see judged_by_tests
    from looptck_mutants.outcome import how_many  # noqa: PLC0415 - see judged_by_tests

    project = harness.project
    out.print(f"Found {how_many(len(chosen))} of {project.foreign_loop or project.profile} (seed {harness.seed})")
    baseline = harness.baseline()
    check_killers(project, harness.reasons)
    _print_suite(harness, baseline, out)
    before = dict(harness.reasons)
    report = _on_the_mutants(harness, chosen, baseline, outputs)
    for test in (test for test, reason in harness.reasons.items() if reason != before[test]):
        out.print(f"  {one_line(test)} counts no more: {one_line(harness.reasons[test])}", markup=False)
    return report


def _print_suite(harness: SuiteHarness, baseline: Baseline, out: Console) -> None:
    from looptck_mutants.outcome import how_many  # noqa: PLC0415 - see judged_by_tests

    tests = how_many(len(harness.reasons), "test")
    out.print(
        f"Suite: {baseline.checks} of {tests} of {harness.suite.name} pass on the unmutated loop, every time, "
        f"in {baseline.wall_s:.1f} s",
        markup=False,
    )
    for test, reason in harness.reasons.items():
        if reason:
            out.print(f"  {one_line(test)} does not count: {one_line(reason)}", markup=False)


def _on_the_mutants(harness: SuiteHarness, chosen: list[Mutant], baseline: Baseline, outputs: Outputs) -> MutantsReport:
    """The report. Each mutant goes to the folder of `--report` at once, and again where its fate is another later."""
    header = {
        "verb": "mutants",
        "kit": __version__,
        "profile": harness.project.profile,
        "loop": harness.project.loop,
        "tests": harness.suite.name,
        "seed": harness.seed,
        "baseline": baseline.model_dump(),
        "mutants": [mutant.id for mutant in chosen],
    }
    written: dict[str, MutantReport] = {}
    with outputs.open(header) as folder, progress(len(chosen), "mutants") as advance:

        def done(mutant: MutantReport) -> None:
            if folder is not None and written.get(mutant.id) != mutant:
                folder.add("mutant", mutant.model_dump())
            written[mutant.id] = mutant
            advance()

        report = harness.run(chosen, baseline, done)
        for mutant in report.mutants:
            done(mutant)
        if folder is not None:
            suite = report.suite.model_dump() if report.suite is not None else None
            counts = report.counts.model_dump()
            folder.finish({"counts": counts, "suite": suite, "exit_code": report.exit_code()})
    return report
