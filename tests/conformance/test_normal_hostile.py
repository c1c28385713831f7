"""Whatever a loop gives back becomes plain and survives JSON, however hostile it is.

A loop's mistake must be seen as the loop's. Were normalising to raise, or to let something through that JSON cannot
hold, it would be held to be the kit's own fault.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from tests.conformance.hostile import COMMON, RECIPES, ZOO, Recipe

from looptck.contract.ag03 import ApprovalError, BudgetError, Event, Message, ToolCall
from looptck.observation import InvocationSeen, Observation, from_json, to_json
from looptck.observe import normal
from looptck_fakes import GateAsked, ModelAsked, StepStarted, ToolStarted


def seen_of(value: Any) -> Observation:
    """An observation of a loop that gives back nothing but the value, wherever it has something to give."""
    error = normal.error(failure(value), ())
    return Observation(
        normal.text(value),
        records=(
            normal.record(ModelAsked(0, 0, "", (value,), (value,), {"a": value})),
            normal.record(ToolStarted(1, 0, value)),
            normal.record(ToolStarted(2, 1, ToolCall(value, value, value))),
            normal.record(GateAsked(3, value, value, value, "allow")),
            normal.record(StepStarted(4, 0, value, value)),
        ),
        invocations=(
            InvocationSeen(
                "answered",
                normal.count(value),
                0,
                normal.messages([Message(value, value, value, value)]),
                message=normal.message(value),
                error=error,
                transcript=normal.messages(value),
                usage=normal.usage(value),
                events=(normal.event(value), normal.event(Event(*[value] * 8))),
            ),
        ),
        http=({"a": normal.plain(value)},),
    )


def failure(value: Any) -> BaseException:
    """An error of a rule with the value in each of its fields."""

    class ConfusedError(ApprovalError, BudgetError):
        def __init__(self) -> None:  # as subclasses do that forget their base
            self.pending = self.resource = self.used = self.limit = value
            self.message = self.transcript = self.usage = value

        def __str__(self) -> str:
            return value  # type: ignore[no-any-return]

    return ConfusedError()


def survives(observation: Observation) -> bool:
    return from_json(to_json(observation)) == observation


@pytest.mark.parametrize("make", ZOO.values(), ids=ZOO.keys())
def test_nothing_that_a_loop_gives_back_raises_or_is_lost_on_the_way(make: Recipe) -> None:
    assert survives(seen_of(make()))


@COMMON
@given(RECIPES)
def test_no_mixture_of_them_raises_or_is_lost_on_the_way(make: Recipe) -> None:
    assert survives(seen_of(make()))
