"""Which JSON Schema a function gets from its signature, and which words from its docstring."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from decimal import Decimal
from typing import Annotated, Any, Literal

import pytest
from jsonschema import Draft202012Validator
from pydantic import Field
from tests.reference.registering import (
    Filter,
    Place,
    Query,
    Unit,
    answer_of,
    definition_of,
    get_weather,
    properties_of,
)

from looptck.contract.ag03 import ToolDefinition

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
