"""What a loop of ag03 may refuse, by an error, where it is made or invoked: that is no crash, for it is open."""

from __future__ import annotations

from typing import TYPE_CHECKING

from looptck.adapter import NO_STREAM
from looptck.open_turn import open_turn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from looptck.observation import InvocationSeen, Observation
    from looptck.scenario import Invocation, Scenario


def refused(scenario: Scenario, observation: Observation) -> bool:
    """Whether the loop gave no stream, and each time for what it may refuse: a limit of zero, or such an input.

    A `TypeError` refuses no value: the loop does not know the option, or cannot work with what it was given.
    """
    refusals = [(place, said) for place, seen in enumerate(observation.invocations) for said in without_stream(seen)]
    return bool(refusals) and all(
        not said.startswith("TypeError")
        and (refusable_limit(scenario) or _refusable_input(scenario.invocations, place))
        for place, said in refusals
    )


def without_stream(seen: InvocationSeen) -> list[str]:
    """The error that an invocation gave in place of a stream; nothing where it gave one."""
    return [problem.removeprefix(NO_STREAM) for problem in seen.problems if problem.startswith(NO_STREAM)]


def refusable_limit(scenario: Scenario) -> bool:
    """Whether a limit of zero is set: what that means is open, and so is whether it is taken."""
    return 0 in scenario.options.limits().values()


def _refusable_input(invocations: Sequence[Invocation], place: int) -> bool:
    """Whether an input may have no message, or end with a turn that has some answers but not all.

    It has none before its own where it goes on from a run that may have refused its input.
    """
    invocation = invocations[place]
    turn = open_turn([said.message() for said in invocation.messages])
    partly = turn is not None and len(turn[1]) < len(turn[0].tool_calls)
    behind = invocation.continues is None or _refusable_input(invocations, invocation.continues)
    return behind and (partly or not invocation.messages)
