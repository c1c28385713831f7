"""A loop of ag03 that is not to be had with a limit of zero: what zero means is open, and so is whether it is taken."""

from __future__ import annotations

from typing import TYPE_CHECKING

from looptck.adapter import NO_STREAM

if TYPE_CHECKING:
    from looptck.observation import Observation
    from looptck.scenario import Scenario


def refused_zero(scenario: Scenario, observation: Observation) -> bool:
    """Whether a scenario sets a limit of zero, and the loop refused to be made or invoked with it, by an error.

    A `TypeError` refuses no value: the loop does not know the option.
    """
    if 0 not in scenario.options.limits().values():
        return False
    problems = [problem for seen in observation.invocations for problem in seen.problems]
    refusals = [problem.removeprefix(NO_STREAM) for problem in problems if problem.startswith(NO_STREAM)]
    return bool(refusals) and not any(refusal.startswith("TypeError") for refusal in refusals)
