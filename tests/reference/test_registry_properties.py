"""Properties of the registry, over generated signatures, arguments, docstrings and texts.

The oracle for arguments is the jsonschema library: what satisfies the schema that the model was told runs the tool,
with equal values; what does not satisfy it does not run the tool.
"""

from __future__ import annotations

import asyncio
import inspect
import json
from dataclasses import asdict, dataclass, is_dataclass
from types import GenericAlias
from typing import Annotated, Any, Literal, TypeAlias, Union

from hypothesis import event, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from looptck.contract.ag03 import ToolCall, ToolResult
from looptck_reference.registry import Registry

Values: TypeAlias = st.SearchStrategy[Any]


@dataclass
class Place:
    lat: float
    name: str


class Filter(TypedDict):
    limit: int
    words: list[str]


class Query(BaseModel):
    model_config = ConfigDict(extra="forbid")
    limit: Annotated[int, Field(ge=1, le=3)]
    name: str | None


@dataclass(frozen=True)
class Kind:
    """An annotation, and JSON values that fit it."""

    annotation: Any
    values: Values


# Beyond 2**53 two integers can be one float, and a test for equal values would say nothing.
INTEGERS = st.integers(-(2**53), 2**53)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
NAMES = st.sampled_from(["city", "model_config", "schema", "_hidden", "p0", "p1", "self", "json", "copy", "from_"])
JSON: Values = st.recursive(
    st.none() | st.booleans() | INTEGERS | FLOATS | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
KINDS = [
    Kind(int, INTEGERS | INTEGERS.map(float)),
    Kind(float, FLOATS | INTEGERS),
    Kind(bool, st.booleans()),
    Kind(str, TEXT),
    Kind(None, st.none()),
    Kind(Any, JSON),
    Kind(Literal["fast", "slow"], st.sampled_from(["fast", "slow"])),
    Kind(Annotated[int, Field(ge=0, le=9)], st.integers(-1, 10)),
    Kind(Annotated[str, Field(min_length=1, max_length=3)], TEXT),
    Kind(Place, st.fixed_dictionaries({"lat": FLOATS | INTEGERS, "name": TEXT})),
    Kind(Filter, st.fixed_dictionaries({"limit": INTEGERS, "words": st.lists(TEXT, max_size=2)})),
    Kind(Query, st.fixed_dictionaries({"limit": st.integers(0, 4), "name": st.none() | TEXT})),
]


def containers(inner: st.SearchStrategy[Kind]) -> st.SearchStrategy[Kind]:
    """Lists, mappings, tuples and unions of other kinds."""
    return st.one_of(
        inner.map(lambda kind: Kind(GenericAlias(list, (kind.annotation,)), st.lists(kind.values, max_size=3))),
        inner.map(lambda kind: Kind(GenericAlias(tuple, (kind.annotation, ...)), st.lists(kind.values, max_size=3))),
        inner.map(
            lambda kind: Kind(
                GenericAlias(dict, (str, kind.annotation)), st.dictionaries(TEXT, kind.values, max_size=3)
            )
        ),
        st.lists(inner, min_size=2, max_size=3).map(
            lambda kinds: Kind(
                Union[tuple(kind.annotation for kind in kinds)],  # noqa: UP007 - made while running
                st.one_of(*(kind.values for kind in kinds)),
            )
        ),
    )


@dataclass(frozen=True)
class Case:
    """Parameters, and arguments that may fit them."""

    parameters: list[inspect.Parameter]
    arguments: dict[str, Any]


def spoiled(draw: st.DrawFn, value: Any) -> Any:
    """The value with one of its innermost parts replaced by what a lenient reader would take for something else."""
    if isinstance(value, list) and value:
        at = draw(st.integers(0, len(value) - 1))
        return [spoiled(draw, item) if index == at else item for index, item in enumerate(value)]
    if isinstance(value, dict) and value:
        key = draw(st.sampled_from(sorted(value)))
        return {**value, key: spoiled(draw, value[key])}
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int | float):
        return draw(st.sampled_from([str(value), bool(value)]))
    return draw(st.sampled_from(["null", "", "FAST", 0, 1.0, True, [], {}]))


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """A signature and arguments for it: mostly right, some nearly right, some of any kind, left out or too many."""
    plain = st.sampled_from(KINDS)
    kinds = plain | containers(plain) | st.recursive(plain, containers, max_leaves=4)
    names = draw(st.lists(NAMES, unique=True, max_size=3))
    parameters, arguments = [], {}
    for name in names:
        kind = draw(kinds)
        default = draw(st.just(inspect.Parameter.empty) | JSON)
        parameters.append(
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=kind.annotation, default=default)
        )
        source = draw(st.sampled_from(["right"] * 5 + ["spoiled", "any", "none"]))
        if source == "spoiled":
            arguments[name] = spoiled(draw, draw(kind.values))
        elif source != "none":
            arguments[name] = draw(kind.values if source == "right" else JSON)
    if draw(st.sampled_from([False] * 9 + [True])):
        arguments[draw(NAMES)] = draw(JSON)
    return Case(parameters, arguments)


