"""Mutants in the scenarios of the tests that have to kill them, beside what the oracle predicts of those."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from tests.conformance.oracle.beside import SEED, Levels, _mutated

from looptck import oracle
from looptck.isolate import Batch, observe_forked
from looptck.profile import profile_of
from looptck.requirements import requirements
from looptck.suite.labels import Labels
from looptck.warm import warm
from looptck_mutants.profiles import mutants_of
from looptck_mutants.project import reference_project

if TYPE_CHECKING:
    from looptck.profile import Profile
    from looptck_mutants.manifest import Mutant


def levels_where_killed(name: str) -> Levels:
    """How grave what each mutant breaks is, in the scenarios of its killer's test that can be predicted.

    All scenarios of the suite with all mutants cost four times as much, and show no more.
    """
    profile, project, records = profile_of(name), reference_project(name), requirements(name)
    sources, mutants = project.sources(), mutants_of(name)
    levels = {mutant.id: (set[str](), str(records[_killer(profile, mutant).requirement].level)) for mutant in mutants}
    batches = [
        Batch(place, _mutated(project, project.patched(mutant, sources)), scenarios, profile)
        for place, mutant in enumerate(mutants)
        if (scenarios := _scenarios(profile, mutant))
    ]
    warm(profile, [scenario for batch in batches for scenario in batch.scenarios])
    for batch, place, observation in observe_forked(batches, jobs=os.cpu_count() or 1):
        assert observation.blame in {"loop", "limit"}, observation.died
        found = oracle.differences(profile, batch.scenarios[place], observation)
        levels[mutants[batch.key].id][0].update(str(records[one.requirement].level) for one in found)
    return levels


def _killer(profile: Profile, mutant: Mutant) -> Any:
    assert mutant.killer is not None
    checks = {check.id: check for test in profile.tests for check in test.checks}
    return checks[mutant.killer.check]


def _scenarios(profile: Profile, mutant: Mutant) -> list[Any]:
    """The scenarios of the killer's test that can be predicted."""
    killer = _killer(profile, mutant)
    test = next(test for test in profile.tests if killer in test.checks)
    scenarios = test.build(Labels(SEED, test.name))
    return [scenario for scenario in scenarios if oracle.unpredicted(profile, scenario) is None]
