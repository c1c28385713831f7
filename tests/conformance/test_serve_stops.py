"""What ends a run, as its model could notice: by every limit, and where the specification leaves it open."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conformance.serve_asking import ANSWER, LYON, NICE, ONE, PARIS, QUESTION, TWO, scenario

from looptck.scenario import Call, Invocation, Scenario, Turn
from looptck.serve.stops import broken, stops_of

DENIED = LYON.model_copy(update={"verdict": "deny"})
WAITING = NICE.model_copy(update={"verdict": "need_approval", "marker": "m"})


def ends(given: Scenario, place: int = 0, opening: tuple[Call, ...] | None = ()) -> list[str]:
    """The kinds of each place in the run, with a question mark where they are not sure."""
    stops = stops_of(given, place, given.invocations[place].turns, opening)
    return [" ".join([*sorted(stop.sure), *(f"{kind}?" for kind in sorted(stop.perhaps))]) for stop in stops]


@pytest.mark.parametrize(
    ("given", "kinds"),
    [
        (scenario(), ["", "", "", "answer"]),
        (scenario(max_iter=2), ["", "", "cap", "answer"]),
        (scenario(max_iter=0), ["open?", "open?", "open?", "answer"]),
        (scenario(*[ONE] * 8), ["", *[""] * 7, "default-cap"]),
        (scenario(max_tokens=15), ["", "tokens?", "tokens", "answer"]),
        (scenario(max_tokens=14), ["", "tokens", "tokens", "answer"]),
        (scenario(max_tokens=0), ["", "tokens?", "tokens?", "answer"]),
        (scenario(max_tool_calls=2), ["", "", "tool-calls", "answer"]),
        (scenario(max_tool_calls=0), ["", "tool-calls?", "tool-calls?", "answer"]),
        (scenario(Turn(calls=(PARIS, DENIED)), ANSWER, max_tool_calls=1, gate=True), ["", "tool-calls?", "answer"]),
        (scenario(Turn(calls=(PARIS, DENIED)), ANSWER, max_tool_calls=1), ["", "tool-calls", "answer"]),
        (scenario(Turn(calls=(PARIS, WAITING)), ANSWER, gate=True), ["", "approval", "answer"]),
        (scenario(Turn(calls=(PARIS, WAITING)), ANSWER), ["", "", "answer"]),
        (
            scenario(Turn(calls=(PARIS.model_copy(update={"verdict": "raise"}),)), ANSWER, gate=True),
            ["", "open?", "answer"],
        ),
        (scenario(Turn(calls=(PARIS.model_copy(update={"raises": "boom"}),)), ANSWER), ["", "open?", "answer"]),
        (scenario(TWO.model_copy(update={"status": 500}), ANSWER), ["", "error", "answer"]),
        (scenario(ANSWER.model_copy(update={"cut_after": 9})), ["", "answer error?"]),
    ],
)
def test_a_run_ends_by_its_first_sure_stop(given: Scenario, kinds: list[str]) -> None:
    assert [set(found.split()) for found in ends(given)] == [set(kind.split()) for kind in kinds]


@pytest.mark.parametrize(
    ("fields", "kinds"),
    [
        ({"runner": "refuse", "refuse": ("tool/1/1/get_weather",)}, ["", "refused", "answer"]),
        ({"runner": "record", "refuse": ("tool/1/1/get_weather",)}, ["", "", "answer"]),
        ({"runner": "refuse", "refuse": ("llm/1",)}, ["refused", "", "answer"]),
        ({"runner": "refuse", "refuse": ("tool/1/1/other",)}, ["", "", "answer"]),
        ({"cancel": "tools"}, ["open?", "open?", "answer"]),
    ],
)
def test_runners_and_callers_end_runs(fields: dict[str, Any], kinds: list[str]) -> None:
    run = Invocation(messages=(QUESTION,), turns=(TWO, ANSWER), **fields)
    assert ends(Scenario(name="run", invocations=(run,))) == kinds


def test_an_approval_frees_a_call_and_perhaps_no_other() -> None:
    twin = LYON.model_copy(update={"verdict": "need_approval", "marker": "m"})
    run = Invocation(turns=(Turn(calls=(twin,)), ANSWER), approvals=("m",))
    given = Scenario(name="run", gate=True, invocations=(run,))
    assert ends(given, opening=(WAITING,)) == ["", "approval?", "answer"]
    assert ends(given, opening=(WAITING, twin)) == ["approval?", "approval?", "answer"]
    assert ends(given, opening=None) == ["open?", "approval?", "answer"]


def test_the_steps_of_a_resumed_run_have_open_numbers() -> None:
    run = Invocation(turns=(TWO, ANSWER), runner="refuse", refuse=("llm/2",))
    assert ends(Scenario(name="run", invocations=(run,)), opening=(PARIS,)) == ["refused?", "refused?", "answer"]


def test_only_a_replay_of_the_same_run_is_sure_to_ask_nothing() -> None:
    run = Invocation(messages=(QUESTION,), turns=(ANSWER,), runner="record")
    again, other = run.model_copy(update={"runner": "replay"}), Invocation(turns=(ANSWER,), runner="replay")
    assert ends(Scenario(name="run", invocations=(run, again)), 1)[0] == "replay"
    assert ends(Scenario(name="run", invocations=(run, other)), 1)[0] == "open?"
    cancelled = run.model_copy(update={"cancel": "tools"})
    assert ends(Scenario(name="run", invocations=(cancelled, again)), 1)[0] == "open?"


@pytest.mark.parametrize(("events", "found"), [(0, True), (5, True), (6, None), (7, None)])
def test_a_reply_cut_off_late_may_have_arrived(events: int, found: bool | None) -> None:  # noqa: FBT001 - a case
    assert broken(TWO.model_copy(update={"cut_after": events})) is found
