"""What is mutated and by which patches: the kit's own reference loops, or a loop of somebody else's (`foreign`)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from looptck.target import REFERENCES, Target, parse_target
from looptck_mutants.mutated_import import installed_sources
from looptck_mutants.outcome import MutantReport
from looptck_mutants.patchfile import PACKAGE, apply, load, parse
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

    `loop` is a target, `package.module:Name`; `package` is the top-level package that the patches change, or the module
    where `one_file` is set. `root` is the folder that the package is imported from, None where it is installed.
    `patches` is the folder of the patches, `given` what the user called it: empty for the kit's own. `tests` is the
    path of the suite that judges in place of the profile's own, "" for none, and `known` maps the checks of the latter
    that the loop is known to fail to the reasons.
    """

    profile: str
    loop: str
    package: str
    patches: Traversable
    mutants: tuple[Mutant, ...]
    root: Path | None = None
    one_file: bool = False
    given: str = ""
    tests: str = ""
    known: Mapping[str, str] = field(default_factory=dict)

    @property
    def foreign_loop(self) -> str:
        """The loop, where it is not the kit's own; else nothing."""
        return self.loop if self.given else ""

    def target(self) -> Target:
        """The loop, to be loaded in a child. Raises `UnknownTargetError`."""
        return parse_target(self.loop, {})

    def sources(self) -> dict[str, str]:
        """The text of every module of the package, by module name, without importing it.

        Raises `ModuleNotFoundError` where there is no such package, `UnicodeDecodeError` where a file is not UTF-8.
        """
        return installed_sources(self.package, self.root)

    def patch(self, mutant: Mutant | MutantReport) -> Patch:
        """The patch of a mutant, parsed. Raises `BadPatch`, and `OSError` where it is gone."""
        package = f"{self.package}.py" if self.one_file else self.package
        if text := _own_diff(mutant):
            return parse(text, mutant.id, package=package)
        return load(self.patches / mutant.patch, package=package)

    def patch_text(self, mutant: Mutant | MutantReport) -> str:
        """The text of a mutant's patch; what is not UTF-8 in it is replaced, for a patch may be refused for that.

        Raises `OSError` where it is gone.
        """
        return _own_diff(mutant) or (self.patches / mutant.patch).read_bytes().decode(errors="replace")

    def patched(self, mutant: Mutant, sources: Mapping[str, str]) -> Mapping[str, str]:
        """The modules that a mutant changes, as patched. Raises `PatchError` where its patch does not fit."""
        return apply(self.patch(mutant), sources)


def _own_diff(mutant: Mutant | MutantReport) -> str:
    """The patch of a mutant that mutmut made, which has no file of its own; "" for any other."""
    return mutant.diff if isinstance(mutant, MutantReport) else ""


def reference_project(profile: str) -> Project:
    """The reference loop of a profile, with the kit's own mutants. Raises `ManifestError`."""
    return Project(profile, REFERENCES[profile], PACKAGE, patches_of(profile), mutants_of(profile))
