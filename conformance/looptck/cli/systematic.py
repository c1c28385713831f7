"""`looptck mutants --systematic`: the mutants that mutmut makes of a loop, against the suite or somebody's tests."""

from __future__ import annotations

import os
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from looptck.cli import UsageError
from looptck.cli.concluding import afterwards, conclude
from looptck.cli.options import drawn, progress
from looptck.exit_codes import EXIT_INCOMPLETE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from looptck.cli.outputs import Outputs
    from looptck_mutants.outcome import MutantsReport
    from looptck_mutants.project import Project
    from looptck_mutants.systematic.subject import Subject
    from looptck_mutants.systematic.triage import Entry

SystematicOption: TypeAlias = Annotated[
    bool, typer.Option("--systematic", help="The mutants that mutmut makes of the loop, in place of the patches.")
]
SourceOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--source", metavar="PATH", help="With --systematic: your file or package, not the reference."),
]
LoopOption: TypeAlias = Annotated[
    str | None, typer.Option("--loop", metavar="MODULE:NAME", help="With --source: the class; Agent of it by default.")
]
TestsOption: TypeAlias = Annotated[
    str | None, typer.Option("--tests", metavar="PATH", help="Your tests judge, not the suite: a file or folder.")
]
StageOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--stage", metavar="DIR", help="With --systematic: keep the results; a next run redoes what changed."),
]
TriageOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--triage", metavar="FILE", help="With --source: entries that explain mutants that get away."),
]


@dataclass(frozen=True, slots=True)
class Asked:
    """The options that belong to `--systematic`."""

    source: str | None
    loop: str | None
    tests: str | None
    stage: str | None
    triage: str | None

    def only_with_systematic(self) -> None:
        """Raises `UsageError` where one of them was given without it."""
        for option in ("source", "loop", "stage", "triage"):
            if getattr(self, option) is not None:
                raise UsageError(f"--{option} belongs to --systematic")

    def only_with_source(self) -> None:
        """Raises `UsageError` where one that needs `--source` was given without it."""
        for option in ("loop", "tests", "triage"):
            if self.source is None and getattr(self, option) is not None:
                raise UsageError(f"--{option} needs --source: the reference has its own")


def systematic(asked: Asked, profile: str, seed: int | None, jobs: int, outputs: Outputs, *, matrix: bool) -> int:
    """Run, print, write; the exit code. Raises `UsageError`."""
    from looptck_mutants.harness import RedBaselineError  # noqa: PLC0415 - `looptck --help` needs no mutants
    from looptck_mutants.systematic.results import ResultsError  # noqa: PLC0415 - likewise
    from looptck_mutants.systematic.running import MutmutError  # noqa: PLC0415 - likewise

    subject, entries = _subject(asked, profile)
    try:
        report = _run(asked, subject, entries, seed, jobs, outputs)
    except (RedBaselineError, MutmutError, ResultsError) as error:
        typer.echo(f"looptck: {' '.join(str(error).split())}", err=True)
        return EXIT_INCOMPLETE
    return conclude(report, lambda: _patches(report, subject), outputs, matrix=matrix)


def _subject(asked: Asked, profile: str) -> tuple[Subject, Sequence[Entry]]:
    from looptck_mutants.systematic.running import NoMutmutError, look_for_mutmut  # noqa: PLC0415 - see systematic
    from looptck_mutants.systematic.subject import (  # noqa: PLC0415 - see systematic
        SubjectError,
        reference_subject,
        source_subject,
    )
    from looptck_mutants.systematic.triage import TriageError, load_triage, own_triage  # noqa: PLC0415 - see systematic

    asked.only_with_source()
    try:
        look_for_mutmut()
        if asked.source is None:
            return reference_subject(profile), load_triage(own_triage(profile))
        subject = source_subject(asked.source, profile, asked.loop or "", asked.tests or "")
        return subject, load_triage(Path(asked.triage)) if asked.triage is not None else ()
    except (NoMutmutError, SubjectError, TriageError) as error:
        raise UsageError(str(error)) from None


def _run(
    asked: Asked, subject: Subject, entries: Sequence[Entry], seed: int | None, jobs: int, outputs: Outputs
) -> MutantsReport:
    from looptck_mutants.systematic.outcome import Run, run_systematically  # noqa: PLC0415 - see systematic
    from looptck_mutants.systematic.staging import StageError  # noqa: PLC0415 - see systematic

    with afterwards(subject.profile, subject.loop, outputs) as write, ExitStack() as stack:
        stage = asked.stage or stack.enter_context(tempfile.TemporaryDirectory(prefix="looptck-"))
        run = Run(subject, Path(stage).resolve(), seed, drawn(None), jobs or os.cpu_count() or 1, entries)
        try:
            report = run_systematically(run, _teller(stack))
        except StageError as error:
            raise UsageError(f"--stage {error}") from None
        write(report)
    return report


def _teller(stack: ExitStack) -> Callable[[int, int], None]:
    """Advances a bar, which is there from the first count on."""
    advance: list[Callable[[], None]] = []
    shown = 0

    def tell(through: int, total: int) -> None:
        nonlocal shown
        if not advance:
            advance.append(stack.enter_context(progress(total, "mutants")))
        for _ in range(through - shown):
            advance[0]()
        shown = max(shown, through)

    return tell


def _patches(report: MutantsReport, subject: Subject) -> tuple[Project, dict[str, str]]:
    from looptck_mutants.systematic.outcome import project_of  # noqa: PLC0415 - only for who wants a page

    return project_of(subject, report)
