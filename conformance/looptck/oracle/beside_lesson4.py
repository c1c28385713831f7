"""An observation of lesson4 beside every prediction of its scenario: how it differs from the best one. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from looptck.contract.lesson4 import Stop
from looptck.oracle.asked import RUNS, Asked
from looptck.oracle.difference import Difference, told_rather
from looptck.oracle.fitting import fit, needed
from looptck.oracle.lesson4 import (
    LEAST_DEFAULT_STEPS,
    MOST_DEFAULT_STEPS,
    cost_of,
    predict,
    unpredicted,
    zero_ceilings,
)
from looptck.oracle.readings import under_all_readings
from looptck.oracle.returned import Returned, near, step_counts, stops

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from looptck.lesson4.observation import Observation
    from looptck.lesson4.scenario import Scenario
    from looptck.oracle.lesson4 import Predicted
    from looptck.oracle.readings import Readings

__all__ = ["differences", "unpredicted"]


def differences(scenario: Scenario, observation: Observation) -> tuple[Difference, ...]:
    """The differences of the first run that has any; else those of the spans. What the meter says comes before all."""
    if observation.refused is not None:
        refusable = scenario.refusable and zero_ceilings(scenario)
        refused = Difference("interface", "the agent", "it is made", f"refused: {observation.refused}")
        return () if refusable else (refused,)
    if observation.died is not None:
        requirement = "interface" if "could not be built" in observation.died else "run-returns"
        return (Difference(requirement, "the scenario", "it is run", observation.died),)
    metered = _costs(scenario, observation)
    if metered is not None:
        return (metered,)
    best: tuple[Difference, ...] | None = None
    for found in under_all_readings(lambda readings: _differences(scenario, observation, readings)):
        if not found:
            return ()
        if told_rather("lesson4", found, best):
            best = found
    return best or ()


def _costs(scenario: Scenario, observation: Observation) -> Difference | None:
    """What the meter says that tokens cost."""
    expected = [cost_of(scenario.meter, *tokens) for tokens in scenario.costs]
    got = observation.costs
    if len(got) == len(expected) and all(near(one, other, 1) for one, other in zip(expected, got, strict=True)):
        return None
    requirement = "cost-of" if any(expected) else "prices-default-zero"
    return Difference(requirement, "cost_of()", [float(cost) for cost in expected], list(got))


def _differences(scenario: Scenario, observation: Observation, readings: Readings) -> tuple[Difference, ...]:
    """The differences under one way of reading what is open, which is the same for all runs: they are of one agent.

    What a run did comes first: where that differs, its end differs for no reason of its own.
    """
    runs: list[Predicted] = []
    default_steps = _default_steps(scenario, observation, readings)
    for place in range(len(scenario.runs)):
        if place >= len(observation.runs):
            return (Difference("run-returns", f"run {place + 1}", "it is made", "it was never made", place * RUNS),)
        predicted, seen = predict(scenario, place, readings, default_steps), observation.runs[place]
        asked = Asked(scenario, place, predicted, seen).difference()
        found = (asked,) if asked is not None else tuple(Returned(scenario, place, predicted, seen).differences())
        if found:
            return found
        runs.append(predicted)
    return tuple(_spans(scenario, runs, observation))


def _default_steps(scenario: Scenario, observation: Observation, readings: Readings) -> int:
    """The ceiling of steps where nobody set one; of all that it may be, those count that some run may have met."""
    if scenario.meter is not None and scenario.meter.max_steps is not None:
        return MOST_DEFAULT_STEPS
    made = {min(max(len(run.requests), LEAST_DEFAULT_STEPS), MOST_DEFAULT_STEPS) for run in observation.runs}
    return readings.of("step-default", *sorted({*made, MOST_DEFAULT_STEPS}, reverse=True))


def _spans(scenario: Scenario, runs: Sequence[Predicted], observation: Observation) -> Iterator[Difference]:
    """What spans say of each run, whichever span it is that says it."""
    if not scenario.tracer:
        return
    at, spans = len(runs) * RUNS, observation.spans
    doubtful = next((run.doubtful for run in runs if run.doubtful is not None), None)
    told = [span.attributes["stop"] for span in spans if "stop" in span.attributes]
    if not fit(stops(runs), told):
        requirement = "span-stop" if _must(runs, told) else "span-every-stop"
        found = Difference(requirement, "stop of spans", needed(stops(runs)), told, at)
        yield found.resting_on(doubtful)
    counts = [span.attributes["steps"] for span in spans if "steps" in span.attributes]
    if not fit(step_counts(runs), counts):
        yield Difference("span-steps", "steps of spans", needed(step_counts(runs)), counts, at).resting_on(doubtful)
    left_open = [span.name for span in spans if not span.ended]
    if left_open or not spans:
        expected, got = ([], left_open) if spans else (["a span"], [])
        yield Difference("span-ended", "spans that have not ended", expected, got, at)


def _must(runs: Sequence[Predicted], told: Sequence[object]) -> bool:
    """Whether the words of answered runs and of fatal errors are not told: those alone are fixed."""
    from_lesson = (Stop.ANSWERED, Stop.TOOL_FATAL)
    wanted = [run.stop.value for run in runs if run.stop in from_lesson and run.stop is not None]
    return [word for word in told if word in from_lesson] != wanted
