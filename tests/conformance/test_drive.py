"""One scenario observed in this process: what the kit records of an ordinary run, or of several."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import pytest
from tests.conformance.driving import ANSWER, ASK, CALLING, FERRY, FOUR, Hollow, observe, only, scenario

import looptck_reference
from looptck.contract.ag03 import Message, ToolCall, ToolResult, Tools, Usage
from looptck.observation import from_json, to_json
from looptck.scenario import Invocation, Options, Said, Scenario, Turn
from looptck_fakes import ModelAsked, ToolEnded, ToolStarted

# an ordinary run


def test_a_run_is_recorded_whole() -> None:
    observation = observe(looptck_reference.Agent)
    seen = only(observation)
    assert (seen.status, seen.error, seen.problems) == ("answered", None, ())
    assert seen.message == Message("assistant", "At the pier.")
    assert seen.transcript == (
        Message("user", "Where is the ferry?"),
        Message("assistant", "", (FERRY.call(),)),
        Message("tool", "at the pier", tool_call_id="call_7"),
        Message("assistant", "At the pier."),
    )
    assert seen.usage == Usage(16, 5)
    assert (seen.input, seen.input_untouched, seen.in_flight_at_end) == ((Message("user", ASK[0].content),), True, 0)
    assert [record.at for record in observation.records] == list(range(len(observation.records)))
    assert (seen.began, seen.ended) == (0, len(observation.records))


def test_a_run_of_coroutines_is_observed_for_certain() -> None:
    observation = observe(looptck_reference.Agent, scenario(Turn(calls=FOUR), ANSWER, finish="last"))
    assert (observation.settled_by, observation.leftovers, observation.died) == ("certain", (), None)


def test_what_is_observed_twice_is_the_same() -> None:
    wanted = scenario(Turn(calls=FOUR), ANSWER, finish="last", read="all")
    assert observe(looptck_reference.Agent, wanted) == observe(looptck_reference.Agent, wanted)


def test_an_observation_is_plain_data() -> None:
    observation = observe(looptck_reference.Agent, scenario(read="all"))
    assert from_json(to_json(observation)) == observation


def test_only_options_that_the_scenario_sets_are_passed() -> None:
    made: list[set[str]] = []

    class Keeps(Hollow):
        def __init__(self, **options: Any) -> None:
            super().__init__(**options)
            made.append(set(options))

    observe(Keeps)
    observe(Keeps, scenario(options=Options(max_iter=2, max_tokens=5), approvals=(), runner="record"))
    assert made == [
        {"provider", "tools"},
        {"provider", "tools", "max_iter", "budget", "approvals", "step_runner"},
    ]


# the order in which held tools finish


@pytest.mark.parametrize(("finish", "order"), [("first", [0, 1, 2, 3]), ("last", [1, 2, 3, 0])])
def test_held_tools_are_let_go_one_at_a_time_in_the_order_that_is_asked_for(finish: Any, order: list[int]) -> None:
    wanted = scenario(Turn(calls=FOUR), ANSWER, options=Options(max_parallel_tools=2), finish=finish)
    observation = observe(looptck_reference.Agent, wanted)
    started = {record.run: record.call.id for record in observation.records if isinstance(record, ToolStarted)}
    ended = [started[record.run] for record in observation.records if isinstance(record, ToolEnded)]
    assert ended == [f"call_{n}" for n in order]
    assert observation.levels == (2, 2, 2, 1)


def test_a_call_in_a_form_of_the_loops_own_is_held_and_let_go_like_any() -> None:
    class AsDict(looptck_reference.Agent):
        def __init__(self, provider: Any, tools: Any, **options: Any) -> None:
            super().__init__(provider, tools, **options)
            inner = tools.call
            tools.call = lambda call: inner({"id": call.id, "name": call.name})

    observation = observe(AsDict, scenario(Turn(calls=FOUR), ANSWER, finish="last"))
    assert (observation.died, observation.levels) == (None, (4, 3, 2, 1))


def test_a_loop_that_uses_one_slot_is_seen_to_have_one_in_flight() -> None:
    class OneByOne(looptck_reference.Agent):
        def __init__(self, **options: Any) -> None:
            super().__init__(**options)
            self.max_parallel_tools = 1

    assert observe(OneByOne, scenario(Turn(calls=FOUR), ANSWER, finish="last")).levels == (1, 1, 1, 1)


def test_tools_that_run_in_threads_are_waited_for_and_it_is_told() -> None:
    class InThreads(looptck_reference.Agent):
        def __init__(self, provider: Any, tools: Tools, **options: Any) -> None:
            super().__init__(provider, Threaded(tools), **options)

    observation = observe(InThreads, scenario(Turn(calls=FOUR), ANSWER, finish="last"))
    assert observation.levels == (4, 3, 2, 1)
    assert observation.settled_by in {"threads", "window"}
    assert only(observation).message == Message("assistant", "At the pier.")


class Threaded:
    """Tools that run each call in a thread and an event loop of its own."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self.definitions = tools.definitions

    async def call(self, call: ToolCall) -> ToolResult:
        return await asyncio.to_thread(lambda: asyncio.run(self._tools.call(call)))


