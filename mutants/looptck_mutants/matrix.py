"""The kill matrix as it was recorded: which checks each mutant fails, shipped for the diagnosis of other loops.

`python -m looptck_mutants.matrix` records that of every profile anew, beside this file, under several seeds: a column
holds what failed under each of them.
"""

from __future__ import annotations

import json
import sys
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from looptck.report.diagnosis import Column
from looptck.report.model import Data
from looptck.suite import PROFILES, tests_of
from looptck_mutants.pitfalls import PITFALLS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from looptck_mutants.outcome import MutantsReport

SEEDS = (1, 2, 3)
_FOLDER = "matrices"


class Recorded(Data):
    """What a mutant is, the checks that it failed under every seed, and those that it failed only under some."""

    id: str
    title: str
    pitfall: int | str | None
    killer: str
    failed: list[str]
    sometimes: list[str]


class Matrix(Data):
    """The mutants of a profile in the order of its manifest; but for equivalent ones, which fail nothing."""

    profile: str
    seeds: list[int]
    mutants: list[Recorded]


class NotRecordedError(Exception):
    """A mutant that was not killed under every seed has no column, and without a green suite none has; one line."""


def recorded(reports: Sequence[MutantsReport]) -> Matrix:
    """The matrix of the same mutants run once for each seed. Raises `NotRecordedError`."""
    mutants = []
    for together in zip(*(report.mutants for report in reports), strict=True):
        first = together[0]
        if all(one.verdict == "equivalent" for one in together):
            continue
        for report, one in zip(reports, together, strict=True):
            if one.verdict != "killed":
                msg = f"{one.id} of {report.profile} is {one.verdict}, not killed, with seed {report.seed}"
                raise NotRecordedError(msg)
        runs = [set(one.killed_by) for one in together]
        always = set.intersection(*runs)
        mutants.append(
            Recorded(
                id=first.id,
                title=first.title,
                pitfall=first.pitfall,
                killer=first.killer.check,
                failed=sorted(always),
                sometimes=sorted(set.union(*runs) - always),
            )
        )
    return Matrix(profile=reports[0].profile, seeds=[report.seed for report in reports], mutants=mutants)


def out_of_date(matrix: Matrix, report: MutantsReport) -> list[str]:
    """What a run of the mutants, with any seed, says against the matrix; a line each."""
    known = {mutant.id: mutant for mutant in matrix.mutants}
    lines = [f"{name}: there is no such mutant" for name in known.keys() - {mutant.id for mutant in report.mutants}]
    for mutant in report.mutants:
        was = known.get(mutant.id)
        if was is None:
            lines += [] if mutant.verdict == "equivalent" else [f"{mutant.id}: not recorded"]
            continue
        for what, one, other in (
            ("title", was.title, mutant.title),
            ("pitfall", was.pitfall, mutant.pitfall),
            ("killer", was.killer, mutant.killer.check),
            ("failed", was.failed, sorted(set(mutant.killed_by) - set(was.sometimes))),
        ):
            lines += [f"{mutant.id}: {what} is {other!r}, recorded is {one!r}"] if one != other else []
    return sorted(lines)


def text_of(matrix: Matrix) -> str:
    """The file of a matrix: JSON with a line for each mutant, so that a difference can be read."""
    head = json.dumps(matrix.model_dump(exclude={"mutants"}), ensure_ascii=False)[:-1]
    lines = ",\n".join(json.dumps(mutant.model_dump(), ensure_ascii=False) for mutant in matrix.mutants)
    return f'{head}, "mutants": [\n{lines}\n]}}\n'


def matrix_of(profile: str) -> Matrix:
    """The matrix of a profile, as shipped."""
    text = (files("looptck_mutants") / _FOLDER / f"{profile}.json").read_text(encoding="utf-8")
    return Matrix.model_validate_json(text)


def columns_of(profile: str) -> list[Column]:
    """The columns of that matrix, with what is to be said of each."""
    statements = {check.id: check.statement for test in tests_of(profile) for check in test.checks}
    return [
        Column(
            id=mutant.id,
            title=mutant.title,
            pitfall=mutant.pitfall,
            explanation=PITFALLS.get(mutant.pitfall, "") if mutant.pitfall is not None else "",
            check=mutant.killer,
            statement=statements.get(mutant.killer, ""),  # whose check is no more takes no part either
            failed=frozenset(mutant.failed),
            sometimes=frozenset(mutant.sometimes),
        )
        for mutant in matrix_of(profile).mutants
    ]


def run(profile: str, seed: int) -> MutantsReport:
    """All mutants of a profile. Raises `NotRecordedError` where the suite does not pass, and `KitFaultError`."""
    from looptck_mutants.harness import Harness, RedBaselineError  # noqa: PLC0415 - only who records the matrix runs mutants
    from looptck_mutants.project import reference_project  # noqa: PLC0415 - likewise

    project = reference_project(profile)
    harness = Harness(project, seed)
    try:
        return harness.run(project.mutants, harness.baseline(), lambda _report: None)
    except RedBaselineError as error:
        raise NotRecordedError(str(error)) from error


def record(folder: Path, run: Callable[[str, int], MutantsReport] = run) -> None:
    """Write the matrix of every profile into a folder. Raises `NotRecordedError` and what `run` raises."""
    for profile in PROFILES:
        matrix = recorded([run(profile, seed) for seed in SEEDS])
        (folder / f"{profile}.json").write_text(text_of(matrix), encoding="utf-8")


if __name__ == "__main__":
    try:
        record(Path(__file__).with_name(_FOLDER))
    except NotRecordedError as error:
        sys.exit(f"looptck: {error}")
