"""What the tests of timelines and pictures share: scenarios of both profiles, observed here, and their bars."""

from __future__ import annotations

from typing import Any

from tests.conformance.implementations_harness import ROOT

import looptck_reference
from looptck.adapter import ContractAdapter
from looptck.observe import observe_here
from looptck.profile import profile_of
from looptck.report.lanes import Bar, Timeline
from looptck.report.timeline import timeline
from looptck.scenario import Call, Invocation, Options, Said, Scenario, Tokens, Turn
from looptck.session import choose
from looptck.suite.evidence import Evidence
from looptck.target import REFERENCES, parse_target

USER = (Said(content="What is there to see?"),)
LOOK = Call(id="call_1", name="look", arguments='{"at": "sea"}', answer="a ship")
COUNT = Call(id="call_2", name="count", answer="one")
PAID = Tokens(input=4, output=2)
LOOKS, COUNTS = Turn(calls=(LOOK,), usage=PAID), Turn(calls=(COUNT,), usage=PAID)
ANSWERS = Turn(text=("A ", "ship."), usage=PAID)


def scenario(*turns: Turn, options: Options | None = None, gate: bool = False, **fields: Any) -> Scenario:
    """One run of ag03."""
    run = Invocation(messages=USER, turns=turns, **fields)
    return Scenario(name="sea", gate=gate, tracer=True, options=options or Options(), invocations=(run,))


def drawn(given: Scenario, agent_class: type[Any] = looptck_reference.Agent) -> Timeline:
    """The timeline of a scenario of ag03."""
    found = timeline(Evidence(given, observe_here(ContractAdapter(agent_class), given)))
    assert found is not None
    return found


def of_suite(profile: str, check: str, wrong: str = "") -> Timeline:
    """The timeline of the first scenario that a check is on, of the reference loop or of a wrong one."""
    (chosen,) = choose(profile, check, 5)
    (given,) = (one for one in chosen.scenarios if one.name == chosen.checks[0].on[0])
    folder = ROOT if profile == "ag03" else ROOT / profile
    target = str(folder / "wrong" / f"{wrong}.py") if wrong else REFERENCES[profile]
    found = profile_of(profile)
    told = found.timeline(found.evidence(given, found.observe(parse_target(target, {}).load(found.adapt), given, 5.0)))
    assert told is not None
    return told


def bars(found: Timeline, kind: str) -> list[Bar]:
    """The bars of all lanes of a kind."""
    return [bar for lane in found.lanes if lane.kind == kind for bar in lane.bars]


def beyond(found: Timeline) -> list[str]:
    """The texts of the bars that a limit should have prevented, kind first."""
    return [f"{lane.kind} {bar.text}" for lane in found.lanes for bar in lane.bars if bar.mark == "beyond"]


def lines(found: Timeline) -> list[tuple[str, int]]:
    """Text and place of every line."""
    return [(line.text, line.at) for line in found.lines]
