"""What the registry holds to: which schema a function gets, what runs a tool, and that a call ends in a result."""

from __future__ import annotations

import asyncio
import contextvars
import datetime as dt
import enum
import functools
import inspect
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, Literal, TypeVar

import pytest
from jsonschema import Draft202012Validator
from pydantic import BaseModel, Field, field_validator
from typing_extensions import TypedDict

from looptck.contract.ag03 import ToolCall, ToolDefinition, ToolResult, Tools
from looptck_reference.arguments import ArgumentsError
from looptck_reference.registry import Registry
from looptck_reference.schemas import describe_tool

T = TypeVar("T")

GENEROUS = 30
"""Seconds until a wait that ought to end at once is called a failure."""


class Unit(enum.Enum):
    CELSIUS = "C"
    FAHRENHEIT = "F"


@dataclass
class Place:
    lat: float
    lon: float


class Filter(TypedDict, total=False):
    limit: int


class Query(BaseModel):
    words: list[str]
    limit: int = 10


class Even(BaseModel):
    number: int

    @field_validator("number")
    @classmethod
    def no_odd_number(cls, number: int) -> int:
        if number < 0:
            raise LookupError("no such number")
        if number % 2:
            raise ValueError("odd")
        return number


def run(work: Coroutine[Any, Any, T]) -> T:
    async def in_time() -> T:
        async with asyncio.timeout(GENEROUS):
            return await work

    return asyncio.run(in_time())


def call(tools: Tools, name: str, arguments: str = "{}") -> ToolResult:
    return run(tools.call(ToolCall("call_1", name, arguments)))


def answer_of(tool: Callable[..., Any], **arguments: Any) -> ToolResult:
    """What one tool answers to the arguments."""
    registry = Registry()
    registry.add(tool, name="tool")
    return call(registry, "tool", json.dumps(arguments))


def definition_of(tool: Callable[..., Any]) -> ToolDefinition:
    registry = Registry()
    registry.add(tool, name="tool")
    return registry.definitions()[0]


def properties_of(tool: Callable[..., Any]) -> dict[str, Any]:
    return dict(definition_of(tool).parameters["properties"])


def recorder(*annotations: Any) -> tuple[Callable[..., Any], list[tuple[Any, ...]]]:
    """A tool with the parameters a, b, … of these types, and what it was called with."""
    ran: list[tuple[Any, ...]] = []

    async def tool(**values: Any) -> str:
        ran.append(tuple(values.values()))
        return "ran"

    parameters = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation)
        for name, annotation in zip("abcdef", annotations, strict=False)
    ]
    tool.__dict__["__signature__"] = inspect.Signature(parameters)
    return tool, ran


def get_weather(city: str, days: int = 3) -> str:
    """Tell the weather."""
    return f"{city}, {days} days: sunny"


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


# ------------------------------------------------------------------------------------------------------- registration


def test_the_registry_is_what_the_contract_calls_tools() -> None:
    tools: Tools = Registry([get_weather])
    assert call(tools, "get_weather", '{"city": "Paris"}') == ToolResult("Paris, 3 days: sunny")


def test_definitions_come_in_the_order_of_registration() -> None:
    registry = Registry([get_weather])
    registry.add(get_weather, name="b")
    registry.add(get_weather, name="a")
    assert [tool.name for tool in registry.definitions()] == ["get_weather", "b", "a"]


def test_definitions_are_made_once_per_tool() -> None:
    registry = Registry([get_weather])
    first = registry.definitions()
    assert registry.definitions() is first
    registry.add(get_weather, name="again")
    assert registry.definitions()[0] is first[0]


def test_the_decorator_leaves_the_function_as_it_is() -> None:
    registry = Registry()

    @registry.tool
    def one() -> str:
        return "1"

    @registry.tool(name="zwei", description="the second")
    def two() -> str:
        """Not this."""
        return "2"

    assert (one(), two(), two.__doc__) == ("1", "2", "Not this.")
    assert [(tool.name, tool.description) for tool in registry.definitions()] == [("one", ""), ("zwei", "the second")]
    assert call(registry, "zwei").content == "2"


