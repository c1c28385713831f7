"""Scenarios: whole ones go through JSON unchanged, and a file that cannot be used says where and why in one line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from looptck.contract.ag03 import Message, ToolCall, ToolResult, Usage
from looptck.scenario import Call, Invocation, Options, Said, Scenario, ScenarioError, Tokens, Turn, load_scenario

COMMON = settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.too_slow])

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
COUNT = st.integers(0, 99)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64) | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=2),
    max_leaves=4,
)


def few(items: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(items, max_size=2).map(tuple)


TOKENS = st.builds(Tokens, input=COUNT, output=COUNT)
CALLS = st.builds(
    Call,
    id=TEXT,
    name=TEXT,
    arguments=TEXT,
    answer=TEXT,
    is_error=st.booleans(),
    raises=st.none() | TEXT,
    verdict=st.sampled_from(["allow", "deny", "need_approval", "raise"]),
    reason=TEXT,
    marker=TEXT,
)
TURNS = st.builds(
    Turn,
    text=few(TEXT),
    calls=few(CALLS),
    usage=st.none() | TOKENS,
    early_usage=st.none() | TOKENS,
    fragments=st.integers(1, 5),
    error=st.none() | TEXT,
    error_at=st.sampled_from(["before", "middle", "after"]),
    status=st.none() | st.integers(200, 599),
    cut_after=st.none() | COUNT,
)
SAID = st.builds(
    Said,
    role=st.sampled_from(["system", "user", "assistant", "tool"]),
    content=TEXT,
    calls=few(CALLS),
    tool_call_id=st.none() | TEXT,
)
OPTIONS = st.builds(
    Options,
    system=st.none() | TEXT,
    name=st.none() | TEXT,
    call_options=st.none() | st.dictionaries(TEXT, JSON, max_size=2),
    max_iter=st.none() | COUNT,
    max_parallel_tools=st.none() | COUNT,
    max_tokens=st.none() | COUNT,
    max_tool_calls=st.none() | COUNT,
)


@st.composite
def invocations(draw: st.DrawFn, before: tuple[Invocation, ...]) -> Invocation:
    """An invocation that may stand after those before it."""
    runners = ["none", "record", "refuse", *(["replay"] if before and before[-1].runner != "none" else [])]
    return Invocation(
        messages=draw(few(SAID)),
        continues=draw(st.none() | st.integers(0, len(before) - 1)) if before else None,
        turns=draw(few(TURNS)),
        approvals=draw(st.none() | few(TEXT)),
        runner=draw(st.sampled_from(runners)),
        refuse=draw(few(TEXT)),
        read=draw(st.sampled_from(["none", "all", 1, 7])),
        cancel=draw(st.sampled_from(["never", "tools", "stream"])),
        reuse_agent=bool(before) and draw(st.booleans()),
        alongside=bool(before) and draw(st.booleans()),
        result_twice=draw(st.booleans()),
    )


@st.composite
def scenarios(draw: st.DrawFn) -> Scenario:
    """A scenario in which everything may be set."""
    made: tuple[Invocation, ...] = ()
    for _ in range(draw(st.integers(1, 3))):
        made = (*made, draw(invocations(made)))
    return Scenario(
        name=draw(TEXT),
        options=draw(OPTIONS),
        gate=draw(st.booleans()),
        tracer=draw(st.booleans()),
        transport=draw(st.sampled_from(["direct", "http"])),
        finish=draw(st.sampled_from(["at_once", "first", "last"])),
        invocations=made,
    )


def refusal(text: str | dict[str, Any]) -> str:
    """What is said of a file that cannot be used, without the name of the file: one printable line."""
    with pytest.raises(ScenarioError) as caught:
        load_scenario(text if isinstance(text, str) else json.dumps(text), "runs/odd.json")
    said = str(caught.value)
    assert said.isprintable(), ascii(said)
    assert said.startswith("runs/odd.json: ")
    return said.removeprefix("runs/odd.json: ")


# ---------------------------------------------------------------------------------------------------------- round trip


@COMMON
@given(scenarios())
def test_a_scenario_comes_back_from_json_as_it_was(scenario: Scenario) -> None:
    assert load_scenario(scenario.model_dump_json(), "f") == scenario


@COMMON
@given(scenarios(), st.integers(0, 4))
def test_what_has_its_default_need_not_be_written(scenario: Scenario, indent: int) -> None:
    written = scenario.model_dump_json(exclude_defaults=True, indent=indent)
    assert load_scenario(written, "f") == scenario


@COMMON
@given(scenarios())
def test_every_call_of_a_scenario_is_found_once_for_each_place_it_stands(scenario: Scenario) -> None:
    expected: list[Call] = []
    for run in scenario.invocations:
        expected += [call for said in run.messages for call in said.calls]
        expected += [call for turn in run.turns for call in turn.calls]
    assert list(scenario.calls()) == expected


def test_the_smallest_scenario_is_a_name_and_one_invocation() -> None:
    scenario = load_scenario('{"name": "empty", "invocations": [{}]}', "f")
    assert scenario == Scenario(name="empty", invocations=(Invocation(),))


def test_a_scenario_cannot_be_changed() -> None:
    scenario = Scenario(name="fixed", invocations=(Invocation(),))
    with pytest.raises(ValidationError, match="frozen"):
        scenario.name = "other"


# ------------------------------------------------------------------------------------------- files that cannot be used


def objects(node: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], dict[str, Any]]]:
    """Every object of a scenario's JSON whose keys are decided, with its path."""
    if isinstance(node, dict):
        yield path, node
        for key, value in node.items():
            if key != "call_options":
                yield from objects(value, (*path, key))
    elif isinstance(node, list):
        for place, value in enumerate(node):
            yield from objects(value, (*path, place))


