"""What a loop gives back and leaves behind, however odd, is recorded as what it is."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from tests.conformance.driving import Hollow, observe, only, scenario

import looptck_reference
from looptck.adapter import NoInterfaceError
from looptck.contract.ag03 import LoopError, Message
from looptck.observation import from_json, to_json
from looptck.scenario import Turn

# what is left behind, and what is given back


def test_tasks_that_outlive_the_run_are_named() -> None:
    kept: set[asyncio.Task[None]] = set()

    async def housekeeping() -> None:
        await asyncio.Future()

    class LeavesTask(Hollow):
        async def result(self) -> Any:
            kept.add(asyncio.get_running_loop().create_task(housekeeping()))
            return await super().result()

    (name,) = observe(LeavesTask).leftovers
    assert name.endswith("housekeeping")


def test_tasks_that_end_by_themselves_are_no_leftovers() -> None:
    kept: set[asyncio.Task[None]] = set()

    class LeavesBriefTask(Hollow):
        async def result(self) -> Any:
            kept.add(asyncio.get_running_loop().create_task(asyncio.sleep(0)))
            return await super().result()

    assert observe(LeavesBriefTask).leftovers == ()


def test_the_event_loop_is_closed_and_gone() -> None:
    loops: list[asyncio.AbstractEventLoop] = []

    class Keeps(Hollow):
        async def result(self) -> Any:
            loops.append(asyncio.get_running_loop())
            return await super().result()

    observe(Keeps)
    assert [loop.is_closed() for loop in loops] == [True]


@pytest.mark.parametrize(
    ("read", "kinds", "ended"),
    [
        ("none", [], False),
        (2, ["usage", "tool_call"], False),
        ("all", ["usage", "tool_call", "tool_result", "text", "text", "usage", "done"], True),
    ],
)
def test_as_many_events_are_read_as_are_asked_for(read: Any, kinds: list[str], ended: bool) -> None:  # noqa: FBT001
    seen = only(observe(looptck_reference.Agent, scenario(read=read)))
    assert ([event.kind for event in seen.events], seen.events_ended) == (kinds, ended)
    assert seen.message == Message("assistant", "At the pier.")


def test_a_second_result_is_compared_with_the_first() -> None:
    class Counts(Hollow):
        count = 0

        async def result(self) -> Any:
            self.count += 1
            return Message("assistant", str(self.count))

    class Once(Counts):
        async def result(self) -> Any:
            if self.count:
                raise RuntimeError("it was taken")
            return await super().result()

    twice = scenario(result_twice=True)
    assert only(observe(looptck_reference.Agent, twice)).again == "same"
    assert only(observe(Counts, twice)).again == "another answer"
    assert only(observe(Once, twice)).again == "RuntimeError: it was taken"


def test_a_loop_that_changes_its_input_is_seen() -> None:
    class Appends(Hollow):
        def invoke(self, messages: Sequence[Message]) -> Any:
            assert isinstance(messages, list)
            messages.append(Message("assistant", "mine"))
            return super().invoke(messages)

    assert only(observe(Appends)).input_untouched is False


def test_an_error_is_related_to_the_one_that_the_scenario_asked_for() -> None:
    class Wraps(Hollow):
        async def result(self) -> Any:
            try:
                return await looptck_reference.Agent(**self.options).invoke(self.given).result()
            except Exception as error:
                raise LoopError("the model is gone") from error

    class Replaces(Hollow):
        async def result(self) -> Any:
            raise ValueError("something else")

    broken = scenario(Turn(error="the line is dead"))
    relations = []
    for loop in (looptck_reference.Agent, Wraps, Replaces):
        error = only(observe(loop, broken)).error
        assert error is not None
        relations.append((error.scripted, error.text))
    assert relations == [
        ("same", "ScriptedError: the line is dead"),
        ("cause", "LoopError: the model is gone"),
        ("no", "ValueError: something else"),
    ]


@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        ("a bare text", Message("user", "(not text) 'a bare text'")),
        (SimpleNamespace(role="assistant", content=7), Message("assistant", "(not text) 7")),
        (Message("assistant", "half \ud800 a pair"), Message("assistant", "half \\ud800 a pair")),
        (None, None),
    ],
)
def test_an_odd_answer_is_recorded_as_what_it_is(answer: Any, shown: Message | None) -> None:
    class Odd(Hollow):
        async def result(self) -> Any:
            return answer

    observation = observe(Odd)
    assert only(observation).message == shown
    assert from_json(to_json(observation)) == observation


def test_odd_usage_and_transcript_are_recorded_as_what_they_are() -> None:
    class Odd(Hollow):
        def transcript(self) -> Any:
            return 5

        def usage(self) -> Any:
            raise LookupError("not counted")

    seen = only(observe(Odd))
    assert seen.transcript == (Message("user", "(not text) 5"),)
    assert (seen.usage, seen.problems) == (None, ("usage() raised LookupError: not counted",))


# loops that lack something


def test_a_constructor_that_raises_is_an_observation() -> None:
    class Demands(Hollow):
        def __init__(self, model: str) -> None:
            super().__init__(model=model)

    seen = only(observe(Demands))
    assert seen.status == "failed"
    assert "unexpected keyword argument 'provider'" in seen.problems[0]


def test_a_loop_without_a_stream_offers_nothing_to_observe() -> None:
    class Answers(Hollow):
        def invoke(self, messages: Sequence[Message]) -> Any:
            return messages[-1]

    with pytest.raises(NoInterfaceError, match=r"Answers\.invoke returned has no method .*result\(\)"):
        observe(Answers)


def test_a_missing_method_of_the_stream_is_a_problem_and_no_more() -> None:
    class NoUsage(Hollow):
        usage = None  # type: ignore[assignment]

    seen = only(observe(NoUsage))
    assert (seen.status, seen.usage, seen.problems) == ("answered", None, ("the stream has no method usage()",))
