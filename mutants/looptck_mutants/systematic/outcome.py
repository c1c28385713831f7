"""One run from the subject to the report: the stage, mutmut, its results, the entries of the triage file."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from looptck.profile import profile_of
from looptck_mutants.harness import KitFaultError, RedBaselineError
from looptck_mutants.outcome import (
    GOT_AWAY,
    Baseline,
    KillerReport,
    MutantReport,
    MutantsReport,
    SuiteReport,
    SuiteTest,
    Systematic,
    counts_of,
)
from looptck_mutants.profiles import patches_of
from looptck_mutants.project import Project
from looptck_mutants.systematic.recording import record_file
from looptck_mutants.systematic.results import Found, module_of, read_recorded, read_results, read_tests
from looptck_mutants.systematic.running import MutmutError, look_for_mutmut, run_mutmut
from looptck_mutants.systematic.staging import make_stage
from looptck_mutants.systematic.triage import explain

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from looptck_mutants.systematic.subject import Subject
    from looptck_mutants.systematic.triage import Entry

_TITLE = 100


@dataclass(frozen=True, slots=True)
class Run:
    """What a run needs: the subject, the folder of its stage, a seed or one to take for None, children at a time."""

    subject: Subject
    stage: Path
    seed: int | None
    drawn: int
    jobs: int
    entries: Sequence[Entry] = ()


def run_systematically(run: Run, tell: Callable[[int, int], None]) -> MutantsReport:
    """Mutate, judge, report. `tell` is given how many mutants of how many are through.

    Raises `RedBaselineError` where the tests do not pass on the loop as it is, `KitFaultError`, `MutmutError`,
    `ResultsError`, `StageError`.
    """
    begun = time.perf_counter()
    tool = look_for_mutmut()
    settings = make_stage(run.subject, run.stage, run.seed, run.drawn)
    before = _stamps(run.stage)
    try:
        run_mutmut(run.stage, run.subject.beside, run.jobs, tell)
    except MutmutError:
        _look_at_baseline(run.stage)  # what is red is a better reason
        raise
    _look_at_baseline(run.stage)
    found = read_results(run.stage, run.subject.mutated)
    redone = sum(before.get(name) != stamp for name, stamp in _stamps(run.stage).items())
    explained = explain([mutant for mutant in found if mutant.fate()[0] in GOT_AWAY], run.entries)
    mutants = [_report(mutant, explained.known.get(mutant.id)) for mutant in found]
    wall = time.perf_counter() - begun
    return MutantsReport(
        profile=run.subject.profile,
        loop="" if run.subject.is_reference else run.subject.loop,
        seed=settings.seed,
        baseline=Baseline(verdict="pass", checks=0 if run.subject.tests else _checks(run.subject.profile), wall_s=0.0),
        counts=counts_of(mutants),
        wall_s=round(wall, 3),
        mutants=mutants,
        suite=_suite(run, found) if run.subject.tests else None,
        systematic=Systematic(
            tool=f"mutmut {tool}",
            redone=redone,
            per_s=round(redone / wall, 2),
            explained=len(explained.known),
            stale=explained.stale,
        ),
    )


def _suite(run: Run, found: Sequence[Found]) -> SuiteReport:
    """Somebody's tests, and how many mutants each of them killed."""
    kills = Counter(test for mutant in found for test in mutant.recorded.failed)
    tests = [SuiteTest(id=test, counts=True, reason="", kills=kills[test]) for test in read_tests(run.stage)]
    return SuiteReport(path=run.subject.given_tests, tests=tests)


def project_of(subject: Subject, report: MutantsReport) -> tuple[Project, dict[str, str]]:
    """The subject as a project, and the texts of its modules, as the HTML page takes them.

    The mutants of the report hold their patches themselves.
    """
    first, _, rest = subject.mutated[0].partition("/")
    sources = {module_of(place): text for place, text in subject.sources().items()}
    project = Project(
        profile=report.profile,
        loop=subject.loop,
        package=first.removesuffix(".py"),
        patches=patches_of(report.profile),
        mutants=(),
        one_file=not rest,
        given=subject.given,
    )
    return project, sources


def _stamps(stage: Path) -> dict[str, int]:
    """When the records of each mutant were written: those that a run writes are of mutants that it ran."""
    folder = record_file(stage, "").parent
    ours = folder.glob("*__mutmut_*") if folder.is_dir() else ()
    return {file.name: file.stat().st_mtime_ns for file in ours}


def _look_at_baseline(stage: Path) -> None:
    recorded = read_recorded(stage)
    _no_fault(recorded.faults, "the unmutated loop")
    red = [*((check, "fails") for check in recorded.failed), *recorded.unjudged.items(), *recorded.errors.items()]
    if red:
        more = f" (and {len(red) - 1} more)" if len(red) > 1 else ""
        raise RedBaselineError(f"the tests do not pass on the unmutated loop: {red[0][0]}{more}: {red[0][1]}")


def _no_fault(faults: Mapping[str, str], whose: str) -> None:
    for check, message in faults.items():
        raise KitFaultError.of_check(check, whose, message)


def _checks(profile: str) -> int:
    return sum(len(test.checks) for test in profile_of(profile).tests)


def _report(mutant: Found, entry: Entry | None) -> MutantReport:
    _no_fault(mutant.recorded.faults, mutant.id)
    fate, message = mutant.fate()
    if entry is not None:
        fate, message = "equivalent", f"{entry.why}: {' '.join(entry.argument.split())}"
    title = next((line[2:] for line in mutant.change.split("\n") if line[:1] == "+"), mutant.change)
    return MutantReport(
        id=mutant.id,
        title=title if len(title) <= _TITLE else title[: _TITLE - 1] + "…",
        pitfall=None,
        patch=mutant.place,
        killer=KillerReport(test="", check=""),
        verdict=fate,
        killed_by=list(mutant.recorded.failed),
        message=message,
        diff=mutant.diff,
    )
