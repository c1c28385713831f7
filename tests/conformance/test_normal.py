"""Normal values: what is right stays what it is, what is odd is shown and marked."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conformance.hostile import CALL, COMMON, PROPOSAL, Silent

from looptck.contract.ag03 import Allow, Deny, Event, Message, NeedApproval, ToolCall, ToolDefinition, ToolResult, Usage
from looptck.observation import EventSeen
from looptck.observe import normal
from looptck_fakes import GateAsked, ModelAsked, StepStarted, ToolStarted

CLEAN = st.text(max_size=4)
CALLS = st.builds(ToolCall, CLEAN, CLEAN, CLEAN)
MESSAGES = st.builds(
    Message,
    st.sampled_from(["system", "user", "assistant", "tool"]),
    CLEAN,
    st.lists(CALLS, max_size=2).map(tuple),
    st.none() | CLEAN,
)
USAGES = st.builds(Usage, st.integers(0, 2**40), st.integers(0, 2**40))


@COMMON
@given(MESSAGES, USAGES, CALLS)
def test_a_correct_value_stays_what_it_is(message: Message, usage: Usage, call: ToolCall) -> None:
    assert normal.message(message) == message
    assert normal.messages([message, message]) == (message, message)
    assert normal.usage(usage) == usage
    assert normal.call(call) == call


def test_what_cannot_be_encoded_is_written_out() -> None:
    assert normal.text("a\ud800b") == "a\\ud800b"


@COMMON
@given(st.text(st.characters(), max_size=8))
def test_text_stays_what_it_is_but_for_what_cannot_be_encoded(value: str) -> None:
    said = normal.text(value)
    assert said.encode("utf-8").decode("utf-8") == said
    assert (said == value) == all(not "\ud800" <= letter <= "\udfff" for letter in value)


@COMMON
@given(st.recursive(st.none() | st.booleans() | st.integers(-(2**62), 2**62) | st.floats(-9, 9) | CLEAN, st.lists))
def test_a_json_value_stays_what_it_is(value: Any) -> None:
    assert normal.plain({"a": value}) == {"a": value}
    assert type(normal.plain(value)) is type(value)


@pytest.mark.parametrize("value", [5, b"a", None, ["a"], 1.5], ids=repr)
def test_what_is_no_text_is_shown_and_marked(value: object) -> None:
    assert normal.text(value) == f"(not text) {value!r}"


def test_what_cannot_even_be_shown_is_named_by_its_type() -> None:
    assert normal.text(Silent()) == "(not text) <Silent whose repr raises RuntimeError>"


def test_long_reprs_are_cut_and_long_text_is_not() -> None:
    assert len(normal.text(["a" * 5000])) < 300
    assert len(normal.text("a" * 5000)) == 5000


@pytest.mark.parametrize(
    ("value", "expected"), [(0, 0), (-3, -3), (True, 1), (2**40, 2**40), (1.0, -1), ("1", -1), (None, -1)], ids=repr
)
def test_a_count_is_an_integer(value: object, expected: int) -> None:
    assert normal.count(value) == expected
    assert type(normal.count(value)) is int


@pytest.mark.parametrize("value", ["Hi", {"role": "user"}, None, SimpleNamespace(role="bot"), SimpleNamespace(role=[])])
def test_what_is_no_message_is_shown_as_content(value: object) -> None:
    assert normal.message(value) == Message("user", f"(not text) {value!r}")


def test_a_transcript_that_is_no_list_is_one_odd_message() -> None:
    assert normal.messages(7) == (Message("user", "(not text) 7"),)
    assert normal.messages(None) == ()
    assert normal.messages(iter([PROPOSAL])) == (PROPOSAL,)


def test_arguments_that_were_parsed_are_shown_as_such() -> None:
    parsed: Any = {"city": "Paris"}
    started = normal.record(ToolStarted(0, 0, ToolCall("call_1", "get_weather", parsed)))
    assert started.call == ToolCall("call_1", "get_weather", "(not text) {'city': 'Paris'}")


def test_a_record_of_a_correct_loop_stays_what_it_is() -> None:
    definition = ToolDefinition("add", "Adds.", {"type": "object", "properties": {"a": {"type": "integer"}}})
    for record in (
        ModelAsked(0, 0, "0", (PROPOSAL,), (definition,), {"temperature": 0.5}),
        ToolStarted(1, 0, CALL, "0123"),
        GateAsked(2, CALL, tainted=True, iter=3, verdict="deny"),
        StepStarted(3, 0, "tool/1/0/add", "tool"),
    ):
        assert normal.record(record) == record


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (Event("text", 1, text="It "), EventSeen("text", 1, "It ")),
        (Event("usage", 2, usage=Usage(10, 5)), EventSeen("usage", 2, usage=Usage(10, 5))),
        (Event("tool_call", 1, call=CALL), EventSeen("tool_call", 1, call=CALL)),
        (Event("tool_call", 1, call=CALL, verdict=Allow()), EventSeen("tool_call", 1, call=CALL, verdict="allow")),
        (Event("tool_call", 1, call=CALL, verdict=Deny("x")), EventSeen("tool_call", 1, call=CALL, verdict="deny")),
        (
            Event("tool_call", 1, call=CALL, verdict=NeedApproval("m1")),
            EventSeen("tool_call", 1, call=CALL, verdict="need_approval"),
        ),
        (
            Event("tool_result", 1, call=CALL, result=ToolResult("no", is_error=True)),
            EventSeen("tool_result", 1, call=CALL, result=ToolResult("no", is_error=True)),
        ),
        (Event("done", 2), EventSeen("done", 2)),
        (Event("error", 2, error=ConnectionError("gone")), EventSeen("error", 2, error="ConnectionError")),
    ],
    ids=[f"{number}" for number in range(9)],
)
def test_an_event_is_read_field_by_field(event: Event, expected: EventSeen) -> None:
    assert normal.event(event) == expected
