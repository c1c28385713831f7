"""A run that is stopped: nothing of it counts from then on, whatever the loop still does, and the next one begins."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.conformance.driving import ANSWER, ASK, CALLING, FOUR, Hollow, observe

from looptck.contract.ag03 import Message
from looptck.observation import Observation
from looptck.scenario import Invocation, Scenario, Stop, Turn
from looptck_fakes import GateAsked, ModelAsked, StepEnded, StepStarted, StoppedError, ToolStarted
from looptck_reference import Agent

TURNS = (Turn(calls=FOUR), ANSWER)


def stopped(turns: tuple[Turn, ...] = TURNS, gate: bool = False, **where: Any) -> Scenario:  # noqa: FBT001, FBT002 - as read
    """A run that is stopped and one that resumes."""
    one = Invocation(messages=ASK, turns=turns, runner="record", stop=Stop(**where))
    other = one.model_copy(update={"runner": "resume", "stop": None})
    return Scenario(name="stopped", gate=gate, invocations=(one, other))


def how(observation: Observation, place: int) -> dict[str, str]:
    """How the steps of an invocation ended."""
    first, last = observation.invocations[place].began, [*observation.invocations, None][place + 1]
    until = len(observation.records) if last is None else last.began
    ended = {record.step: record.how for record in observation.records if isinstance(record, StepEnded)}
    records = [record for record in observation.records[first:until] if isinstance(record, StepStarted)]
    return {record.name: ended[record.step] for record in records}


def test_a_stopped_run_has_neither_answer_nor_error() -> None:
    first, second = observe(Agent, stopped(after=2)).invocations
    assert (first.status, first.message, first.error, first.transcript, first.usage) == ("stopped", *[None] * 4)
    assert second.status == "answered"


def test_what_was_recorded_is_given_back_and_the_rest_is_done() -> None:
    seen = observe(Agent, stopped(after=2))
    assert how(seen, 0)["llm/1"] == "done"
    assert list(how(seen, 0).values()).count("done") == 2
    assert list(how(seen, 1).values()).count("replayed") == 2
    assert sorted(run.call.id for run in seen.records if isinstance(run, ToolStarted)) == [call.id for call in FOUR]


def test_an_outcome_that_was_lost_was_done_and_is_refused() -> None:
    seen = observe(Agent, stopped(after=2, lost=True))
    (lost,) = [name for name, end in how(seen, 0).items() if end == "lost"]
    assert how(seen, 1)[lost] == "refused"
    error = seen.invocations[1].error
    assert error is not None
    assert error.scripted == "same"


def test_a_lost_reply_is_asked_for_again() -> None:
    seen = observe(Agent, stopped(after=1, lost=True))
    assert [asked.script for asked in seen.records if isinstance(asked, ModelAsked)] == ["0", "1", "1"]
    assert seen.invocations[1].status == "answered"


def test_a_call_that_was_overtaken_never_began() -> None:
    seen = observe(Agent, stopped(after=2, overtaken=True))
    ended = [end for name, end in sorted(how(seen, 0).items()) if name.startswith("tool/")]
    assert ended[:2] == ["stopped", "done"]
    assert seen.settled_by == "certain"


def test_a_loop_that_makes_its_calls_one_by_one_is_stopped_all_the_same() -> None:
    class OneByOne(Agent):
        def __init__(self, *seams: Any, **options: Any) -> None:
            super().__init__(*seams, **options | {"max_parallel_tools": 1})

    seen = observe(OneByOne, stopped(after=2, overtaken=True))
    assert [each.status for each in seen.invocations] == ["stopped", "answered"]
    assert len([run for run in seen.records if isinstance(run, ToolStarted)]) == 4


def test_a_run_with_fewer_steps_is_not_stopped() -> None:
    first, second = observe(Agent, stopped(after=99)).invocations
    assert (first.status, second.status) == ("answered", "answered")
    assert first.transcript == second.transcript


class Stubborn(Hollow):
    """A loop that, its first step not having come to anything, goes on with whatever a test lets it do."""

    async def result(self) -> Any:
        async def ask() -> Message:
            async for _ in self.options["provider"].stream(self.given, [], {}):
                pass
            return Message("assistant", "asked")

        try:
            return await self.options["step_runner"].run("llm/1", "llm", ask)
        except StoppedError:
            return await self.go_on()

    async def go_on(self) -> Any:
        raise NotImplementedError


def test_what_it_asks_of_its_seams_afterwards_is_not_heard() -> None:
    raised: list[str] = []

    class GoesOn(Stubborn):
        async def go_on(self) -> Any:
            seams = self.options

            async def work() -> None:
                raise AssertionError("nothing is done in a run that was stopped")

            for attempt in (
                seams["tools"].call(FOUR[0].call()),
                seams["gate"].decide(FOUR[0].call(), None),
                anext(seams["provider"].stream(self.given, [], {})),
                seams["step_runner"].run("tool/1/0/find_ferry", "tool", work),
            ):
                try:
                    await attempt
                except StoppedError as error:
                    raised.append(str(error))
            assert seams["provider"].model
            assert seams["tools"].definitions()
            return Message("assistant", "I do not mind")

    seen = observe(GoesOn, stopped((CALLING, ANSWER), gate=True, after=0))
    assert raised == ["the run was stopped"] * 4
    assert [each.status for each in seen.invocations] == ["stopped", "answered"]
    assert not [each for each in seen.records if isinstance(each, ToolStarted | GateAsked)]
    assert [asked.script for asked in seen.records if isinstance(asked, ModelAsked)] == ["1"]


@pytest.mark.parametrize("stays", [False, True], ids=["is-cancelled", "will-not-be-cancelled"])
def test_one_that_waits_for_ever_is_ended_and_the_next_begins(stays: bool) -> None:  # noqa: FBT001 - a case
    class Waits(Stubborn):
        async def go_on(self) -> Any:
            while True:
                try:
                    await asyncio.Event().wait()
                except asyncio.CancelledError:
                    if not stays:
                        raise

    seen = observe(Waits, stopped(after=0))
    assert [each.status for each in seen.invocations] == ["stopped", "answered"]