def test_a_name_is_taken_once() -> None:
    registry = Registry([get_weather])
    with pytest.raises(ValueError, match="'get_weather' is registered already"):
        registry.add(get_weather)
    assert len(registry.definitions()) == 1


@pytest.mark.parametrize("name", ["", "a b", "a.b", "é", "a\n", "x" * 65, "<lambda>"])
def test_a_name_that_models_do_not_accept_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="no name for a tool"):
        Registry().add(get_weather, name=name)


def test_a_name_may_have_64_characters() -> None:
    registry = Registry()
    registry.add(get_weather, name="aZ0_-" + "x" * 59)
    assert len(registry.definitions()) == 1


def _any_number(*numbers: int) -> object:
    return numbers


def _any_name(**names: int) -> object:
    return names


def _by_position(number: int, /) -> object:
    return number


def _unknown_type(value: Nowhere) -> object:  # type: ignore[name-defined] # noqa: F821 - what is tested
    return value


def _callback(then: Callable[[], None]) -> object:
    return then


def _arbitrary(lock: threading.Event) -> object:
    return lock


def _checked_too_late(numbers: Iterable[int]) -> object:
    return numbers


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (_any_number, r"\*numbers has no name"),
        (_any_name, r"\*\*names would let a model invent"),
        (_by_position, "number is positional-only"),
        (_unknown_type, "Nowhere"),
        (_callback, "Callable"),
        (_arbitrary, "Event"),
        (_checked_too_late, "annotate a list"),
        (dict.update, "no signature found"),
    ],
)
def test_a_signature_that_a_json_object_cannot_call_is_refused(function: Callable[..., Any], reason: str) -> None:
    with pytest.raises(TypeError, match=f"(?s)the tool 'tool' cannot be described: .*{reason}"):
        definition_of(function)


# ------------------------------------------------------------------------------------------------------------- schemas


def test_the_schema_says_types_defaults_and_what_is_required() -> None:
    assert definition_of(get_weather) == ToolDefinition(
        "tool",
        "Tell the weather.",
        {
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer", "default": 3}},
            "required": ["city"],
            "additionalProperties": False,
        },
    )


def test_a_tool_without_parameters_takes_the_empty_object_only() -> None:
    def ping() -> str:
        return "pong"

    assert definition_of(ping).parameters == {"type": "object", "properties": {}, "additionalProperties": False}


def test_every_kind_of_parameter_has_a_schema_that_json_schema_accepts() -> None:
    def everything(  # type: ignore[no-untyped-def] # noqa: ANN202 - what is tested
        place: Place,
        only: Filter,
        query: Query,
        unit: Unit,
        day: dt.date,
        either: int | str,
        mode: Literal["fast", "slow"],
        pair: tuple[int, str],
        tags: set[str],
        kinds: frozenset[int],
        untyped,  # noqa: ANN001 - what is tested
        price: Decimal = Decimal("1.5"),
        maybe: dict[str, list[float]] | None = None,
    ):
        return place, only, query, unit, day, either, mode, pair, tags, kinds, untyped, price, maybe

    parameters = definition_of(everything).parameters
    Draft202012Validator.check_schema(parameters)
    assert json.loads(json.dumps(parameters)) == parameters
    assert parameters["$defs"].keys() == {"Place", "Filter", "Query", "Unit"}
    assert parameters["properties"]["untyped"] == {}
    assert parameters["properties"]["kinds"] == {"type": "array", "items": {"type": "integer"}}
    assert parameters["properties"]["tags"] == {"type": "array", "items": {"type": "string"}}
    assert parameters["properties"]["maybe"]["default"] is None


