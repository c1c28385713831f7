"""What the page shows of each mutant, worked out beforehand: the template only writes it down."""

from __future__ import annotations

import re
from dataclasses import dataclass
from posixpath import commonpath, dirname, relpath
from typing import TYPE_CHECKING, Any

from looptck.suite import tests_of
from looptck_mutants.judges import groups_of, is_own, letter
from looptck_mutants.lines import lines_of
from looptck_mutants.outcome import GOT_AWAY, NOT_RUN
from looptck_mutants.stryker import label_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from looptck_mutants.judges import Group
    from looptck_mutants.outcome import Fate, MutantReport, MutantsReport
    from looptck_mutants.project import Project

_MANY = (1, 2, 4, 8)
"""From how many failed checks on a cell of the matrix gets its next shade."""
_WORD = re.compile("[A-Z]?[^A-Z_]*_*")
_CLASSES = {"+++": "file", "---": "file", "@@ ": "hunk", "+": "add", "-": "del", " ": "same"}
"""What a line of a patch is, by how it starts."""


@dataclass(frozen=True, slots=True)
class Failed:
    """A check that failed on a mutant."""

    id: str
    statement: str
    meant: bool


@dataclass(frozen=True, slots=True)
class Cell:
    """One mutant under one test: which checks failed, and whether the mutant is meant for this test."""

    test: str
    failed: tuple[Failed, ...]
    meant: bool

    @property
    def hit(self) -> bool:
        """Whether the mutant's own check is among those that failed."""
        return any(check.meant for check in self.failed)

    @property
    def shade(self) -> int:
        """From 0, nothing failed, to 4."""
        return sum(len(self.failed) >= bound for bound in _MANY)


@dataclass(frozen=True, slots=True)
class Exhibit:
    """One mutant: its row of the matrix and what opens below. `links` leads to its files in the source view."""

    mutant: MutantReport
    fate: str
    label: str
    argument: str
    statement: str
    cells: tuple[Cell, ...]
    diff: tuple[tuple[str, str], ...]
    links: tuple[tuple[str, str], ...]

    @property
    def good(self) -> bool:
        """Whether there is nothing to do about it."""
        return self.mutant.verdict not in (*GOT_AWAY, *NOT_RUN)


@dataclass(frozen=True, slots=True)
class Column:
    """A test as a column of the matrix: how many mutants it noticed, and how many of those that are meant for it."""

    letter: str
    name: str
    noticed: int
    hit: int
    meant: int

    @property
    def words(self) -> list[str]:
        """The name in pieces between which a line may break."""
        return [word for word in _WORD.findall(self.name) if word]


def exhibits_of(report: MutantsReport, project: Project, stryker: Mapping[str, Any]) -> list[Exhibit]:
    """The mutants in the order of the report; `stryker` is the report that the source view is given."""
    arguments = {mutant.id: mutant.equivalent or "" for mutant in project.mutants}
    groups = groups_of(report)
    statements = {check.id: check.statement for test in tests_of(report.profile) for check in test.checks}
    links = _links(stryker)
    return [
        Exhibit(
            mutant=mutant,
            fate=fate_name(mutant.verdict),
            label=label_of(mutant),
            argument=arguments.get(mutant.id, ""),
            statement=statements.get(mutant.killer.check, ""),
            cells=tuple(_cell(group, mutant) for group in groups),
            diff=tuple(_diff(project.patch_text(mutant))),
            links=tuple(links.get(mutant.id, {}).items()),
        )
        for mutant in report.mutants
    ]


def columns_of(exhibits: Sequence[Exhibit]) -> list[Column]:
    """The columns; there are none without a mutant."""
    columns = zip(*(exhibit.cells for exhibit in exhibits), strict=True)
    return [
        Column(
            letter=letter(place),
            name=cells[0].test,
            noticed=sum(bool(cell.failed) for cell in cells),
            hit=sum(cell.hit for cell in cells),
            meant=sum(cell.meant for cell in cells),
        )
        for place, cells in enumerate(columns)
    ]


def outcome_of(report: MutantsReport) -> list[tuple[Fate, str, int]]:
    """Each fate that a mutant met, its name, and how many met it."""
    counts: dict[Fate, int] = report.counts.model_dump()  # type: ignore[assignment]
    return [(fate, fate_name(fate), number) for fate, number in counts.items() if number]


def fate_name(fate: Fate) -> str:
    """A fate in words."""
    return fate.replace("_", " ")


def _cell(group: Group, mutant: MutantReport) -> Cell:
    return Cell(
        test=group.name,
        failed=tuple(Failed(each.id, each.statement, is_own(mutant, each.id)) for each in group.failed(mutant)),
        meant=any(is_own(mutant, each.id) for each in group.judges),
    )


def _diff(patch: str) -> Iterator[tuple[str, str]]:
    """The lines of a patch with what each of them is."""
    for line in (line.rstrip("\r\n") for line in lines_of(patch)):
        yield next((kind for start, kind in _CLASSES.items() if line.startswith(start)), "same"), line


def _links(stryker: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """For each mutant its files, and the fragment that shows each; the elements leave out the folder they share."""
    files = stryker["files"]
    shared = commonpath([dirname(path) for path in files]) if files else ""
    links: dict[str, dict[str, str]] = {}
    for path, file in files.items():
        for entry in file["mutants"]:
            mutant = entry["id"].partition("/")[0]
            links.setdefault(mutant, {})[path] = f"#mutant/{relpath(path, shared or '.')}"
    return links