@COMMON
@given(scenarios(), st.sampled_from(["surplus", "Name", "max-iter", "naïve", " "]), st.data())
def test_an_unknown_key_is_named_by_its_path(scenario: Scenario, key: str, data: st.DataObject) -> None:
    written = json.loads(scenario.model_dump_json())
    path, node = data.draw(st.sampled_from(list(objects(written))))
    node[key] = 1
    assert refusal(written).startswith(".".join(str(part) for part in (*path, key)) + ": ")


@pytest.mark.parametrize("key", ["a\nb", "a\x1b[31mb", "a\u2028b", ""])
def test_an_unknown_key_cannot_break_the_line(key: str) -> None:
    assert "Extra inputs" in refusal({"name": "x", "invocations": [{}], key: 1})


@pytest.mark.parametrize(
    ("invocations", "path"),
    [
        ([{"continues": 0}], "invocations.0.continues"),
        ([{"continues": -1}], "invocations.0.continues"),
        ([{}, {"continues": 1}], "invocations.1.continues"),
        ([{}, {"continues": -1}], "invocations.1.continues"),
        ([{}, {}, {"continues": 7}], "invocations.2.continues"),
        ([{"reuse_agent": True}], "invocations.0"),
        ([{"alongside": True}], "invocations.0"),
        ([{"runner": "replay"}], "invocations.0"),
        ([{}, {"runner": "replay"}], "invocations.1.runner"),
        ([{"runner": "record"}, {}, {"runner": "replay"}], "invocations.2.runner"),
    ],
    ids=str,
)
def test_an_invocation_that_needs_another_one_before_it_is_named(invocations: list[dict[str, Any]], path: str) -> None:
    assert path in refusal({"name": "x", "invocations": invocations})


def test_an_invocation_may_continue_any_earlier_one() -> None:
    runs = (Invocation(), Invocation(continues=0), Invocation(continues=0), Invocation(continues=2))
    scenario = Scenario(name="x", invocations=runs)
    assert [run.continues for run in scenario.invocations] == [None, 0, 0, 2]


def test_a_reply_over_http_cannot_be_held() -> None:
    held: dict[str, Any] = {"name": "x", "invocations": [{"turns": [{"hold": True}]}]}
    assert load_scenario(json.dumps(held), "f").invocations[0].turns[0].hold
    assert "invocations.0.turns" in refusal({**held, "transport": "http"})


@pytest.mark.parametrize(
    ("turn", "path"),
    [
        ({"fragments": 0}, "fragments"),
        ({"usage": {"input": -1}}, "usage.input"),
        ({"error_at": "end"}, "error_at"),
        ({"status": 100}, "status"),
        ({"status": 600}, "status"),
        ({"cut_after": -1}, "cut_after"),
        ({"text": "Hello."}, "text"),
        ({"calls": [{"id": "call_1"}]}, "calls.0.name"),
        ({"calls": [{"id": "call_1", "name": "a", "arguments": {}}]}, "calls.0.arguments"),
        ({"calls": [{"id": "call_1", "name": "a", "verdict": "maybe"}]}, "calls.0.verdict"),
    ],
    ids=str,
)
def test_a_value_that_no_turn_can_have_is_named_by_its_path(turn: dict[str, Any], path: str) -> None:
    scenario = {"name": "x", "invocations": [{}, {"turns": [{}, turn]}]}
    assert refusal(scenario).startswith(f"invocations.1.turns.1.{path}: ")


