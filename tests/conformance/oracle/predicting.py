"""Predictions of ag03 from scenarios alone: what an invocation continues is as the reference reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from looptck.oracle.ag03 import predict
from looptck.oracle.predicted import Line, Predicted
from looptck.oracle.readings import Readings, under_all_readings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from looptck.scenario import Scenario


def every(scenario: Scenario, place: int = 0) -> list[Predicted]:
    """The predictions of an invocation under all readings."""
    given, journal = _before(scenario, place)
    return list(under_all_readings(lambda readings: predict(scenario, place, given, journal, readings)))


def _before(scenario: Scenario, place: int) -> tuple[Sequence[Line], Mapping[str, Any]]:
    invocation = scenario.invocations[place]
    given = [Line(said.message()) for said in invocation.messages]
    if not place:
        return given, {}
    earlier = predict(scenario, place - 1, *_before(scenario, place - 1), Readings())
    continued = [] if invocation.continues is None else earlier.transcripts[0]
    return [*continued, *given], earlier.journal
