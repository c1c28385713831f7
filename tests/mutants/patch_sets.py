"""What the tests of the patches that ship share: how large a patch is, what it makes of the reference, how it fares."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from looptck_mutants.harness import Harness
from looptck_mutants.mutated_import import installed_sources
from looptck_mutants.patchfile import PACKAGE, Patch, apply, load
from looptck_mutants.profiles import known_checks, mutants_of, patches_of
from looptck_mutants.project import reference_project

if TYPE_CHECKING:
    from looptck_mutants.manifest import Mutant
    from looptck_mutants.outcome import MutantsReport

SEED = 1
SOURCES = installed_sources(PACKAGE)


class Size(NamedTuple):
    """How much a patch changes: files, hunks, and lines taken out or put in."""

    files: int
    hunks: int
    lines: int


LARGEST = Size(files=2, hunks=3, lines=20)
"""No patch changes more than this."""


class PatchSet:
    """The mutants of a profile."""

    def __init__(self, profile: str) -> None:
        self.profile = profile
        self.mutants = mutants_of(profile)
        self.checks = known_checks(profile)

    def size(self, mutant: Mutant) -> Size:
        """How much its patch changes."""
        files = self._patch(mutant).files
        hunks = [hunk for file in files for hunk in file.hunks]
        return Size(len(files), len(hunks), sum(not line.is_context for hunk in hunks for line in hunk.body))

    def loop(self, mutant: Mutant) -> dict[str, str]:
        """The modules that it changes, as patched. Raises `PatchError` where the installed reference is another."""
        return dict(apply(self._patch(mutant), SOURCES))

    def _patch(self, mutant: Mutant) -> Patch:
        return load(patches_of(self.profile) / mutant.patch)


def report_of(profile: str, every: int) -> MutantsReport:
    """One in `every` mutants of a profile against every check; for a process that has not imported the reference."""
    harness = Harness(reference_project(profile), SEED)
    return harness.run(mutants_of(profile)[::every], harness.baseline(), lambda _report: None)