def test_a_field_says_more_than_the_annotation() -> None:
    def paint(
        shade: Annotated[int, Field(ge=0, le=9, description="how dark")],
        from_: Annotated[str, Field(alias="from")] = "left",
        coats: int = Field(2, gt=0),
    ) -> str:
        return f"{shade} {from_} {coats}"

    properties = properties_of(paint)
    assert properties["shade"] == {"type": "integer", "minimum": 0, "maximum": 9, "description": "how dark"}
    assert properties["coats"] == {"type": "integer", "exclusiveMinimum": 0, "default": 2}
    assert answer_of(paint, shade=3).content == "3 left 2"
    assert answer_of(paint, shade=3, coats=1, **{"from": "right"}).content == "3 right 1"
    assert answer_of(paint, shade=10).is_error


def test_parameters_may_have_any_name() -> None:
    def awkward(model_config: int, schema: int, _hidden: int, p0: int, self: int) -> list[int]:
        return [model_config, schema, _hidden, p0, self]

    assert list(properties_of(awkward)) == ["model_config", "schema", "_hidden", "p0", "self"]
    assert answer_of(awkward, self=5, p0=4, _hidden=3, schema=2, model_config=1).content == "[1,2,3,4,5]"


def test_a_default_that_is_no_json_is_left_to_the_function() -> None:
    missing = object()

    def look(threshold: float = float("nan"), marker: Any = missing) -> list[bool]:
        return [threshold != threshold, marker is missing]  # noqa: PLR0124 - NaN alone differs from itself

    assert properties_of(look) == {"threshold": {"type": "number"}, "marker": {}}
    assert answer_of(look).content == "[true,true]"


# ---------------------------------------------------------------------------------------------------------- docstrings


def google(city: str, days: int) -> None:
    """Tell the weather.

    For one place only.

    Note:
        Not for the past.

    Args:
        city: the name
            of the city
        days (int): how many

    Returns:
        A sentence.
    """


def numpy(city: str, days: int) -> None:
    """Tell the weather.

    For one place only.

    Parameters
    ----------
    city : str
        the name
        of the city
    days : int
        how many

    Returns
    -------
    str
        A sentence.
    """


def sphinx(city: str, days: int) -> None:
    """Tell the weather.

    For one place only.

    :param city: the name
        of the city
    :param int days: how many
    :returns: A sentence.
    """


@pytest.mark.parametrize("function", [google, numpy, sphinx])
def test_the_docstring_describes_the_tool_and_its_parameters(function: Callable[..., Any]) -> None:
    definition = definition_of(function)
    assert definition.description.startswith("Tell the weather.\n\nFor one place only.")
    assert "A sentence" not in definition.description
    descriptions = [value["description"] for value in definition.parameters["properties"].values()]
    assert descriptions == ["the name of the city", "how many"]


def test_notes_stay_in_the_description() -> None:
    assert "Not for the past." in definition_of(google).description


def test_a_docstring_may_hold_parameters_alone() -> None:
    def first(x: int) -> int:
        return x

    def last(x: int) -> int:
        return x

    first.__doc__ = "\n    Args:\n        x: the number\n    "
    last.__doc__ = ":param x: the number"
    for function in (first, last):
        assert definition_of(function).description == ""
        assert properties_of(function)["x"]["description"] == "the number"


def test_the_style_is_that_which_describes_the_parameters() -> None:
    def mixed(city: str) -> None:
        """Tell the weather.

        Note:
            Not for the past.

        Warning:
            Not for the sea.

        :param city: the name
        """

    assert properties_of(mixed)["city"]["description"] == "the name"


def test_sections_are_found_where_no_parameter_is_described() -> None:
    def ping() -> str:
        """Ping.

        Returns:
            The word pong.
        """
        return "pong"

    assert definition_of(ping).description == "Ping."


def test_words_of_the_annotation_beat_the_docstring() -> None:
    def paint(shade: Annotated[int, Field(description="how dark")]) -> None:
        """Paint.

        Args:
            shade: something else
        """

    assert properties_of(paint)["shade"]["description"] == "how dark"


