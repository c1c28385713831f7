"""What is known of mutants that got away: a file of entries, each with its argument, none of which may grow old.

    [[entry]]
    function = "looptck_reference.limits.open_turn"
    why = "equivalent"
    argument = "why nothing can tell it from the original"
    changes = ['''
    - if a < b:
    + if a <= b:
    ''']

An entry is for one function, and names changes of it by the lines that go and come, without indentation: the numbers of
mutants change with every edit. A change that is made in two places stands there twice. `why` is `equivalent`, or
`outside`: it can be told from the original, and both do what the specification says, or leaves open.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, ValidationError

from looptck_mutants.manifest import Record, Text
from looptck_mutants.systematic.results import change_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from importlib.resources.abc import Traversable

    from looptck_mutants.systematic.results import Found

__all__ = ["Entry", "Explained", "TriageError", "explain", "load_triage", "own_triage"]


class TriageError(Exception):
    """A file that cannot be used; the text is one line: the file, the entry, what is wrong."""


class Entry(Record):
    """Changes of one function that may get away, and why."""

    function: Text
    why: Literal["equivalent", "outside"]
    argument: Text
    changes: Annotated[tuple[Text, ...], Field(min_length=1)]


class _Triage(Record):
    entry: tuple[Entry, ...] = ()


@dataclass(frozen=True, slots=True)
class Explained:
    """`known` are the entries of mutants by id; `stale` a line for each change of an entry that nothing answers to."""

    known: dict[str, Entry]
    stale: list[str]


def own_triage(profile: str) -> Traversable:
    """The file of a reference loop."""
    return files("looptck_mutants") / "triage" / f"{profile}.toml"


def load_triage(file: Traversable | Path) -> tuple[Entry, ...]:
    """The entries. Raises `TriageError` where the file is missing, malformed, or says something twice."""
    try:
        entries = _Triage.model_validate(tomllib.loads(file.read_text(encoding="utf-8"))).entry
    except OSError as error:
        raise TriageError(f"{file.name}: {error.strerror}") from None
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise TriageError(f"{file.name}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    except ValueError as error:  # no TOML, no UTF-8
        raise TriageError(f"{file.name}: {' '.join(str(error).split())}") from None
    seen: set[tuple[str, str]] = set()
    for entry in entries:
        keys = {(entry.function, change_of(change)) for change in entry.changes}
        for function, change in sorted(keys):
            if not change:
                raise TriageError(f"{file.name}: {function}: a change needs lines that begin with - or +")
            if (function, change) in seen:
                raise TriageError(f"{file.name}: {function}: two entries have the change {_shown(change)}")
        seen |= keys
    return entries


def explain(away: Iterable[Found], entries: Sequence[Entry]) -> Explained:
    """Which entries explain which of the mutants that got away, and which explain none."""
    left = Counter((entry.function, change_of(change)) for entry in entries for change in entry.changes)
    of_change = {(entry.function, change_of(change)): entry for entry in entries for change in entry.changes}
    known: dict[str, Entry] = {}
    for mutant in away:
        key = mutant.function, mutant.change
        if left[key] > 0:
            left[key] -= 1
            known[mutant.id] = of_change[key]
    stale = [f"{function}: no mutant gets away by {_shown(change)}" for function, change in left.elements()]
    return Explained(known, sorted(stale))


def _shown(change: str) -> str:
    return " / ".join(change.splitlines())
