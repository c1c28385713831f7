"""A profile: what the machinery of the kit has to know of one specification.

Everything that observes, judges and reports is written once and is given a profile; what differs between the
specifications stands here, as the functions and types that each brings.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING, Any

from looptck.suite import PROFILES, tests_of
from looptck.suite.labels import Labels

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType

    from looptck.report.lanes import Timeline
    from looptck.report.model import Verdict
    from looptck.report.row import Row
    from looptck.suite.model import Test

_REMEMBERED = 256
"""Observations that are kept by their JSON: of most mutants, most are those of the unmutated loop to the letter."""

__all__ = ["PROFILES", "Profile", "profile_of"]


@dataclass(frozen=True, slots=True)
class Profile:
    """One specification's suite, and how its loops are driven, observed and shown.

    `adapt` makes an adapter of what a target names and its module (`looptck.adapting`). `observe` takes an adapter, a
    scenario and a limit in seconds. `observation` is the type of what comes out; every field but the scenario's name
    has a default. `encode` and `decode` are its JSON, `scenario_to_json` and `scenario_from_json` that of a scenario.
    `spoiled` tells whether a run left something behind that would disturb the next, `obstacle` what keeps an
    observation from being judged, `remarks` what helps to understand a failed check. `evidence` puts scenario and
    observation together, `rows` tells such evidence as a worked example, and `timeline` as a picture. `as_written` has
    the lines of a scenario's calls as the model writes them, to be shown, by those that are compared.
    """

    name: str
    tests: tuple[Test, ...]
    adapt: Callable[[Any, ModuleType], Any]
    observe: Callable[[Any, Any, float], Any]
    observation: type[Any]
    encode: Callable[[Any], bytes]
    decode: Callable[[bytes], Any]
    scenario_to_json: Callable[[Any], str]
    scenario_from_json: Callable[[str], Any]
    spoiled: Callable[[Any], bool]
    obstacle: Callable[[Any, Any], tuple[Verdict, str] | None]
    remarks: Callable[[Any], list[str]]
    evidence: Callable[[Any, Any], Any]
    as_written: Callable[[Any], dict[str, str]]
    rows: Callable[[Any], Sequence[Row]]
    timeline: Callable[[Any], Timeline | None]
    over_limit: str
    """What is said of a loop that outlasts the real-time limit without giving the kit a turn."""


@cache
def profile_of(name: str) -> Profile:
    """The profile of that name. Raises `KeyError` for an unknown one."""
    return {"ag03": _ag03, "lesson4": _lesson4}[name]()


def _features(name: str) -> frozenset[str]:
    """The features that a scenario of the profile asks for: those that an adapter may lack."""
    scenarios = (scenario for test in tests_of(name) for scenario in test.build(Labels(0, test.name)))
    return frozenset[str]().union(*(scenario.features() for scenario in scenarios))


def _ag03() -> Profile:
    from looptck import adapting, observation, scenario  # noqa: PLC0415 - loaded with the profile that needs it
    from looptck.adapter import ContractAdapter  # noqa: PLC0415 - likewise
    from looptck.observe import observe_here  # noqa: PLC0415 - likewise
    from looptck.report import timeline, worked  # noqa: PLC0415 - likewise
    from looptck.suite.evidence import Evidence, calls_as_written  # noqa: PLC0415 - likewise

    features = partial(_features, "ag03")
    return Profile(
        name="ag03",
        tests=tests_of("ag03"),
        adapt=partial(adapting.adapter_of, ways=adapting.ag03(lambda loop, _: ContractAdapter(loop), features)),
        observe=lambda adapter, scenario, limit: observe_here(adapter, scenario, limit=limit),
        observation=observation.Observation,
        encode=observation.to_json,
        decode=lru_cache(_REMEMBERED)(observation.from_json),
        scenario_to_json=scenario.Scenario.model_dump_json,
        scenario_from_json=scenario.Scenario.model_validate_json,
        spoiled=lambda seen: any(run.status in {"unfinished", "timeout"} for run in seen.invocations),
        obstacle=worked.obstacle,
        remarks=worked.remarks,
        evidence=Evidence,
        as_written=calls_as_written,
        rows=worked.rows,
        timeline=timeline.timeline,
        over_limit="the real-time limit passed while the event loop had no turn: "
        "something computes or blocks without await",
    )


def _lesson4() -> Profile:
    from looptck import adapting  # noqa: PLC0415 - loaded with the profile that needs it
    from looptck.lesson4 import observation, scenario, timeline, worked  # noqa: PLC0415 - likewise
    from looptck.lesson4.adapter import ContractAdapter  # noqa: PLC0415 - likewise
    from looptck.lesson4.evidence import Evidence, calls_as_written  # noqa: PLC0415 - likewise
    from looptck.lesson4.observe import observe_here  # noqa: PLC0415 - likewise

    features = partial(_features, "lesson4")
    return Profile(
        name="lesson4",
        tests=tests_of("lesson4"),
        adapt=partial(adapting.adapter_of, ways=adapting.lesson4(ContractAdapter, features)),
        observe=lambda adapter, scenario, _limit: observe_here(adapter, scenario),
        observation=observation.Observation,
        encode=observation.to_json,
        decode=lru_cache(_REMEMBERED)(observation.from_json),
        scenario_to_json=scenario.Scenario.model_dump_json,
        scenario_from_json=scenario.Scenario.model_validate_json,
        spoiled=lambda _seen: False,
        obstacle=lambda _scenario, _seen: None,
        remarks=worked.remarks,
        evidence=Evidence,
        as_written=calls_as_written,
        rows=worked.rows,
        timeline=timeline.timeline,
        over_limit="the real-time limit passed before run() returned",
    )