class Recorder:
    """A registry with one tool, and the keyword arguments of each run of it."""

    def __init__(self, parameters: list[inspect.Parameter]) -> None:
        self.runs: list[dict[str, Any]] = []

        async def tool(**values: Any) -> str:
            self.runs.append(values)
            return "ran"

        tool.__dict__["__signature__"] = inspect.Signature(parameters)
        self.registry = Registry([tool])
        self.schema = self.registry.definitions()[0].parameters

    def call(self, arguments: str, name: str = "tool") -> ToolResult:
        return asyncio.run(self.registry.call(ToolCall("call_1", name, arguments)))


def comparable(value: Any) -> Any:
    """The JSON value that a value stands for, with booleans told from numbers, which Python's `==` does not."""
    if isinstance(value, bool):
        return ("boolean", value)
    if isinstance(value, BaseModel):
        return comparable(value.model_dump())
    if is_dataclass(value) and not isinstance(value, type):
        return comparable(asdict(value))
    if isinstance(value, dict):
        return {key: comparable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [comparable(item) for item in value]
    return value


@settings(deadline=None, max_examples=200)
@given(cases())
def test_arguments_run_the_tool_exactly_if_they_satisfy_the_schema(case: Case) -> None:
    recorder = Recorder(case.parameters)
    Draft202012Validator.check_schema(recorder.schema)
    fits = Draft202012Validator(recorder.schema).is_valid(case.arguments)
    event("fits" if fits else "does not fit")
    result = recorder.call(json.dumps(case.arguments))
    assert result.is_error is not fits
    assert comparable(recorder.runs) == ([comparable(case.arguments)] if fits else [])


@settings(deadline=None)
@given(cases())
def test_a_schema_is_json(case: Case) -> None:
    schema = Recorder(case.parameters).schema
    assert json.loads(json.dumps(schema, allow_nan=False)) == schema


ANY_TEXT = st.text(st.characters(exclude_categories=[]))
PIECES = ["{", "}", "[", "]", ":", ",", '"city"', '"', "1", "-", "1e999", "NaN", "null", "\\ud800", "\ud800", " ", "\n"]
NEARLY_JSON = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)


@settings(deadline=None, max_examples=200)
@given(ANY_TEXT | NEARLY_JSON | JSON.map(json.dumps), st.just("tool") | ANY_TEXT)
def test_any_text_as_arguments_and_as_name_ends_in_a_result_of_one_line(arguments: str, name: str) -> None:
    city = inspect.Parameter("city", inspect.Parameter.KEYWORD_ONLY, annotation=str)
    recorder = Recorder([city])
    result = recorder.call(arguments, name)
    assert result.is_error is not bool(recorder.runs)
    assert len(result.content.splitlines()) == 1
    assert result.content.encode()


HEADINGS = ["Args:", "Parameters\n----------", ":param city: ", "    city: ", "city : str", "\n", "    ", "Note:"]


@settings(deadline=None)
@given(ANY_TEXT | st.lists(st.sampled_from(HEADINGS) | TEXT, max_size=8).map("\n".join))
def test_any_docstring_makes_a_description(docstring: str) -> None:
    def tool(city: str) -> str:
        return city

    tool.__doc__ = docstring
    definition = Registry([tool]).definitions()[0]
    assert isinstance(definition.description, str)
    city = definition.parameters["properties"]["city"]
    assert city["type"] == "string"
    assert isinstance(city.get("description", ""), str)


@settings(deadline=None)
@given(JSON.filter(lambda value: not isinstance(value, str)))
def test_a_returned_json_value_can_be_read_back(value: object) -> None:
    async def tool() -> object:
        return value

    result = asyncio.run(Registry([tool]).call(ToolCall("call_1", "tool", "")))
    assert not result.is_error
    assert comparable(json.loads(result.content)) == comparable(value)
