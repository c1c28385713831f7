"""What may be registered as a tool, under which name, and what registering it costs."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from tests.reference.registering import answer_of, asynchronous, call, definition_of, get_weather, wrapped

from looptck.contract.ag03 import ToolResult, Tools
from looptck_reference.registry import Registry

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
