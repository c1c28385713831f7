"""`looptck mutants --tests PATH`: the mutants against somebody's tests."""

from __future__ import annotations

import importlib.util
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from looptck.cli import UsageError
from looptck.cli.concluding import conclude, on_the_mutants, print_found
from looptck.cli.options import console
from looptck.report.text import one_line

if TYPE_CHECKING:
    from rich.console import Console

    from looptck.cli.outputs import Outputs
    from looptck_mutants.manifest import Mutant
    from looptck_mutants.outcome import Baseline, MutantsReport
    from looptck_mutants.project import Project
    from looptck_mutants.suites.harness import SuiteHarness


def judged_by_tests(
    tests: str, project: Project, chosen: list[Mutant], seed: int, jobs: int, outputs: Outputs, *, matrix: bool
) -> int:
    """Run, print, write; the exit code. Raises `UsageError` where there is no pytest or no tests, `ManifestError`."""
    if importlib.util.find_spec("pytest") is None:
        raise UsageError('--tests needs pytest: python -m pip install "looptck[pytest]"')

    from looptck_mutants.suites.forking import Zygotes  # noqa: PLC0415 - `looptck --help` needs no mutants
    from looptck_mutants.suites.harness import SuiteHarness  # noqa: PLC0415 - likewise
    from looptck_mutants.suites.suite import NoSuiteError, read_suite  # noqa: PLC0415 - likewise
    from looptck_mutants.suites.warming import warmed  # noqa: PLC0415 - likewise

    with tempfile.TemporaryDirectory(prefix="looptck-") as place:
        try:
            suite = read_suite(tests, Path(place))
            with Zygotes(warmed(project, suite), jobs) as zygotes:
                harness = SuiteHarness(project, suite, seed, zygotes)
                report = _run(harness, chosen, outputs)
        except NoSuiteError as error:
            raise UsageError(f"--tests {' '.join(str(error).split())}") from None
    return conclude(report, lambda: (project, harness.sources), outputs, matrix=matrix)


def _run(harness: SuiteHarness, chosen: list[Mutant], outputs: Outputs) -> MutantsReport:
    from looptck_mutants.foreign import check_killers  # noqa: PLC0415 - see judged_by_tests

    out = console(quiet=outputs.quiet)
    print_found(harness, chosen, outputs)
    baseline = harness.baseline()
    check_killers(harness.project, harness.reasons)
    _print_suite(harness, baseline, out)
    before = dict(harness.reasons)
    report = on_the_mutants(harness, chosen, baseline, outputs, tests=harness.suite.name)
    for test in (test for test, reason in harness.reasons.items() if reason != before[test]):
        out.print(f"  {one_line(test)} counts no more: {one_line(harness.reasons[test])}", markup=False)
    return report


def _print_suite(harness: SuiteHarness, baseline: Baseline, out: Console) -> None:
    from looptck.report.text import how_many  # noqa: PLC0415 - see judged_by_tests

    tests = how_many(len(harness.reasons), "test")
    out.print(
        f"Suite: {baseline.checks} of {tests} of {harness.suite.name} pass on the unmutated loop, every time, "
        f"in {baseline.wall_s:.1f} s",
        markup=False,
    )
    for test, reason in harness.reasons.items():
        if reason:
            out.print(f"  {one_line(test)} does not count: {one_line(reason)}", markup=False)