@pytest.mark.parametrize("read", [0, -1, "some", None, 1.5])
def test_events_are_read_by_number_from_one_or_all_or_none(read: object) -> None:
    assert refusal({"name": "x", "invocations": [{"read": read}]}).startswith("invocations.0.read")


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("", "the file: Invalid JSON"),
        ("name: x", "the file: Invalid JSON"),
        ("[]", "the file: "),
        ("null", "the file: "),
        ("{}", "name: "),
        ('{"name": "x"}', "invocations: "),
        ('{"name": "x", "invocations": []}', "invocations: "),
        ('{"name": "\\ud800", "invocations": [{}]}', "the file: Invalid JSON"),
        ('{"name": "\ud800", "invocations": [{}]}', "the file: "),
        ('{"name": "x", "options": {"call_options": {"a": ' + "[" * 9999, "the file: Invalid JSON"),
        ('{"name": "x", "options": {"max_iter": 1' + "0" * 9999, "the file: Invalid JSON"),
    ],
    ids=["empty", "yaml", "list", "null", "no name", "no runs", "0 runs", "surrogate", "raw surrogate", "deep", "long"],
)
def test_what_is_no_scenario_at_all_is_refused(text: str, path: str) -> None:
    assert refusal(text).startswith(path)


@COMMON
@given(scenarios(), st.data())
def test_a_file_that_ends_early_is_refused(scenario: Scenario, data: st.DataObject) -> None:
    whole = scenario.model_dump_json()
    end = data.draw(st.integers(0, len(whole) - 1))
    assert refusal(whole[:end]).startswith("the file: Invalid JSON")


def test_the_number_of_further_mistakes_is_told() -> None:
    assert refusal({"name": 1, "gate": "no idea", "invocations": [{}]}) == (
        "name: Input should be a valid string (and 1 more)"
    )


# --------------------------------------------------------------------------------------------------- what it stands for


def test_a_turn_amounts_to_the_message_that_its_chunks_make() -> None:
    turn = Turn(text=("It ", "is."), calls=(Call(id="call_1", name="a", arguments="{}"), Call(id="call_2", name="b")))
    assert turn.message() == Message(
        "assistant", "It is.", (ToolCall("call_1", "a", "{}"), ToolCall("call_2", "b", "{}"))
    )


def test_parts_of_a_scenario_have_the_form_of_the_contract() -> None:
    call = Call(id="call_1", name="a", arguments='{"b":1}', answer="no", is_error=True)
    assert call.call() == ToolCall("call_1", "a", '{"b":1}')
    assert call.result() == ToolResult("no", is_error=True)
    assert Tokens(input=3, output=2).usage() == Usage(3, 2)
    assert Said(role="tool", content="no", tool_call_id="call_1").message() == Message("tool", "no", (), "call_1")
    assert Said(role="assistant", calls=(call,)).message() == Message("assistant", "", (call.call(),))


@pytest.mark.parametrize(
    ("fields", "features"),
    [
        ({}, []),
        ({"options": {"max_iter": 1, "system": "Be kind.", "name": "bot", "call_options": {}}}, ["max_iter"]),
        ({"options": {"max_parallel_tools": 2}}, ["max_parallel_tools"]),
        ({"options": {"max_tokens": 0}}, ["budget"]),
        ({"options": {"max_tool_calls": 0}}, ["budget"]),
        ({"gate": True, "tracer": True}, ["gate", "tracer"]),
        ({"invocations": [{"approvals": []}]}, ["approvals"]),
        ({"invocations": [{}, {"continues": 0}]}, ["resume"]),
        ({"invocations": [{"runner": "refuse"}]}, ["step_runner"]),
        ({"invocations": [{"read": 1}]}, ["events"]),
        ({"invocations": [{}, {"cancel": "tools"}]}, ["cancel"]),
    ],
    ids=str,
)
def test_a_scenario_needs_the_features_that_it_sets(fields: dict[str, Any], features: list[str]) -> None:
    assert sorted(Scenario.model_validate({"name": "x", "invocations": [{}], **fields}).features()) == features
