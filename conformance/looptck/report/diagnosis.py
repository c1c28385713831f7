"""Which of the kit's mutants fail the checks that a loop fails: a set of checks beside the columns of the kill matrix.

The columns are handed in, so that this stands below the mutants. Pure. What is compared are sets of failed checks and
nothing else, so what is found is a likeness: another mistake may well fail the same checks.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from looptck.report.model import Data, Diagnosis, Likeness
from looptck.suite import tests_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from looptck.report.model import Report

LEAST = 0.5
"""The part of a suite that has to be evaluated for any diagnosis. A part of a column says little: on the checks of one
test many a mutant is like none, or just like another, and whoever repeats one failure has not asked what it resembles.
"""
SHOWN = 3
"""Mutants, and columns of a union, at most."""
NEAR = 0.5
"""The smallest Jaccard index of what is called near: half of all checks that either fails, both fail."""
_PARTS = (2, 3)
"""How many columns a union may have; of four, hardly any set of failed checks is none."""
_MOST_UNIONS = 1000


class Column(Data):
    """What is recorded of a mutant: the mistake, and the checks that it fails whatever the seed.

    `check` is the one that is meant for it, and `statement` what that states; `explanation` is of its pitfall.
    `sometimes` are checks that it fails only with some seeds: what became of them says nothing for or against it.
    """

    id: str
    title: str
    pitfall: int | str | None
    explanation: str
    check: str
    statement: str
    failed: frozenset[str]
    sometimes: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Kind:
    """The mutants that fail the same of the evaluated checks; the first of them stands for all."""

    failed: frozenset[str]
    sometimes: frozenset[str]
    columns: list[Column]

    def likeness(self, failed: frozenset[str]) -> float:
        """The Jaccard index of what a loop failed and this."""
        counted = failed - self.sometimes
        return len(self.failed & counted) / len(self.failed | counted)


def diagnosis_of(report: Report, columns: Iterable[Column]) -> Diagnosis | None:
    """The diagnosis of a report; None where nothing failed, or too little was evaluated.

    Evaluated is what passed, and what failed by what was seen. Known failures and news count like any other. Tests that
    run only where they are asked for do not: no mutant was held against them.
    """
    judged = {test.name for test in tests_of(report.profile)}
    checks = [check for test in report.tests if test.name in judged for check in test.checks]
    failed = frozenset(check.id for check in checks if check.told_apart())
    evaluated = failed | {check.id for check in checks if check.verdict == "pass"}
    whole = sum(len(test.checks) for test in tests_of(report.profile))
    return diagnosed(failed, evaluated, columns, whole)


def diagnosed(
    failed: frozenset[str], evaluated: frozenset[str], columns: Iterable[Column], whole: int
) -> Diagnosis | None:
    """What these failed checks resemble, over the evaluated ones of a suite of `whole` checks.

    A mutant takes part if the check that is meant for it was evaluated, and more than half of all that it fails: the
    rest of a column says too little of the mistake. Mutants of one column stand in the order that they came in.
    """
    if not failed or len(evaluated) < LEAST * whole:
        return None
    kinds = _kinds(evaluated, columns)

    def found(kind: str, mutants: Sequence[Likeness], more: int = 0) -> Diagnosis:
        numbers = {"failed": len(failed), "evaluated": len(evaluated), "checks": whole}
        return Diagnosis(kind=kind, mutants=mutants, more=more, **numbers)  # type: ignore[arg-type]

    def first(chosen: Iterable[_Kind]) -> list[Likeness]:
        return [_like(kind.columns[0], failed, evaluated, kind.columns[1:]) for kind in chosen]

    same = [column for kind in kinds if kind.likeness(failed) == 1 for column in kind.columns]
    if same:
        return found("same", [_like(one, failed, evaluated) for one in same[:SHOWN]], len(same[SHOWN:]))
    unions = _unions(failed, [kind for kind in kinds if kind.failed < failed])
    if unions:
        return found("together", first(unions[0]), len(unions) - 1)
    near = [kind for kind in kinds if kind.likeness(failed) >= NEAR]
    near.sort(key=lambda kind: -kind.likeness(failed))
    return found("near" if near else "unlike", first(near[:SHOWN]), len(near[SHOWN:]))


def _kinds(evaluated: frozenset[str], columns: Iterable[Column]) -> list[_Kind]:
    kinds: dict[tuple[frozenset[str], ...], _Kind] = {}
    for column in columns:
        part = column.failed & evaluated
        if column.check in part and 2 * len(part) > len(column.failed):
            key = (part, column.sometimes & evaluated)
            kinds.setdefault(key, _Kind(*key, [])).columns.append(column)
    return list(kinds.values())


def _unions(failed: frozenset[str], kinds: Sequence[_Kind]) -> list[list[_Kind]]:
    """The unions of as few kinds as possible that are just this set, those of the largest kinds first.

    Not more than one of them is a single check: of those alone almost any few checks can be put together.
    """
    for parts in _PARTS:
        covers = islice(_covers(failed, kinds, parts), _MOST_UNIONS)
        found = {frozenset(map(id, union)): sorted(union, key=_size) for union in covers}
        unions = [union for union in found.values() if sum(len(kind.failed) == 1 for kind in union) <= 1]
        if unions:
            return sorted(unions, key=lambda union: [_size(kind) for kind in union])
    return []


def _size(kind: _Kind) -> int:
    """Largest first."""
    return -len(kind.failed)


def _covers(missing: frozenset[str], kinds: Sequence[_Kind], parts: int) -> Iterator[list[_Kind]]:
    """Every choice of so many kinds that leaves nothing of `missing`."""
    if not missing or not parts:
        yield from [] if missing else [[]]
        return
    rarest = min(sorted(missing), key=lambda check: sum(check in kind.failed for kind in kinds))
    for kind in kinds:
        if rarest in kind.failed | kind.sometimes:
            yield from ([kind, *rest] for rest in _covers(missing - kind.failed - kind.sometimes, kinds, parts - 1))


def _like(column: Column, failed: frozenset[str], evaluated: frozenset[str], others: Iterable[Column] = ()) -> Likeness:
    part, counted = column.failed & evaluated, failed - column.sometimes
    return Likeness(
        id=column.id,
        title=column.title,
        pitfall=column.pitfall,
        explanation=column.explanation,
        check=column.check,
        statement=column.statement,
        others=[other.id for other in others],
        shared=len(part & counted),
        extra=len(counted - part),
        missing=len(part - counted),
        unseen=len(column.failed - evaluated),
    )


# ------------------------------------------------------------------------------------------------------------- in words


def headline(diagnosis: Diagnosis) -> str:
    """What is found, in one sentence; where it is one mutant, with its mistake."""
    ids = [mutant.id for mutant in diagnosis.mutants]
    match diagnosis.kind:
        case "same" if len(ids) == 1:
            text = f"fails the same checks as {ids[0]}: {diagnosis.mutants[0].title}"
        case "same":
            text = f"fails the same checks as each of {_listed(ids, diagnosis.more)}"
        case "together":
            text = f"fails the same checks as {_listed(ids)} together"
            text += f", one of {diagnosis.more + 1} such unions" if diagnosis.more else ""
        case "near":
            text = f"fails the same checks as none of the mutants; nearest: {_listed(ids, diagnosis.more)}"
        case _:
            text = "like none of the mutants"
    some = diagnosis.evaluated < diagnosis.checks
    return f"{text} (of {diagnosis.checks} checks {diagnosis.evaluated} were evaluated)" if some else text


def _listed(ids: Sequence[str], more: int = 0) -> str:
    names = [*ids, f"{more} more"] if more else list(ids)
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def remarks(diagnosis: Diagnosis) -> list[tuple[Likeness, list[str]]]:
    """Each mutant that is named, with what is to be said of it behind its id and title; no pitfall is told twice."""
    told: set[str] = set()
    found = []
    for mutant in diagnosis.mutants:
        lines = list(_compared(mutant))
        if mutant.explanation and mutant.explanation not in told:
            told.add(mutant.explanation)
            lines.append(f"pitfall {mutant.pitfall}: {mutant.explanation}")
        found.append((mutant, [*lines, f"meant for {mutant.check}: {mutant.statement}"]))
    return found


def _compared(mutant: Likeness) -> Iterator[str]:
    if mutant.extra or mutant.missing:
        text = f"fails {mutant.shared} of the {mutant.shared + mutant.extra} checks that fail here"
        others = f"{mutant.missing} other{' that passes' if mutant.missing == 1 else 's that pass'} here"
        yield f"{text}, and {others}" if mutant.missing else text
    if mutant.unseen:
        yield f"fails {mutant.unseen} more that {'was' if mutant.unseen == 1 else 'were'} not evaluated"
    if mutant.others:
        verb = "fails" if len(mutant.others) == 1 else "fail"
        yield f"{_listed(mutant.others[:SHOWN], len(mutant.others[SHOWN:]))} {verb} the same as it"
