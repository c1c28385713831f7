"""Which arguments reach a tool, as which values, and what a model is told of those that do not."""

from __future__ import annotations

import datetime as dt
from types import MappingProxyType
from typing import Any

import pytest
from tests.reference.registering import (
    Even,
    Filter,
    Place,
    Query,
    Unit,
    answer_of,
    call,
    get_weather,
    nested,
    recorder,
)

from looptck.contract.ag03 import ToolResult
from looptck_reference.arguments import ArgumentsError
from looptck_reference.registry import Registry
from looptck_reference.schemas import describe_tool


@pytest.mark.parametrize(
    ("annotation", "given", "received"),
    [
        (int, 1.0, 1),
        (float, 1, 1.0),
        (int | str, 2.0, 2),
        (Any, 1.0, 1.0),
        (Unit, "C", Unit.CELSIUS),
        (Unit, "F", Unit.FAHRENHEIT),
        (Place, {"lat": 1, "lon": 2.5}, Place(1.0, 2.5)),
        (Filter, {"limit": 1}, {"limit": 1}),
        (Query, {"words": ["a"]}, Query(words=["a"])),
        (dt.date, "2026-01-31", dt.date(2026, 1, 31)),
        (tuple[int, str], [1, "a"], (1, "a")),
        (set[int], [1, 1, 2], {1, 2}),
        (int | None, None, None),
        (int, 10**40, 10**40),
        (str, "é\N{GRINNING FACE}", "é\N{GRINNING FACE}"),
    ],
)
def test_a_value_that_fits_reaches_the_tool_as_annotated(annotation: Any, given: Any, received: Any) -> None:
    tool, ran = recorder(annotation)
    assert answer_of(tool, a=given) == ToolResult("ran")
    assert ran == [(received,)]
    assert type(ran[0][0]) is type(received)


@pytest.mark.parametrize(
    ("annotation", "given", "problem"),
    [
        (int, "1", "a: Input should be a valid integer"),
        (int, True, "a: Input should be a valid integer"),
        (int, 1.5, "a: Input should be a valid integer"),
        (bool, 1, "a: Input should be a valid boolean"),
        (float, "1", "a: Input should be a valid number"),
        (float, 10**400, "a: Input should be a finite number"),
        (str, 1, "a: Input should be a valid string"),
        (str, None, "a: Input should be a valid string"),
        (Unit, "K", "a: Input should be 'C' or 'F'"),
        (dt.date, 5, "a: Input should be a valid date"),
        (list[int], [1, "2"], "a.1: Input should be a valid integer"),
        (Place, {"lat": 1}, "a.lon: missing"),
        (Place, {"lat": 1, "lon": 2, "alt": 3}, "a.alt: Unexpected keyword argument"),
        (Query, {"words": "a"}, "a.words: Input should be a valid array"),
        (Even, {"number": 3}, "a.number: Value error, odd"),
        (Even, {"number": -1}, "LookupError: no such number"),
    ],
)
def test_a_value_that_does_not_fit_is_named_and_nothing_runs(annotation: Any, given: Any, problem: str) -> None:
    tool, ran = recorder(annotation)
    assert answer_of(tool, a=given) == ToolResult(f"the arguments do not fit: {problem}", is_error=True)
    assert ran == []


def test_a_tool_receives_objects_of_its_own_types() -> None:
    def search(place: Place, query: Query) -> str:
        return f"{query.words[0]} at {place.lat}, {place.lon}, {query.limit} at most"

    result = answer_of(search, place={"lat": 1, "lon": 2}, query={"words": ["tea"]})
    assert result == ToolResult("tea at 1.0, 2.0, 10 at most")


@pytest.mark.parametrize("city", [object(), float("nan"), {1, 2}, "\ud800", nested(100_000)])
def test_arguments_that_come_as_a_mapping_are_held_to_json_too(city: object) -> None:
    with pytest.raises(ArgumentsError, match=r"not JSON|not Unicode|nested too deeply"):
        describe_tool(get_weather).bind({"city": city})


