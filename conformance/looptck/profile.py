"""A profile: what the machinery of the kit has to know of one specification.

Everything that observes, judges and reports is written once and is given a profile; what differs between the
specifications stands here, as the functions and types that each brings.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from looptck.suite import PROFILES, tests_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType

    from looptck.report.model import Verdict
    from looptck.report.row import Row
    from looptck.suite.model import Test

_REMEMBERED = 256
"""Observations that are kept by their JSON: of most mutants, most are those of the unmutated loop to the letter."""

__all__ = ["PROFILES", "Profile", "profile_of"]


@dataclass(frozen=True, slots=True)
class Profile:
    """One specification's suite, and how its loops are driven, observed and shown.

    `adapt` makes an adapter of a class and its module. `observe` takes an adapter, a scenario and a limit in seconds.
    `observation` is the type of what comes out; every field but the scenario's name has a default. `encode` and
    `decode` are its JSON. `spoiled` tells whether a run left something behind that would disturb the next, `obstacle`
    what keeps an observation from being judged, `remarks` what helps to understand a failed check. `evidence` puts
    scenario and observation together, and `rows` tells such evidence as a worked example.
    """

    name: str
    tests: tuple[Test, ...]
    adapt: Callable[[Any, ModuleType], Any]
    observe: Callable[[Any, Any, float], Any]
    observation: type[Any]
    encode: Callable[[Any], bytes]
    decode: Callable[[bytes], Any]
    spoiled: Callable[[Any], bool]
    obstacle: Callable[[Any], tuple[Verdict, str] | None]
    remarks: Callable[[Any], list[str]]
    evidence: Callable[[Any, Any], Any]
    rows: Callable[[Any], Sequence[Row]]
    over_limit: str
    """What is said of a loop that outlasts the real-time limit without giving the kit a turn."""


@cache
def profile_of(name: str) -> Profile:
    """The profile of that name. Raises `KeyError` for an unknown one."""
    return {"ag03": _ag03, "lesson4": _lesson4}[name]()


def _ag03() -> Profile:
    from looptck import observation  # noqa: PLC0415 - loaded with the profile that needs it
    from looptck.adapter import ContractAdapter  # noqa: PLC0415 - likewise
    from looptck.observe import observe_here  # noqa: PLC0415 - likewise
    from looptck.report import worked  # noqa: PLC0415 - likewise
    from looptck.suite.evidence import Evidence  # noqa: PLC0415 - likewise

    return Profile(
        name="ag03",
        tests=tests_of("ag03"),
        adapt=lambda loop, _module: ContractAdapter(loop),
        observe=lambda adapter, scenario, limit: observe_here(adapter, scenario, limit=limit),
        observation=observation.Observation,
        encode=observation.to_json,
        decode=lru_cache(_REMEMBERED)(observation.from_json),
        spoiled=lambda seen: any(run.status in {"unfinished", "timeout"} for run in seen.invocations),
        obstacle=worked.obstacle,
        remarks=worked.remarks,
        evidence=Evidence,
        rows=worked.rows,
        over_limit="the real-time limit passed while the event loop had no turn: "
        "something computes or blocks without await",
    )


def _lesson4() -> Profile:
    from looptck.lesson4 import observation, worked  # noqa: PLC0415 - loaded with the profile that needs it
    from looptck.lesson4.adapter import ContractAdapter  # noqa: PLC0415 - likewise
    from looptck.lesson4.evidence import Evidence  # noqa: PLC0415 - likewise
    from looptck.lesson4.observe import observe_here  # noqa: PLC0415 - likewise

    return Profile(
        name="lesson4",
        tests=tests_of("lesson4"),
        adapt=ContractAdapter,
        observe=lambda adapter, scenario, _limit: observe_here(adapter, scenario),
        observation=observation.Observation,
        encode=observation.to_json,
        decode=lru_cache(_REMEMBERED)(observation.from_json),
        spoiled=lambda _seen: False,
        obstacle=lambda _seen: None,
        remarks=worked.remarks,
        evidence=Evidence,
        rows=worked.rows,
        over_limit="the real-time limit passed before run() returned",
    )
