"""An observation of ag03 beside every prediction of its scenario: the differences from the one that fits best. Pure."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from looptck.open_turn import open_turn
from looptck.oracle import endings, events, spans
from looptck.oracle.ag03 import predict
from looptck.oracle.difference import Difference, shown, shown_beside, told_rather
from looptck.oracle.forbidden import forbidden
from looptck.oracle.predictable import unpredicted
from looptck.oracle.predicted import REFUSED, Line
from looptck.oracle.readings import under_all_readings
from looptck.oracle.rounds import Beside
from looptck.refused import refusable_limit, refused, without_stream
from looptck.requirements import requirements

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from looptck.observation import AnyRecord, InvocationSeen, Observation
    from looptck.oracle.predicted import Predicted
    from looptck.scenario import Scenario, Turn

__all__ = ["differences", "unpredicted"]


def differences(scenario: Scenario, observation: Observation) -> tuple[Difference, ...]:
    """The differences of the first invocation that has any; else those of the spans and of what outlived all runs.

    From an invocation on that goes on from a call of which a part arrived, no runs are predicted.
    """
    if refusable_limit(scenario) and refused(scenario, observation):
        return ()
    runs: list[Predicted] = []
    left: list[tuple[Line, ...]] = []
    journal: Mapping[str, Turn | None] = {}
    for place, invocation in enumerate(scenario.invocations):
        if place >= len(observation.invocations):
            return (Difference("run-start", f"invocation {place + 1}", "it is made", "it was never made"),)
        before = left[invocation.continues] if invocation.continues is not None else ()
        given = (*before, *(Line(said.message()) for said in invocation.messages))
        if _cut_off(scenario, given):
            break
        seen, records = observation.invocations[place], _records(observation, place)
        tells = partial(spans.tells, place=place, observation=observation)
        predicted, found = _best(scenario, place, given, journal, seen, records, tells)
        if found:
            return found if _grave(found) else (*found, *_whatever_is_open(scenario, observation, place))
        runs.append(predicted)
        left.append(_left(predicted, seen))
        journal = predicted.journal
    found = tuple(spans.differences(scenario, runs, observation))
    if observation.leftovers:
        left_over = list(observation.leftovers)
        found += (Difference("no-task-left", "tasks that outlived the runs", [], left_over),)
    return found


def _grave(found: Sequence[Difference]) -> bool:
    return any(requirements("ag03")[one.requirement].level == "must" for one in found)


def _whatever_is_open(scenario: Scenario, observation: Observation, start: int) -> Iterator[Difference]:
    """What is forbidden from an invocation on that only good sense holds anything against, and in those behind it."""
    for place in range(start, len(observation.invocations)):
        yield from forbidden(scenario, place, _records(observation, place))


def _cut_off(scenario: Scenario, given: Sequence[Line]) -> bool:
    """Whether a run goes on from a call that arrived in part, when a provider failed: what becomes of it is open."""
    turn = open_turn([line.message for line in given])
    return turn is not None and not {call.call() for call in scenario.calls()}.issuperset(turn[0].tool_calls)


def _records(observation: Observation, place: int) -> Sequence[AnyRecord]:
    """The records of an invocation, up to where the next begins."""
    following = observation.invocations[place + 1 :]
    end = following[0].began if following else len(observation.records)
    return observation.records[observation.invocations[place].began : end]


def _best(
    scenario: Scenario,
    place: int,
    given: Sequence[Line],
    journal: Mapping[str, Turn | None],
    seen: InvocationSeen,
    records: Sequence[AnyRecord],
    tells: Callable[[Predicted], bool],
) -> tuple[Predicted, tuple[Difference, ...]]:
    """The prediction that explains an invocation, its span too if one does, or the one whose differences are told."""
    best: tuple[Predicted, tuple[Difference, ...]] | None = None
    for predicted in under_all_readings(lambda readings: predict(scenario, place, given, journal, readings)):
        found = _differences(scenario, place, predicted, seen, records)
        if not found and tells(predicted):
            return predicted, ()
        if found and predicted.ending in REFUSED:
            continue  # a run that did more than to refuse its input has not refused it
        if best is None or (best[1] and (not found or told_rather("ag03", found, best[1]))):
            best = predicted, found
    assert best is not None, "there is one reading at least"  # noqa: S101 - an invariant
    return best


def _differences(
    scenario: Scenario,
    place: int,
    predicted: Predicted,
    seen: InvocationSeen,
    records: Sequence[AnyRecord],
) -> tuple[Difference, ...]:
    """What an invocation did comes first: where that differs, its end differs for no reason of its own."""
    ended = seen.error.kind if seen.error is not None else None
    asked = Beside(scenario, place, predicted, records, ended).difference()
    if asked is not None:
        return (asked,)
    invocation = scenario.invocations[place]
    found = tuple(endings.differences(predicted, invocation, seen))
    event = None if without_stream(seen) else events.difference(predicted, invocation, seen)
    return found if event is None else (*found, event)


def _left(predicted: Predicted, seen: InvocationSeen) -> tuple[Line, ...]:
    """The transcript that a later invocation continues: of the predicted ones the one that was seen."""
    transcript = seen.transcript or ()
    fits = (lines for lines in predicted.transcripts if shown(lines) == shown_beside(lines, transcript))
    return next(fits, predicted.transcripts[0])
