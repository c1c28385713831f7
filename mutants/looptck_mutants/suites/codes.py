"""The code of a package in the forms in which runs are given it: as written, in disguise, patched and in disguise."""

from __future__ import annotations

import contextlib
import marshal
from random import Random
from typing import TYPE_CHECKING

from looptck_mutants.mutated_import import installed_files
from looptck_mutants.suites.disguise import disguise

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

_DISGUISES = 2
"""How many disguises there are of the modules that a mutant leaves alone."""

Modules = dict[str, tuple[str, str, bytes]]


class Codes:
    """The modules of a package by their texts, but for those that are no Python.

    What is drawn depends on the seed and on what it is drawn for, never on what was drawn before: the threads that ask
    for it come in any order.
    """

    def __init__(self, package: str, root: Path | None, sources: Mapping[str, str], seed: int) -> None:
        self._places = _places(package, root)
        self._seed = seed
        self.plain = _compiled(sources, self._places)
        self._sources = {name: sources[name] for name in self.plain}
        self._disguises = [self._disguised(self._sources, Random(f"{seed}/{which}")) for which in range(_DISGUISES)]

    def disguised(self, changed: Mapping[str, str], run: str) -> Modules:
        """All modules in disguise, those in `changed` with these texts and drawn anew for the run of this name.

        Raises `SyntaxError` where a text is no Python.
        """
        chance = Random(f"{self._seed}/{run}")
        return {**chance.choice(self._disguises), **self._disguised(changed, chance)}

    def original(self, names: Iterable[str], run: str) -> Modules:
        """All modules unmutated and in disguise, those of these names drawn anew for the run of this name."""
        return self.disguised({name: self._sources[name] for name in names if name in self._sources}, run)

    def _disguised(self, texts: Mapping[str, str], chance: Random) -> Modules:
        return {
            name: (*self._places[name], marshal.dumps(disguise(text, self._places[name][0], chance)))
            for name, text in texts.items()
        }


def _compiled(texts: Mapping[str, str], places: Mapping[str, tuple[str, str]]) -> Modules:
    """The modules that are Python. What is not, a template perhaps, is left to those who find it on disk."""
    found: Modules = {}
    for name, text in texts.items():
        with contextlib.suppress(SyntaxError, ValueError):  # the latter for a text with a null byte
            # As bytes, like a file: with a mark at its start, and an encoding that it declares, if there are any.
            code = compile(text.encode(), places[name][0], "exec", dont_inherit=True)
            found[name] = (*places[name], marshal.dumps(code))
    return found


def _places(package: str, root: Path | None) -> dict[str, tuple[str, str]]:
    """The file of each module, and the folder of a package, "" for any other module."""
    files = installed_files(package, root)
    return {name: (str(file), str(file.parent) if file.name == "__init__.py" else "") for name, file in files.items()}