# ---------------------------------------------------------------------------------------------------- what runs a tool


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
    registry = Registry([get_weather, google])
    expected = ToolResult("there is no tool 'get_wether'; known tools: get_weather, google", is_error=True)
    assert call(registry, "get_wether", '{"city": "Paris"}') == expected
    assert call(Registry(), "x").content == "there is no tool 'x'; known tools: none"


# ------------------------------------------------------------------------------------------- what may be a tool


class Counter:
    """Counts."""

    def __init__(self) -> None:
        self.count = 0

    def add(self, amount: int) -> int:
        """Add to the count."""
        self.count += amount
        return self.count


class Greeter:
    """Greets."""

    async def __call__(self, who: str) -> str:
        """Greet somebody."""
        return f"hello {who}"


def secretive(city: str, token: str, days: int = 1) -> str:
    """Tell the weather, with a key."""
    return f"{city} {token} {days}"


async def asynchronous(city: str) -> str:
    """Tell the weather, later."""
    return f"{city}: sunny"


def wrapped(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return wrapper


def test_a_bound_method_is_a_tool() -> None:
    counter = Counter()
    registry = Registry([counter.add])
    assert registry.definitions()[0].description == "Add to the count."
    assert [call(registry, "add", '{"amount": 2}').content for _ in range(2)] == ["2", "4"]


def test_a_callable_object_is_a_tool_named_after_its_class() -> None:
    registry = Registry([Greeter()])
    assert registry.definitions()[0].name == "Greeter"
    assert registry.definitions()[0].description == "Greet somebody."
    assert call(registry, "Greeter", '{"who": "you"}').content == "hello you"


def test_what_a_partial_has_bound_is_hidden_from_the_model() -> None:
    registry = Registry([functools.partial(secretive, token="s3cret")])  # noqa: S106 - what is tested
    definition = registry.definitions()[0]
    assert (definition.name, definition.description) == ("secretive", "Tell the weather, with a key.")
    assert list(definition.parameters["properties"]) == ["city", "days"]
    assert "s3cret" not in json.dumps(definition.parameters)
    assert call(registry, "secretive", '{"city": "Paris"}').content == "Paris s3cret 1"
    assert call(registry, "secretive", '{"city": "Paris", "token": "mine"}').is_error


@pytest.mark.parametrize(
    "function",
    [
        pytest.param(asynchronous, id="plain"),
        pytest.param(functools.partial(asynchronous), id="partial"),
        pytest.param(wrapped(asynchronous), id="wrapped"),
        pytest.param(wrapped(functools.partial(asynchronous)), id="wrapped-partial"),
    ],
)
def test_async_tools_are_awaited_however_they_are_wrapped(function: Callable[..., Any]) -> None:
    assert answer_of(function, city="Paris") == ToolResult("Paris: sunny")


# ------------------------------------------------------------------------------------------------------ what comes back


class Opaque:
    pass


@pytest.mark.parametrize(
    ("value", "content"),
    [
        ("as it is", "as it is"),
        ("", ""),
        ("half \ud800", "half \ufffd"),
        (None, "null"),
        (True, "true"),
        (1.5, "1.5"),
        ({"é": [1, None]}, '{"é":[1,null]}'),
        (Place(1, 2), '{"lat":1,"lon":2}'),
        (Query(words=["a"]), '{"words":["a"],"limit":10}'),
        (Unit.CELSIUS, '"C"'),
        ((dt.date(2026, 1, 31), Decimal("1.50")), '["2026-01-31","1.50"]'),
        ([float("nan"), float("inf")], '["NaN","Infinity"]'),
    ],
)
def test_a_returned_value_is_the_content_as_text_or_compact_json(value: object, content: str) -> None:
    assert answer_of(lambda: value) == ToolResult(content)


def test_a_result_passes_as_it_is() -> None:
    result = ToolResult("the tool says no", is_error=True)
    assert answer_of(lambda: result) is result


@pytest.mark.parametrize("value", [Opaque(), [Opaque()], b"\xff", ["\ud800"], nested(5_000), asynchronous])
def test_a_value_that_is_no_json_is_an_error_result(value: object) -> None:
    result = answer_of(lambda: value)
    assert result.is_error
    assert result.content.startswith(f"the tool returned a {type(value).__name__} that is not JSON: ")


# ------------------------------------------------------------------------------------------------------- what is raised


class Unprintable(Exception):  # noqa: N818 - named for what it is
    def __str__(self) -> str:
        raise RuntimeError


def _raiser(error: BaseException, *, blocking: bool) -> Callable[[], Any]:
    def blocking_tool() -> None:
        raise error

    async def async_tool() -> None:
        raise error

    return blocking_tool if blocking else async_tool


@pytest.mark.parametrize("blocking", [True, False])
@pytest.mark.parametrize(
    ("error", "content"),
    [
        (ValueError("no such city"), "ValueError: no such city"),
        (KeyError(), "KeyError"),
        (OSError("half \udcff"), "OSError: half \ufffd"),
        (Unprintable(), "Unprintable"),
        (SystemExit(3), "SystemExit: 3"),
        (BaseException("base"), "BaseException: base"),
        (TimeoutError(), "TimeoutError"),
        (asyncio.CancelledError("of its own accord"), "CancelledError: of its own accord"),
    ],
)
def test_whatever_a_tool_raises_is_an_error_result(error: BaseException, content: str, blocking: bool) -> None:  # noqa: FBT001
    assert answer_of(_raiser(error, blocking=blocking)) == ToolResult(content, is_error=True)


def test_an_exception_that_no_future_can_carry_is_an_error_result() -> None:
    assert answer_of(_raiser(StopIteration("end"), blocking=True)) == ToolResult("StopIteration: end", is_error=True)


@pytest.mark.parametrize("blocking", [True, False])
def test_a_keyboard_interrupt_is_nobodys_result(blocking: bool) -> None:  # noqa: FBT001
    with pytest.raises(KeyboardInterrupt):
        answer_of(_raiser(KeyboardInterrupt(), blocking=blocking))


def test_closing_a_call_closes_the_tool() -> None:
    closed: list[type[BaseException]] = []

    async def waits() -> None:
        try:
            await asyncio.sleep(0)
        except BaseException as error:
            closed.append(type(error))
            raise

    async def main() -> None:
        pending = Registry([waits]).call(ToolCall("1", "waits", "{}"))
        pending.send(None)
        pending.close()

    run(main())
    assert closed == [GeneratorExit]


# ------------------------------------------------------------------------------------------------ threads, cancellation


@pytest.fixture
def gate() -> Iterable[Gate]:
    gate = Gate()
    yield gate
    gate.opened.set()


class Gate:
    """A blocking tool that says when it has begun and goes on when it is opened."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.opened = threading.Event()
        self.ended = False

    def passage(self) -> str:
        self.begun.set()
        assert self.opened.wait(GENEROUS)
        self.ended = True
        return "through"


def start(registry: Registry, name: str) -> asyncio.Task[ToolResult]:
    return asyncio.ensure_future(registry.call(ToolCall("1", name, "{}")))


async def turn_the_loop() -> None:
    """Let everything that is ready run, a few times over."""
    for _ in range(10):
        await asyncio.sleep(0)


def test_a_blocking_tool_does_not_block_the_loop(gate: Gate) -> None:
    async def main() -> ToolResult:
        task = start(Registry([gate.passage]), "passage")
        assert await asyncio.to_thread(gate.begun.wait, GENEROUS)
        gate.opened.set()  # reached only if the loop goes on while the tool waits
        return await task

    assert run(main()) == ToolResult("through")


def test_two_blocking_tools_run_at_once() -> None:
    meeting = threading.Barrier(2, timeout=GENEROUS)

    async def main() -> list[ToolResult]:
        registry = Registry()
        registry.add(lambda: meeting.wait() < 2, name="meet")
        return list(await asyncio.gather(start(registry, "meet"), start(registry, "meet")))

    assert run(main()) == [ToolResult("true")] * 2


def test_both_kinds_of_tools_see_the_callers_context() -> None:
    user: contextvars.ContextVar[str] = contextvars.ContextVar("user")

    def blocking() -> str:
        return user.get()

    async def later() -> str:
        return user.get()

    async def main() -> list[ToolResult]:
        registry = Registry()
        registry.add(blocking)
        registry.add(later)
        user.set("ada")
        return [await registry.call(ToolCall("1", name, "{}")) for name in ("blocking", "later")]

    assert run(main()) == [ToolResult("ada"), ToolResult("ada")]


def test_an_async_tool_runs_in_the_callers_task() -> None:
    async def same(task: str) -> bool:
        return task == repr(id(asyncio.current_task()))

    async def main() -> ToolResult:
        arguments = json.dumps({"task": repr(id(asyncio.current_task()))})
        return await Registry([same]).call(ToolCall("1", "same", arguments))

    assert run(main()) == ToolResult("true")


def test_cancelling_a_call_cancels_the_async_tool() -> None:
    seen: list[str] = []

    async def waits() -> None:
        seen.append("begun")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    async def main() -> None:
        task = start(Registry([waits]), "waits")
        await turn_the_loop()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert asyncio.all_tasks() == {asyncio.current_task()}

    run(main())
    assert seen == ["begun", "cancelled"]


def test_a_tool_cannot_hide_a_cancellation_behind_its_own_error() -> None:
    async def covers_up() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError as error:
            raise ValueError("something else") from error

    async def main() -> None:
        task = start(Registry([covers_up]), "covers_up")
        await turn_the_loop()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(main())


def test_a_timeout_within_a_tool_is_the_tools_own() -> None:
    async def impatient() -> None:
        async with asyncio.timeout(0):
            await asyncio.Event().wait()

    assert answer_of(impatient) == ToolResult("TimeoutError", is_error=True)


def test_a_tool_may_fail_while_its_caller_cleans_up_after_a_cancellation() -> None:
    results: list[ToolResult] = []

    async def main() -> None:
        registry = Registry()
        registry.add(_raiser(ValueError("no"), blocking=False), name="fails")
        try:
            await asyncio.Event().wait()
        finally:
            results.append(await registry.call(ToolCall("1", "fails", "{}")))

    async def cancelled() -> None:
        task = asyncio.ensure_future(main())
        await turn_the_loop()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(cancelled())
    assert results == [ToolResult("ValueError: no", is_error=True)]


def test_a_cancelled_call_ends_when_its_blocking_tool_has_ended(gate: Gate) -> None:
    async def main() -> None:
        task = start(Registry([gate.passage]), "passage")
        assert await asyncio.to_thread(gate.begun.wait, GENEROUS)
        for _ in range(3):  # once more does not help
            task.cancel()
            await turn_the_loop()
            assert not task.done()
        gate.opened.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert gate.ended

    run(main())


def test_a_call_that_is_cancelled_before_a_thread_is_free_never_runs(gate: Gate) -> None:
    ran: list[str] = []

    async def main() -> None:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(max_workers=1))
        registry = Registry([gate.passage])
        registry.add(lambda: ran.append("second"), name="second")
        first = start(registry, "passage")
        await turn_the_loop()
        second = start(registry, "second")
        await turn_the_loop()
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second  # at once, though the only thread is still taken
        assert not first.done()
        gate.opened.set()
        assert await first == ToolResult("through")

    run(main())
    assert ran == []


# ------------------------------------------------------------------------------------------------------- what it costs


def test_a_registry_of_plain_tools_does_not_import_the_docstring_parsers() -> None:
    program = (
        "import sys; from looptck_reference.registry import Registry\n"
        "def f(x: int) -> int:\n    'Double a number.'\n    return 2 * x\n"
        "assert Registry([f]).definitions()[0].description == 'Double a number.'\n"
        "print('griffe' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-B", "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.stdout.strip() == "False"
