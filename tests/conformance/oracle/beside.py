"""The suite's scenarios of a profile, run by loops and mutants, beside what the oracle predicts of them."""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, TypeAlias

from looptck import oracle
from looptck.isolate import Batch, observe_forked
from looptck.profile import profile_of
from looptck.suite.labels import Labels
from looptck.target import REFERENCES, parse_target
from looptck.warm import warm
from looptck_mutants.mutated_import import serving

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from looptck_mutants.project import Project

SEED = 1
_OPEN = ExitStack()
Levels: TypeAlias = dict[str, tuple[set[str], str]]
"""By mutant, the levels of the requirements that it breaks, and the level of what its killer checks."""


def predicted(profile: str) -> list[Any]:
    """The scenarios of the suite that can be predicted."""
    tests = profile_of(profile).tests
    scenarios = [scenario for test in tests for scenario in test.build(Labels(SEED, test.name))]
    return [scenario for scenario in scenarios if oracle.unpredicted(profile_of(profile), scenario) is None]


def differing(profile: str, target: str) -> dict[str, list[str]]:
    """By scenario, the requirements that a loop breaks; nothing for a correct one."""
    return _differing(profile, {target: _loader(profile, target)})[target]


def _differing(profile: str, loaders: Mapping[str, Callable[[], Any]]) -> dict[str, dict[str, list[str]]]:
    scenarios, judged = predicted(profile), profile_of(profile)
    warm(judged, scenarios)
    batches = [Batch(n, load, scenarios, judged) for n, load in enumerate(loaders.values())]
    names, found = list(loaders), {name: dict[str, list[str]]() for name in loaders}
    for batch, place, observation in observe_forked(batches, jobs=os.cpu_count() or 1):
        assert observation.blame in {"loop", "limit"}, observation.died
        differences = oracle.differences(judged, scenarios[place], observation)
        if differences:
            found[names[batch.key]][scenarios[place].name] = [one.requirement for one in differences]
    return found


def _loader(profile: str, target: str) -> Callable[[], Any]:
    known = {"reference": REFERENCES[profile]}
    return lambda: parse_target(target, known).load(profile_of(profile).adapt)


def _mutated(project: Project, sources: Mapping[str, str]) -> Callable[[], Any]:
    def load() -> Any:
        log = _OPEN.enter_context(serving(sources, project.package))  # for as long as the child lives
        adapter = project.target().load(profile_of(project.profile).adapt)
        assert not log.missing(), log.missing()
        return adapter

    return load