def test_any_mapping_may_hold_the_arguments_and_their_objects() -> None:
    tool, _ = recorder(Place)
    place = MappingProxyType({"lat": 1, "lon": 2.5})
    assert describe_tool(tool).bind(MappingProxyType({"a": place})) == {"a": Place(1.0, 2.5)}


def test_every_field_that_is_wrong_is_named() -> None:
    assert answer_of(get_weather, days="x", when="now") == ToolResult(
        "the arguments do not fit: city: missing; days: Input should be a valid integer; "
        "when: unknown, the tool takes city, days",
        is_error=True,
    )


def test_what_is_wrong_stays_one_short_line() -> None:
    tool, _ = recorder(list[int])
    many = answer_of(tool, a=["x"] * 1_000).content
    long = answer_of(tool, **{"\n" * 5_000 + "k" * 5_000: 1}).content
    assert many.endswith("; and 990 more")
    assert len(many.splitlines()) == len(long.splitlines()) == 1
    assert len(long) <= 1_000


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ("{", "not JSON: Expecting property name enclosed in double quotes at line 1 column 2"),
        ("{'a': 1}", "not JSON: Expecting property name"),
        ('{"a": 1} trailing', "not JSON: Extra data at line 1 column 10"),
        ("\ufeff{}", "not JSON"),
        ("[]", "must be a JSON object, not an array"),
        ("null", "must be a JSON object, not null"),
        ('"{}"', "must be a JSON object, not a string"),
        ("1", "must be a JSON object, not a number"),
        ("true", "must be a JSON object, not a boolean"),
        ('{"a": NaN}', "not JSON: NaN"),
        ('{"a": -Infinity}', "not JSON: -Infinity"),
        ('{"a": 1e999}', "out of range: 1e999"),
        ('{"a": 1, "a": 1}', "the key 'a' more than once"),
        ('{"a": {"b": 1, "b": 2}}', "the key 'b' more than once"),
        ('{"a": "\\ud800"}', "half of a surrogate pair"),
        ('{"a": "\udfff"}', "half of a surrogate pair"),
        ('{"\\udc00": 1}', "half of a surrogate pair"),
        ('{"a": ' + "9" * 500_000 + "}", "too many digits"),
        ('{"a": ' + "[" * 200_000 + "]" * 200_000 + "}", "nested too deeply"),
        ('{"a":' * 200_000, "nested too deeply"),
        ('{"a": ' + "[" * 400 + "]" * 400 + "}", "nested too deeply"),
        ('{"a": ' + "[" * 900 + "]" * 900 + "}", "nested too deeply"),
    ],
)
def test_arguments_that_are_no_json_object_are_refused_and_nothing_runs(arguments: str, reason: str) -> None:
    tool, ran = recorder(Any)
    registry = Registry()
    registry.add(tool)
    result = call(registry, "tool", arguments)
    assert result.is_error
    assert reason in result.content
    assert len(result.content.splitlines()) == 1
    assert ran == []


@pytest.mark.parametrize("arguments", ["", " \n\t", "{}"])
def test_blank_arguments_are_no_arguments(arguments: str) -> None:
    registry = Registry()
    registry.add(lambda: "pong", name="ping")
    registry.add(get_weather)
    assert call(registry, "ping", arguments) == ToolResult("pong")
    assert call(registry, "get_weather", arguments).content == "the arguments do not fit: city: missing"


def test_an_unknown_tool_is_answered_with_the_known_ones() -> None:
    registry = Registry([get_weather])
    registry.add(get_weather, name="forecast")
    expected = ToolResult("there is no tool 'get_wether'; known tools: get_weather, forecast", is_error=True)
    assert call(registry, "get_wether", '{"city": "Paris"}') == expected
    assert call(Registry(), "x").content == "there is no tool 'x'; known tools: none"
