"""The adapter of pydantic-ai: its results stay what is recorded and told, and it translates without helping along."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from importlib.metadata import version
from typing import Any

import pytest
from pydantic_ai import UsageLimitExceeded
from pydantic_ai.messages import (
    FilePart,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    RetryFeedbackPart,
    RetryInfo,
    ToolReturnPart,
    UserPromptPart,
)
from tests.conformance import pydantic_ai_results as results
from tests.conformance.driving import ANSWER, ASK, CALLING, FERRY, FOUR, only, scenario

from looptck.adapters.pydantic_ai import adapter
from looptck.adapters.pydantic_ai.limits import in_contract_words, limits_of
from looptck.adapters.pydantic_ai.messages import from_framework, open_calls, to_framework
from looptck.contract.ag03 import Budget, BudgetError, MaxIterError, Message, ToolCall
from looptck.observation import InvocationSeen, Observation
from looptck.observe import observe_here
from looptck.scenario import Invocation, Options, Said, Scenario, Turn
from looptck.suite.evidence import Evidence
from looptck_fakes import GateAsked, ModelAsked, ToolEnded


def observe(wanted: Scenario) -> tuple[Observation, InvocationSeen]:
    observation = observe_here(adapter, wanted, limit=20.0)
    return observation, only(observation)


# the results


@pytest.mark.parametrize("seed", [7, 1961])  # a second each: all scenarios of the suite, run by a framework
def test_the_verdicts_are_those_that_are_recorded_whatever_the_seed(seed: int) -> None:
    assert results.recorded_version() == version(results.DISTRIBUTION), "of another version: record them anew"
    assert results.observed(seed) == results.recorded()


def test_the_table_of_the_page_is_what_is_recorded() -> None:
    found = results.TABLE.findall(results.PAGE.read_text(encoding="utf-8"))
    assert found == [results.table() + "\n"], "python -m tests.conformance.pydantic_ai_results writes it anew"


def test_the_page_says_of_every_failure_why_and_of_nothing_else() -> None:
    why = results.PAGE.read_text(encoding="utf-8").split("## What fails, and why\n")[1].split("\n## ")[0]
    told = re.findall(r"`([a-z-]+/[a-z-]+)`", why)
    assert sorted(told) == sorted(check for check, verdict in results.recorded().items() if verdict == "fail")


def test_the_page_names_the_framework_and_what_it_lacks() -> None:
    page = results.PAGE.read_text(encoding="utf-8")
    assert f"pydantic-ai-slim {results.recorded_version()}" in page
    lacking = page.split("## What it lacks\n")[1].split("\n## ")[0]
    assert re.findall(r"^\* `(\w+)`", lacking, re.MULTILINE) == list(adapter.lacks)


def test_nothing_of_the_kit_imports_the_framework_but_the_adapter() -> None:
    code = "import looptck.adapters, looptck.session, sys; sys.exit('pydantic_ai' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# messages

TALK = (
    Message("system", "Be brief."),
    Message("user", "Where is the ferry?"),
    Message("assistant", "Let me look.", (ToolCall("c1", "find_ferry", '{"line" : 3}'), ToolCall("c2", "look", "{}"))),
    Message("tool", "at the pier", tool_call_id="c1"),
    Message("tool", "", tool_call_id="c2"),
    Message("assistant", "At the pier."),
    Message("user", "And now?"),
    Message("user", ""),
    Message("assistant", ""),
)


def test_a_transcript_comes_back_as_it_was() -> None:
    assert from_framework(to_framework(TALK)) == list(TALK)


def test_what_stands_between_two_replies_is_one_request() -> None:
    history = to_framework(TALK)
    assert [type(item) for item in history] == [ModelRequest, ModelResponse] * 3
    answers = [part for part in history[2].parts if isinstance(part, ToolReturnPart)]
    assert [(part.tool_name, part.tool_call_id) for part in answers] == [("find_ferry", "c1"), ("look", "c2")]


def test_a_tool_message_without_its_call_is_kept() -> None:
    alone = [Message("tool", "at the pier", tool_call_id="c9")]
    assert from_framework(to_framework(alone)) == alone


@pytest.mark.parametrize(("cause", "role"), [("no_output", "system"), ("model_retry", "user")])
def test_the_frameworks_own_words_keep_their_voice(cause: Any, role: str) -> None:
    history: list[ModelMessage] = [ModelRequest(parts=[RetryFeedbackPart("Again.", retry=RetryInfo(cause=cause))])]
    assert from_framework(history) == [Message(role, "Again.")]  # type: ignore[arg-type]


def test_what_the_contract_has_no_word_for_is_refused() -> None:
    picture = FilePart.__new__(FilePart)
    with pytest.raises(TypeError, match="no message for a file part"):
        from_framework([ModelResponse(parts=[picture])])


def test_pieces_of_a_prompt_are_one_text() -> None:
    assert from_framework([ModelRequest(parts=[UserPromptPart(["a", "b"])])]) == [Message("user", "a\n\nb")]


def test_calls_are_open_until_they_are_answered() -> None:
    assert [open_calls(TALK[:length]) for length in range(2, 7)] == [[], ["c1", "c2"], ["c2"], [], []]


# limits


def test_limits_that_are_not_set_are_the_frameworks_own() -> None:
    limits = limits_of({})
    assert (limits.request_limit, limits.total_tokens_limit, limits.tool_calls_limit) == (50, None, None)


def test_limits_that_are_set_are_handed_over() -> None:
    limits = limits_of({"max_iter": 3, "budget": Budget(max_tokens=100, max_tool_calls=2)})
    assert (limits.request_limit, limits.total_tokens_limit, limits.tool_calls_limit) == (3, 100, 2)


@pytest.mark.parametrize(
    ("options", "kind", "told"),
    [
        (Options(max_iter=1), "max_iter", (None, None)),
        (Options(max_tool_calls=0), "budget", (1, 0)),
        (Options(max_tokens=8), "budget", (9, 8)),
    ],
)
def test_the_frameworks_error_at_a_limit_is_told_in_the_contracts_words(
    options: Options, kind: str, told: tuple[int | None, int | None]
) -> None:
    error = observe(scenario(options=options))[1].error
    assert error is not None
    assert (error.kind, (error.used, error.limit), error.message) == (kind, told, None)


def test_the_frameworks_own_error_is_the_cause() -> None:
    error = UsageLimitExceeded("The next request would exceed the request_limit of 3")
    assert isinstance(in_contract_words(error), MaxIterError)
    assert in_contract_words(error).__cause__ is error
    spent = in_contract_words(UsageLimitExceeded("Exceeded the total_tokens_limit of 100 (total_tokens=110)"))
    assert isinstance(spent, BudgetError)
    assert (spent.resource, spent.used, spent.limit) == ("total tokens", 110, 100)


@pytest.mark.parametrize("error", [ValueError("request_limit of 3"), UsageLimitExceeded("of another kind")])
def test_any_other_error_stays_what_it_is(error: Exception) -> None:
    assert in_contract_words(error) is error


# runs


def test_a_run_goes_through_the_framework_and_stays_certain() -> None:
    observation, seen = observe(scenario(Turn(calls=FOUR), ANSWER, finish="last"))
    assert (seen.status, observation.levels) == ("answered", (4, 3, 2, 1))
    assert (observation.settled_by, observation.leftovers, seen.problems) == ("certain", (), ())


def test_a_streamed_reply_is_put_together_by_the_framework() -> None:
    turns = (CALLING.model_copy(update={"calls": FOUR, "fragments": 4, "text": ("Let ", "me.")}), ANSWER)
    read, unread = (observe(scenario(*turns, read=read))[1] for read in ("all", "none"))
    assert (read.transcript, read.usage, read.message) == (unread.transcript, unread.usage, unread.message)
    assert [event.kind for event in read.events if event.kind != "text"] == ["tool_call"] * 4 + ["tool_result"] * 4


def test_reading_may_stop_anywhere() -> None:
    seen = observe(scenario(read=2))[1]
    assert ([event.kind for event in seen.events], seen.events_ended) == (["tool_call", "tool_result"], False)
    assert (seen.status, seen.message) == ("answered", Message("assistant", "At the pier."))


def test_a_turn_of_which_nothing_is_answered_is_dispatched_before_the_model_is_asked() -> None:
    resumed = Invocation(messages=(*ASK, Said(role="assistant", calls=FOUR)), turns=(ANSWER,))
    observation, seen = observe(Scenario(name="open", invocations=(resumed,)))
    kinds = [type(record) for record in observation.records if isinstance(record, ToolEnded | ModelAsked)]
    assert (kinds, seen.status) == ([ToolEnded] * 4 + [ModelAsked], "answered")


def test_a_failed_result_is_an_error_that_the_model_reads() -> None:
    seen = observe(scenario(Turn(calls=(FERRY.model_copy(update={"is_error": True}),)), ANSWER, read="all"))[1]
    assert (seen.transcript or ())[2].content == '{"error":"at the pier"}'
    assert [event.result.is_error for event in seen.events if event.result is not None] == [True]


def test_a_tool_that_raises_ends_the_run_with_its_error_and_cancels_its_siblings() -> None:
    raising = FOUR[0].model_copy(update={"raises": "no pier"})
    observation, seen = observe(scenario(Turn(calls=(raising, *FOUR[1:])), ANSWER, finish="first"))
    assert seen.error is not None
    assert (seen.error.scripted, seen.error.text) == ("same", "ScriptedError: no pier")
    ended = [record.how for record in observation.records if isinstance(record, ToolEnded)]
    assert ended == ["raised", "cancelled", "cancelled", "cancelled"]


def test_an_error_of_the_model_comes_out_as_it_is() -> None:
    for read in ("none", "all"):
        seen = observe(scenario(Turn(text=("a",), error="no model", error_at="middle"), read=read))[1]
        assert seen.error is not None
        assert (seen.error.scripted, seen.events_ended) == ("same", False)


def test_a_cancelled_run_has_an_outcome() -> None:
    observation, seen = observe(scenario(cancel="tools"))
    assert (seen.status, observation.leftovers, [message.role for message in seen.transcript or ()]) == (
        "cancelled",
        (),
        ["user", "assistant"],
    )


def test_somebody_at_the_keyboard_ends_the_adapter_too() -> None:
    class Interrupted:
        model = "none"

        def stream(self, *_: Any) -> Any:
            raise KeyboardInterrupt

    async def run() -> None:
        from looptck.adapter import Run  # noqa: PLC0415 - for this test alone
        from looptck_fakes import RecordingTools  # noqa: PLC0415 - likewise

        options = {"provider": Interrupted(), "tools": RecordingTools({})}
        await adapter.run(Run(options, [Message("user", "hello")], "none", lambda _event: None, {}, 0))

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(run())


# the gate


def gated(*verdicts: dict[str, str], budget: int | None = None, approvals: tuple[str, ...] | None = None) -> Scenario:
    calls = tuple(call.model_copy(update=verdict) for call, verdict in zip(FOUR, verdicts, strict=False))
    first = Invocation(messages=ASK, turns=(Turn(calls=calls), ANSWER))
    again = [Invocation(continues=0, approvals=approvals, turns=(ANSWER,))] if approvals is not None else []
    return Scenario(name="gated", gate=True, options=Options(max_tool_calls=budget), invocations=(first, *again))


WAITING = {"verdict": "need_approval", "marker": "m1", "reason": "too far"}
ALLOWED: dict[str, str] = {}


def test_the_gate_is_asked_about_all_calls_of_a_turn_before_one_of_them_runs() -> None:
    observation, seen = observe(gated(ALLOWED, {"verdict": "deny", "reason": "too far"}, ALLOWED))
    kinds = [type(record).__name__ for record in observation.records if not isinstance(record, ToolEnded)]
    assert kinds[2:7] == ["GateAsked"] * 3 + ["ToolStarted"] * 2
    assert (seen.transcript or ())[3] == Message("tool", "error: denied by policy: too far", tool_call_id="call_1")


def test_calls_that_are_allowed_run_beside_one_that_waits() -> None:
    seen = observe(gated(ALLOWED, WAITING))[1]
    assert seen.error is not None
    assert [(item.call.id, item.marker, item.reason) for item in seen.error.pending or ()] == [
        ("call_1", "m1", "too far")
    ]
    assert [message.tool_call_id for message in seen.transcript or ()][2:] == ["call_0"]


def test_a_call_that_is_approved_runs_and_the_gate_is_not_asked_again() -> None:
    observation = observe_here(adapter, gated(WAITING, ALLOWED, approvals=("m1",)))
    evidence = Evidence(gated(WAITING, ALLOWED, approvals=("m1",)), observation)
    assert ([run.call.id for run in evidence.runs(1)], evidence.questions(1), evidence.ending(1)) == (
        ["call_0"],
        (),
        "answered",
    )
    sent = [message.tool_call_id for message in evidence.requests(1)[0].messages if message.role == "tool"]
    kept = [message.tool_call_id for message in evidence.invocation(1).transcript or () if message.role == "tool"]
    assert (sent, kept) == (["call_0", "call_1"], ["call_1", "call_0"])


def test_an_approval_under_another_marker_is_refused_by_the_framework() -> None:
    observation = observe_here(adapter, gated(WAITING, approvals=("m2",)))
    error = observation.invocations[1].error
    assert error is not None
    assert error.text.startswith("UserError: Tool call results need to be provided for all deferred tool calls")


def test_calls_that_needed_approval_and_failed_calls_are_not_held_against_the_budget_beforehand() -> None:
    """What the suite does not look at; the page tells it."""
    observation, seen = observe(gated(ALLOWED, ALLOWED, ALLOWED, budget=2))
    assert (seen.status, sum(isinstance(record, ToolEnded) for record in observation.records)) == ("answered", 3)
    failing = [Turn(calls=(call.model_copy(update={"is_error": True}),)) for call in FOUR[:3]]
    observation, seen = observe(scenario(*failing, ANSWER, options=Options(max_tool_calls=1)))
    assert (seen.status, sum(isinstance(record, ToolEnded) for record in observation.records)) == ("answered", 3)


def test_the_gate_is_told_what_the_framework_shows_of_the_context() -> None:
    calls = [Turn(calls=(call,)) for call in FOUR[:2]]
    wanted = scenario(*calls, ANSWER).model_copy(update={"gate": True})
    asked = [record for record in observe(wanted)[0].records if isinstance(record, GateAsked)]
    assert [(record.tainted, record.iter) for record in asked] == [(False, 1), (True, 2)]


# options


def test_options_and_definitions_reach_the_model() -> None:
    options = Options(system="Be brief.", call_options={"temperature": 0, "seed": 3})
    asked = [r for r in observe(scenario(options=options))[0].records if isinstance(r, ModelAsked)]
    assert [(dict(r.options), r.messages[0]) for r in asked] == [
        ({"temperature": 0, "seed": 3}, Message("system", "Be brief.")) for _ in range(2)
    ]
    assert [(tool.name, tool.parameters) for tool in asked[0].tools] == [("find_ferry", {"type": "object"})]


def test_spans_are_the_frameworks_own() -> None:
    wanted = scenario(options=Options(name="pilot")).model_copy(update={"tracer": True})
    spans = observe(wanted)[0].spans
    assert [span.name for span in spans] == [
        "invoke_agent pilot",
        "chat scripted-model",
        "execute_tool find_ferry",
        "chat scripted-model",
    ]
    assert all(span.ended for span in spans)