# several invocations


def test_an_invocation_continues_from_the_transcript_before() -> None:
    first, second = Invocation(messages=ASK, turns=(CALLING, ANSWER)), Invocation(continues=0, turns=(ANSWER,))
    observation = observe(looptck_reference.Agent, Scenario(name="again", invocations=(first, second)))
    assert observation.invocations[1].input == observation.invocations[0].transcript
    assert observation.invocations[1].began == observation.invocations[0].ended


@pytest.mark.parametrize(("reuse", "agents"), [(False, 2), (True, 1)])
def test_an_agent_is_made_for_each_invocation_unless_it_is_reused(reuse: bool, agents: int) -> None:  # noqa: FBT001
    made: list[object] = []

    class Counted(Hollow):
        def __init__(self, **options: Any) -> None:
            super().__init__(**options)
            made.append(self)

    run = Invocation(messages=ASK)
    observe(Counted, Scenario(name="two", invocations=(run, run.model_copy(update={"reuse_agent": reuse}))))
    assert len(made) == agents


def test_invocations_at_once_are_told_apart_by_their_input() -> None:
    other = (Said(content="Where is the bus?"),)
    first = Invocation(messages=ASK, turns=(CALLING, ANSWER))
    second = Invocation(messages=other, turns=(Turn(text=("Gone.",)),), alongside=True)
    observation = observe(looptck_reference.Agent, Scenario(name="both", invocations=(first, second)))
    assert [seen.message for seen in observation.invocations] == [
        Message("assistant", "At the pier."),
        Message("assistant", "Gone."),
    ]
    asked = [(r.script, r.messages[0].content) for r in observation.records if isinstance(r, ModelAsked)]
    assert sorted(asked) == [("0", ASK[0].content), ("0", ASK[0].content), ("1", other[0].content)]


# spans and HTTP


@pytest.mark.parametrize("name", ["OTEL_SDK_DISABLED", "OTEL_TRACES_SAMPLER"])
def test_spans_are_seen_whatever_the_environment_says_of_tracing(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, {"OTEL_SDK_DISABLED": "true", "OTEL_TRACES_SAMPLER": "always_off"}[name])
    observation = observe(looptck_reference.Agent, scenario().model_copy(update={"tracer": True}))
    assert observation.spans[0].name == "agent.run"
    assert os.environ[name]


def test_spans_are_seen_and_the_one_that_a_tool_runs_in() -> None:
    observation = observe(looptck_reference.Agent, scenario().model_copy(update={"tracer": True}))
    run, *children = observation.spans
    assert (run.name, run.parent, run.ended) == ("agent.run", "", True)
    assert [(span.name, span.parent) for span in children] == [
        ("agent.llm_call", run.id),
        ("agent.tool find_ferry", run.id),
        ("agent.llm_call", run.id),
    ]
    (tool,) = (record for record in observation.records if isinstance(record, ToolStarted))
    assert tool.context == children[1].id


def test_over_http_the_bodies_of_the_requests_are_seen() -> None:
    observation = observe(looptck_reference.Agent, scenario().model_copy(update={"transport": "http"}))
    assert only(observation).message == Message("assistant", "At the pier.")
    assert [len(body["messages"]) for body in observation.http] == [1, 3]
