"""What a loop of ag03 may refuse, by an error, where it is made or invoked: that is no crash, for it is open."""

from __future__ import annotations

from typing import TYPE_CHECKING

from looptck.adapter import NO_STREAM
from looptck.open_turn import open_turn

if TYPE_CHECKING:
    from looptck.observation import InvocationSeen, Observation
    from looptck.scenario import Invocation, Scenario


def refused(scenario: Scenario, observation: Observation) -> bool:
    """Whether the loop gave no stream, and each time for what it may refuse: a limit of zero, or such an input.

    A `TypeError` refuses no value: the loop does not know the option, or cannot work with what it was given.
    """
    zero = 0 in scenario.options.limits().values()
    gave_none: dict[int, bool] = {}
    for place, (invocation, seen) in enumerate(zip(scenario.invocations, observation.invocations, strict=False)):
        for refusal in _refusals(seen):
            behind = invocation.continues is None or gave_none.get(invocation.continues, False)
            gave_none[place] = not refusal.startswith("TypeError") and (zero or (behind and _refusable(invocation)))
    return bool(gave_none) and all(gave_none.values())


def _refusals(seen: InvocationSeen) -> list[str]:
    return [problem.removeprefix(NO_STREAM) for problem in seen.problems if problem.startswith(NO_STREAM)]


def _refusable(invocation: Invocation) -> bool:
    """Whether an input has no message, or ends with a turn that has some answers but not all.

    One that goes on behind a run that gave no stream has nothing before it.
    """
    turn = open_turn([said.message() for said in invocation.messages])
    partly = turn is not None and len(turn[1]) < len(turn[0].tool_calls)
    return partly or not invocation.messages
