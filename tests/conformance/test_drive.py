"""One scenario observed in this process: what the kit records of a loop, and how it handles one that gets nowhere."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections.abc import AsyncIterator, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

import looptck_reference
from looptck.adapter import ContractAdapter, NoInterfaceError
from looptck.contract.ag03 import Event, LoopError, Message, ToolCall, ToolResult, Tools, Usage
from looptck.observation import InvocationSeen, Observation, from_json, to_json
from looptck.observe import drive, observe_here
from looptck.scenario import Call, Invocation, Options, Said, Scenario, Tokens, Turn
from looptck_fakes import ModelAsked, ToolEnded, ToolStarted

ASK = (Said(content="Where is the ferry?"),)
FERRY = Call(id="call_7", name="find_ferry", arguments='{"line": 3}', answer="at the pier")
CALLING = Turn(calls=(FERRY,), usage=Tokens(input=7, output=2))
ANSWER = Turn(text=("At ", "the pier."), usage=Tokens(input=9, output=3))
FOUR = tuple(
    Call(id=f"call_{n}", name="find_ferry", arguments=f'{{"line": {n}}}', answer=f"pier {n}") for n in range(4)
)


def scenario(*turns: Turn, options: Options | None = None, finish: Any = "at_once", **fields: Any) -> Scenario:
    """A scenario of one invocation; `fields` are those of the invocation."""
    run = Invocation(messages=ASK, turns=turns or (CALLING, ANSWER), **fields)
    return Scenario(name="ferry", options=options or Options(), finish=finish, invocations=(run,))


def observe(agent_class: type[Any], wanted: Scenario | None = None, *, limit: float = 20.0) -> Observation:
    return observe_here(ContractAdapter(agent_class), wanted or scenario(), limit=limit)


def only(observation: Observation) -> InvocationSeen:
    assert len(observation.invocations) == 1
    return observation.invocations[0]


class Hollow:
    """A loop of which each test fills in the one thing that it is about; it never asks its model."""

    def __init__(self, **options: Any) -> None:
        self.options = options

    def invoke(self, messages: Sequence[Message]) -> Any:
        self.given = messages
        return self

    def events(self) -> AsyncIterator[Event]:
        return nothing()

    async def result(self) -> Any:
        return Message("assistant", "hollow")

    def transcript(self) -> Any:
        return self.given

    def usage(self) -> Any:
        return Usage()


async def nothing() -> AsyncIterator[Event]:
    nowhere: tuple[Event, ...] = ()
    for event in nowhere:
        yield event


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


# a run that gets nowhere


class Hangs(Hollow):
    async def result(self) -> Any:
        await asyncio.Future()


class Polls(Hollow):
    async def result(self) -> Any:
        while True:  # noqa: ASYNC110 - that is its mistake
            await asyncio.sleep(0)


class Clings(Hollow):
    async def result(self) -> Any:
        while True:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.Future()


class AnswersItself(Hollow):
    """Asks its model without end, whatever it answers."""

    async def result(self) -> Any:
        while True:
            async for _ in self.options["provider"].stream(self.given, [], {}):
                pass


def test_a_run_that_can_do_nothing_more_is_unfinished() -> None:
    assert only(observe(Hangs)).status == "unfinished"


@pytest.mark.parametrize("raises", [False, True])
def test_what_a_run_gives_back_when_it_is_given_up_is_no_answer(raises: bool) -> None:  # noqa: FBT001
    class GivesIn(Hollow):
        async def result(self) -> Any:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.Future()
            if raises:
                raise RuntimeError("stopped")
            return Message("assistant", "At the pier.")

    seen = only(observe(GivesIn))
    assert (seen.status, seen.message) == ("unfinished", None)


def test_a_second_result_that_never_comes_leaves_the_first_an_answer() -> None:
    class Once(Hollow):
        taken = False

        async def result(self) -> Any:
            if self.taken:
                await asyncio.Future()
            self.taken = True
            return Message("assistant", "once")

    seen = only(observe(Once, scenario(result_twice=True)))
    assert (seen.status, seen.message, seen.again) == ("answered", Message("assistant", "once"), "unfinished")


def test_a_run_that_asks_beyond_the_script_fails_by_count() -> None:
    observation = observe(AnswersItself)
    seen = only(observation)
    assert (seen.status, seen.error and seen.error.kind) == ("failed", "script_exhausted")
    assert [r.beyond_script for r in observation.records if isinstance(r, ModelAsked)] == [False, False, True]


def test_a_run_that_never_rests_meets_the_limit() -> None:
    assert only(observe(Polls, limit=0.2)).status == "timeout"


def test_a_run_that_will_not_be_cancelled_is_given_up() -> None:
    assert only(observe(Clings)).status == "unfinished"


def test_a_run_that_waits_for_a_thread_that_waits_is_unfinished(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drive, "LONG", 0.1)
    over = threading.Event()

    class WaitsForThread(Hollow):
        async def result(self) -> Any:
            return await asyncio.to_thread(over.wait)

    try:
        observation = observe(WaitsForThread)
    finally:
        over.set()
    assert (only(observation).status, observation.settled_by) == ("unfinished", "threads")


def test_after_a_run_that_gets_nowhere_no_other_is_begun() -> None:
    twice = scenario().model_copy(update={"invocations": scenario().invocations * 2})
    assert len(observe(Hangs, twice).invocations) == 1
    assert len(observe(Hollow, twice).invocations) == 2


# cancelling


def test_the_caller_is_cancelled_while_a_tool_runs() -> None:
    observation = observe(looptck_reference.Agent, scenario(cancel="tools"))
    seen = only(observation)
    assert (seen.status, seen.in_flight_at_end) == ("cancelled", 0)
    assert [record.how for record in observation.records if isinstance(record, ToolEnded)] == ["cancelled"]


def test_the_caller_is_cancelled_while_the_model_speaks() -> None:
    held = Turn(text=("At ", "the pier."), hold=True)
    observation = observe(looptck_reference.Agent, scenario(held, cancel="stream"))
    assert only(observation).status == "cancelled"
    assert [type(record).__name__ for record in observation.records] == ["ModelAsked", "ModelAnswered"]


def test_tools_that_outlive_a_cancelled_run_are_counted() -> None:
    kept: set[asyncio.Task[ToolResult]] = set()

    class LetsRun(Hollow):
        async def result(self) -> Any:
            kept.add(asyncio.get_running_loop().create_task(self.options["tools"].call(FERRY.call())))
            await asyncio.Future()

    observation = observe(LetsRun, scenario(cancel="tools"))
    assert (only(observation).status, only(observation).in_flight_at_end) == ("cancelled", 1)
    assert observation.leftovers == ("RecordingTools.call",)


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
