"""Observations: whatever was seen comes back from JSON as it was, and nothing else is taken for an observation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from looptck.contract.ag03 import Message, ToolCall, ToolResult, Usage
from looptck.observation import EventSeen, InvocationSeen, Observation, SpanSeen, from_json, to_json
from looptck_fakes import GateAsked, ModelAnswered, ModelAsked, StepEnded, StepStarted, ToolEnded, ToolStarted

COMMON = settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])

TEXT = st.text(max_size=4)
INTEGERS = st.integers(-1, 2**40)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=2),
    max_leaves=3,
)
PLAIN: dict[Any, st.SearchStrategy[Any]] = {
    str: TEXT,
    int: INTEGERS,
    bool: st.booleans(),
    NoneType: st.none(),
    dict[str, Any]: st.dictionaries(TEXT, JSON, max_size=2),
    Mapping[str, Any]: st.dictionaries(TEXT, JSON, max_size=2),
}
CALL = ToolCall("call_1", "get_weather", "{}")


def values(hint: Any) -> st.SearchStrategy[Any]:
    """Values of a type that an observation may hold; a field that is added later is covered with the others."""
    if is_dataclass(hint) and isinstance(hint, type):
        hints = get_type_hints(hint)
        return st.builds(hint, **{field.name: values(hints[field.name]) for field in fields(hint)})
    if hint in PLAIN:
        return PLAIN[hint]
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Literal:
        return st.sampled_from(inner)
    if origin in {Union, UnionType}:
        return st.one_of([values(kind) for kind in inner])
    assert origin is tuple, hint
    assert inner[1:] == (Ellipsis,), hint
    return st.lists(values(inner[0]), max_size=2).map(tuple)


OBSERVATIONS = values(Observation)


@COMMON
@given(OBSERVATIONS)
def test_an_observation_comes_back_from_json_as_it_was(observation: Observation) -> None:
    back = from_json(to_json(observation))
    assert back == observation
    assert back.output == observation.output
    assert to_json(back) == to_json(observation)


def test_what_the_loop_printed_makes_no_two_observations_different() -> None:
    observation = Observation("hand", output="noise")
    assert observation == replace(observation, output="")
    assert observation != replace(observation, died="the process was ended by signal SIGKILL")


@pytest.mark.parametrize(
    "record",
    [
        ModelAsked(0, 0, "", (Message("user", "Hi"),), (), {"temperature": 0.5}, beyond_script=True),
        ModelAnswered(0, 0, "closed"),
        ToolStarted(0, 0, CALL, "0123"),
        ToolEnded(0, 0, "returned", ToolResult("ok")),
        GateAsked(0, CALL, tainted=True, iter=1, verdict="need_approval"),
        StepStarted(0, 0, "llm/1", "llm"),
        StepEnded(0, 0, "replayed"),
    ],
    ids=lambda record: str(record.type),
)
def test_a_record_keeps_its_type(record: Any) -> None:
    (back,) = from_json(to_json(Observation("x", records=(record,)))).records
    assert type(back) is type(record)
    assert back == record


# -------------------------------------------------------------------------------------------------- no observations


@COMMON
@given(OBSERVATIONS, st.data())
def test_an_observation_that_ends_early_is_none(observation: Observation, data: st.DataObject) -> None:
    whole = to_json(observation)
    end = data.draw(st.integers(0, len(whole) - 1))
    with pytest.raises(ValueError, match="Invalid JSON"):
        from_json(whole[:end])


@settings(deadline=None, max_examples=50)
@given(st.binary(max_size=20))
def test_bytes_that_are_none_of_ours_are_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="validation error"):
        from_json(data)


@pytest.mark.parametrize(
    "data",
    [
        b"{}",
        b"[]",
        b'{"scenario": null}',
        b'{"scenario": "x", "records": [{"type": "guessed", "at": 0}]}',
        b'{"scenario": "x", "records": [{"at": 0, "number": 0, "how": "whole"}]}',
        b'{"scenario": "x", "invocations": [{"status": "fine", "began": 0, "ended": 0, "input": []}]}',
        b'{"scenario": "x", "levels": [' + b"9" * 9999 + b"]}",
        b'{"scenario": "x", "http": [{"a": ' + b"[" * 9999,
    ],
    ids=["no name", "list", "null name", "unknown record", "untyped record", "unknown status", "long number", "deep"],
)
def test_what_is_no_observation_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="validation error"):
        from_json(data)


def invocation(**seen: Any) -> InvocationSeen:
    return InvocationSeen("answered", 0, 1, (), **seen)


BROKEN: dict[str, dict[str, Any]] = {
    "text that is none": {"invocations": (invocation(message=Message("assistant", 5)),)},  # type: ignore[arg-type]
    "arguments as an object": {"records": (ToolStarted(0, 0, ToolCall("call_1", "a", {"b": 1})),)},  # type: ignore[arg-type]
    "a lone surrogate": {"invocations": (invocation(events=(EventSeen("text", 1, "\ud800"),)),)},
    "usage in halves": {"invocations": (invocation(usage=Usage(0.5, 1)),)},  # type: ignore[arg-type]
    "an object in an attribute": {"spans": (SpanSeen("1", "", "agent.run", "INTERNAL", {"a": object()}, "OK", True),)},  # noqa: FBT003
}


@pytest.mark.parametrize("fields_", BROKEN.values(), ids=BROKEN.keys())
def test_what_would_not_come_back_is_not_written(fields_: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"[Ss]erializ"):
        to_json(Observation("x", **fields_))
