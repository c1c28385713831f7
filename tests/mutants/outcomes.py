"""Reports of mutants as a run would have made them, without a run: the shipped mutants, with fates of our choosing."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from looptck_mutants.mutated_import import installed_sources
from looptck_mutants.outcome import Baseline, KillerReport, MutantReport, MutantsReport, counts_of
from looptck_mutants.patchfile import PACKAGE
from looptck_mutants.profiles import known_checks, mutants_of
from looptck_mutants.project import reference_project

if TYPE_CHECKING:
    from looptck_mutants.manifest import Mutant
    from looptck_mutants.project import Project

SOURCES = installed_sources(PACKAGE)


def found(profile: str, name: str) -> Mutant:
    """A shipped mutant."""
    return next(mutant for mutant in mutants_of(profile) if mutant.id == name)


def with_mutants(profile: str, *mutants: Mutant) -> Project:
    """The reference of a profile, with these mutants in place of those that ship."""
    return replace(reference_project(profile), mutants=mutants)


def met(mutant: Mutant, **changes: Any) -> MutantReport:
    """A mutant that its own check killed, but for the changes."""
    assert mutant.killer is not None
    fields: dict[str, Any] = {
        "id": mutant.id,
        "title": mutant.title,
        "pitfall": mutant.pitfall,
        "patch": mutant.patch,
        "killer": KillerReport(test=mutant.killer.test, check=mutant.killer.check),
        "verdict": "killed",
        "killed_by": [mutant.killer.check],
    }
    return MutantReport(**fields | changes)


def outcome(profile: str, *mutants: MutantReport) -> MutantsReport:
    """A report of these mutants; of all that ship, each killed, where none are given."""
    shown = list(mutants) or [met(mutant) for mutant in mutants_of(profile)]
    return MutantsReport(
        profile=profile,
        seed=7,
        baseline=Baseline(verdict="pass", checks=len(known_checks(profile)), wall_s=0.5),
        counts=counts_of(shown),
        wall_s=12.34,
        mutants=shown,
    )
