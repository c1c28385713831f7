"""One observation judged by the oracle: whether it differs, which requirement that breaks, and how much it counts.

The same judgement serves the fuzzer, `looptck replay` and scenarios in a folder; for the latter two it is a check.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from looptck.durability import is_swept
from looptck.judge import obstacle_of
from looptck.oracle import Difference, differences, unpredicted
from looptck.oracle.readings import TooOpenError
from looptck.requirements import requirements

if TYPE_CHECKING:
    from looptck.profile import Profile


OPEN = "open"
"""What a run is called of which nothing can be said, since too much is left open."""
Level: TypeAlias = Literal["must", "should", "incomplete", "fault"]
_UNJUDGED: dict[str, tuple[str, Level]] = {"fail": ("crash", "must"), "incomplete": ("limit", "incomplete")}
"""By what stands in the way of judging a run: what that is called, and how much it counts."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A scenario's observation, judged.

    `broken` is the id of the requirement that does not hold, or `crash`, `limit` or `open` where the run could not be
    judged, for the reason in `why`; it is empty where nothing differs. `level` is that of the requirement; a crash is
    held against what a loop must do.
    """

    scenario: Any
    observation: Any
    broken: str = ""
    level: Level = "must"
    difference: Difference | None = None
    why: str = ""

    @property
    def differs(self) -> bool:
        """Whether anything is not as predicted."""
        return bool(self.broken)

    def size(self) -> int:
        """Characters of the scenario as JSON, defaults left out: of two failures the shorter is the better."""
        return len(self.scenario.model_dump_json(exclude_defaults=True))


def judge_one(profile: Profile, scenario: Any, observation: Any) -> Judged:
    """Judge an observation. A requirement that a loop must keep comes before one of good sense."""
    obstacle = obstacle_of(profile, scenario, observation)
    if obstacle is not None:
        verdict, why = obstacle
        broken, level = _UNJUDGED.get(verdict, ("fault", "fault"))
        return Judged(scenario, observation, broken, level, why=why)
    try:
        found = worst_of(profile, _differences(profile, scenario, observation))
    except TooOpenError as error:
        return Judged(scenario, observation, OPEN, "incomplete", why=str(error))
    if found is None:
        return Judged(scenario, observation)
    return Judged(scenario, observation, found.requirement, requirements(profile.name)[found.requirement].level, found)


def unjudged(profile: Profile, scenario: Any) -> str | None:
    """Why nothing can be said of what a run of the scenario has to be, in one line; None where something can."""
    return None if _is_swept(profile, scenario) else unpredicted(profile, scenario)


def _is_swept(profile: Profile, scenario: Any) -> bool:
    return profile.name == "ag03" and is_swept(scenario)


def _differences(profile: Profile, scenario: Any, observation: Any) -> tuple[Difference, ...]:
    if not _is_swept(profile, scenario):
        return differences(profile, scenario, observation)
    from looptck.suite.ag03.crash_sweep import TEST  # noqa: PLC0415 - only for what is swept

    evidence = profile.evidence(scenario, observation)
    found = [(check, check.function(evidence)) for check in TEST.checks]
    return tuple(
        Difference(check.requirement, check.id, finding.expected, finding.seen)
        for check, finding in found
        if not finding.ok
    )


def worst_of(profile: Profile, found: tuple[Difference, ...]) -> Difference | None:
    """The first difference that breaks a must, else the first; None where there is none."""
    records = requirements(profile.name)
    musts = (one for one in found if records[one.requirement].level == "must")
    return next(musts, found[0] if found else None)
