"""What is mutated and by which patches: the kit's own reference loops, or a loop of somebody else's."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from looptck.target import REFERENCES
from looptck_mutants.mutated_import import installed_sources
from looptck_mutants.patchfile import PACKAGE, apply, load
from looptck_mutants.profiles import mutants_of, patches_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from importlib.resources.abc import Traversable
    from pathlib import Path

    from looptck_mutants.manifest import Mutant
    from looptck_mutants.patchfile import Patch


@dataclass(frozen=True, slots=True)
class Project:
    """A loop and its mutants.

    `loop` is `package.module:Name`, `package` the top-level package that the patches change. `root` is the folder that
    the package is imported from, None where it is installed. `patches` is the folder of the patches.
    """

    profile: str
    loop: str
    package: str
    patches: Traversable
    mutants: tuple[Mutant, ...]
    root: Path | None = None

    def sources(self) -> dict[str, str]:
        """The text of every module of the package, by module name, without importing it.

        Raises `ModuleNotFoundError` where there is no such package.
        """
        if self.root is not None and str(self.root) not in sys.path:
            sys.path.insert(0, str(self.root))
        return installed_sources(self.package)

    def patch(self, mutant: Mutant) -> Patch:
        """The patch of a mutant, parsed. Raises `BadPatch`."""
        return load(self.patches / mutant.patch, package=self.package)

    def patched(self, mutant: Mutant, sources: Mapping[str, str]) -> Mapping[str, str]:
        """The modules that a mutant changes, as patched. Raises `PatchError` where its patch does not fit."""
        return apply(self.patch(mutant), sources)


def reference_project(profile: str) -> Project:
    """The reference loop of a profile, with the kit's own mutants. Raises `ManifestError`."""
    return Project(profile, REFERENCES[profile], PACKAGE, patches_of(profile), mutants_of(profile))
