"""Which iteration an event of the worked example is of, also for a loop that tells more events or fewer than it should.

Those that are missing or doubled are for another check to tell.
"""

from __future__ import annotations

import pytest

from looptck.observation import EventSeen, InvocationSeen, Observation
from looptck.suite.ag03.hand_example import TEST, event_iters
from looptck.suite.evidence import Evidence
from looptck.suite.labels import Labels

SCENARIO = next(scenario for scenario in TEST.build(Labels(5, TEST.name)) if scenario.name == "hand-read")
KINDS = {"u": "usage", "c": "tool_call", "r": "tool_result", "t": "text", "d": "done"}


def passes(told: str) -> bool:
    """Whether the check passes on these events, each by its letter and its iteration."""
    events = tuple(EventSeen(KINDS[one[0]], int(one[1:])) for one in told.split())
    seen = Observation("hand-read", invocations=(InvocationSeen("answered", 0, 0, (), events=events),))
    return event_iters(Evidence(SCENARIO, seen)).ok


@pytest.mark.parametrize(
    "told",
    [
        "u1 c1 r1 t2 t2 u2 d2",
        "c1 r1 t2 u2 d2",
        "u1 c1 r1 t2 d2",
        "u1 u1 c1 r1 u2 t2 u2 u2 d2",
        "u2 d2",
        "c1 u1 r1 u1 u2 t2",
        "u1 c1 r1 t2 u2 d7",
    ],
)
def test_the_iterations_are_judged_and_not_how_often_the_usage_is_told(told: str) -> None:
    assert passes(told)


@pytest.mark.parametrize(
    "told",
    ["", "u2 c1 r1 t2 u2", "u1 c1 r1 t2 u1", "u0 c1 r1 t2 u2", "u1 c1 r1 t2 u3", "u1 c2 r1 t2", "c1 r1 t1", "u3", "u0"],
)
def test_an_event_of_another_iteration_fails(told: str) -> None:
    assert not passes(told)
