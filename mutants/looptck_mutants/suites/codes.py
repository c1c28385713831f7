"""The code of a package in the forms in which runs are given it: as written, in disguise, patched and in disguise."""

from __future__ import annotations

import marshal
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from looptck_mutants.mutated_import import find
from looptck_mutants.suites.disguise import disguise

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_DISGUISES = 2
"""How many disguises there are of the modules that a mutant leaves alone."""

Modules = dict[str, tuple[str, str, bytes]]


class Codes:
    """The modules of a package by their texts.

    What is drawn depends on the seed and on what it is drawn for, never on what was drawn before: the threads that ask
    for it come in any order.
    """

    def __init__(self, package: str, root: Path | None, sources: Mapping[str, str], seed: int) -> None:
        self._sources = sources
        self._places = _places(package, root, sources)
        self._seed = seed
        self.plain: Modules = {
            name: (*self._places[name], marshal.dumps(compile(text, self._places[name][0], "exec", dont_inherit=True)))
            for name, text in sources.items()
        }
        self._disguises = [self._disguised(sources, Random(f"{seed}/{which}")) for which in range(_DISGUISES)]

    def disguised(self, changed: Mapping[str, str], run: str) -> Modules:
        """All modules in disguise, those in `changed` with these texts and drawn anew for the run of this name.

        Raises `SyntaxError` where a text is no Python.
        """
        chance = Random(f"{self._seed}/{run}")
        return {**chance.choice(self._disguises), **self._disguised(changed, chance)}

    def original(self, names: Iterable[str], run: str) -> Modules:
        """All modules unmutated and in disguise, those of these names drawn anew for the run of this name."""
        return self.disguised({name: self._sources[name] for name in names}, run)

    def _disguised(self, texts: Mapping[str, str], chance: Random) -> Modules:
        return {
            name: (*self._places[name], marshal.dumps(disguise(text, self._places[name][0], chance)))
            for name, text in texts.items()
        }


def _places(package: str, root: Path | None, sources: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """The file of each module, and the folder of a package, "" for any other module."""
    spec = find(package, root)
    if spec.submodule_search_locations is None:
        return {package: (str(spec.origin), "")}
    places: dict[str, tuple[str, str]] = {}
    for name in sources:
        inside = name.split(".")[1:]
        for folder in (Path(each).joinpath(*inside) for each in reversed(spec.submodule_search_locations)):
            if (folder / "__init__.py").is_file():
                places[name] = (str(folder / "__init__.py"), str(folder))
            elif inside and folder.with_suffix(".py").is_file():
                places[name] = (str(folder.with_suffix(".py")), "")
    return places
