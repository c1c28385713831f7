"""What the synchronous registry holds to: a call ends in a result, and only a fatal error comes out."""

from __future__ import annotations

import functools
import json
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import pytest
from pydantic import BaseModel, field_validator
from tests.reference.registering import Place, Unprintable, asynchronous, get_weather, raiser, wrapped

from looptck.contract import lesson4
from looptck.contract.ag03 import ToolResult as Outcome
from looptck.contract.lesson4 import FatalToolError, Stop, ToolCall, ToolError, ToolResult
from looptck_fakes.lesson4 import FakeModel, tool_call
from looptck_reference import metered
from looptck_reference.dispatch import Deny, Registry
from looptck_reference.schemas import describe_tool


def dispatch(registry: lesson4.Registry, name: str, **arguments: Any) -> ToolResult:
    return registry.dispatch(ToolCall("call_7", name, arguments))


def answer_of(tool: Callable[..., Any], **arguments: Any) -> ToolResult:
    """What one tool answers to the arguments."""
    registry = Registry()
    registry.add(tool, name="tool")
    return dispatch(registry, "tool", **arguments)


def answered(content: str, *, ok: bool = True) -> ToolResult:
    return ToolResult("call_7", "tool", content, ok=ok)


def counting() -> tuple[Callable[[int], str], list[int]]:
    """A tool named `counted`, and what it was called with."""
    ran: list[int] = []

    def counted(number: int) -> str:
        ran.append(number)
        return "ran"

    return counted, ran


# ------------------------------------------------------------------------------------------------------- registration


def test_schemas_are_name_description_and_parameters_in_the_order_of_registration() -> None:
    registry = Registry([get_weather])
    registry.add(lambda: "pong", name="ping", description="Ask for a pong.")
    assert registry.schemas() == [
        {
            "name": "get_weather",
            "description": "Tell the weather.",
            "parameters": describe_tool(get_weather).definition.parameters,
        },
        {
            "name": "ping",
            "description": "Ask for a pong.",
            "parameters": {"type": "object", "properties": {}, "additionalProperties": False},
        },
    ]
    assert json.loads(json.dumps(registry.schemas())) == registry.schemas()


def test_a_registry_without_tools_has_no_schemas() -> None:
    assert Registry().schemas() == []


def test_what_a_caller_does_to_the_list_of_schemas_stays_with_him() -> None:
    registry = Registry([get_weather])
    registry.schemas().clear()
    registry.schemas()[0]["name"] = "other"
    assert [schema["name"] for schema in registry.schemas()] == ["get_weather"]


def test_the_decorator_leaves_the_function_as_it_is() -> None:
    registry = Registry()

    @registry.tool
    def one() -> str:
        return "1"

    @registry.tool(name="zwei")
    def two() -> str:
        return "2"

    assert (one(), two()) == ("1", "2")
    assert [dispatch(registry, name).content for name in ("one", "zwei")] == ["1", "2"]


def test_a_name_is_taken_once() -> None:
    registry = Registry([get_weather])
    with pytest.raises(ValueError, match="'get_weather' is registered already"):
        registry.add(get_weather)
    assert len(registry.schemas()) == 1


class Later:
    async def __call__(self) -> str:
        return "later"


async def stream() -> AsyncIterator[str]:
    yield "later"


@pytest.mark.parametrize(
    "function",
    [
        pytest.param(asynchronous, id="function"),
        pytest.param(functools.partial(asynchronous), id="partial"),
        pytest.param(Later(), id="object"),
        pytest.param(stream, id="generator"),
    ],
)
def test_an_asynchronous_tool_is_refused_when_it_is_registered(function: Callable[..., Any]) -> None:
    registry = Registry()
    with pytest.raises(TypeError, match="the tool 'x' is asynchronous, and this registry runs synchronous tools only"):
        registry.add(function, name="x")
    assert registry.schemas() == []


# ---------------------------------------------------------------------------------------------------------- good calls


def test_a_result_answers_its_call_by_id_and_name() -> None:
    registry: lesson4.Registry = Registry([get_weather])
    result = registry.dispatch(ToolCall("call_1", "get_weather", {"city": "Paris"}))
    assert result == ToolResult("call_1", "get_weather", "Paris, 3 days: sunny", ok=True)


@pytest.mark.parametrize("arguments", [{"a": {"lat": 1, "lon": 2}}, {"a": MappingProxyType({"lat": 1, "lon": 2})}])
def test_arguments_of_any_mapping_reach_the_tool_as_annotated(arguments: dict[str, Any]) -> None:
    ran: list[Place] = []

    def tool(a: Place) -> None:
        ran.append(a)

    assert Registry([tool]).dispatch(ToolCall("call_7", "tool", MappingProxyType(arguments))) == answered("null")
    assert ran == [Place(1.0, 2.0)]


@pytest.mark.parametrize(
    ("value", "content"),
    [("as it is", "as it is"), (None, "null"), ({"é": [1]}, '{"é":[1]}'), ((n for n in (1, 2)), "[1,2]")],
)
def test_a_returned_value_is_the_content_as_text_or_compact_json(value: object, content: str) -> None:
    assert answer_of(lambda: value) == answered(content)


def test_a_tool_may_say_itself_that_it_failed() -> None:
    assert answer_of(lambda: Outcome("no such city", is_error=True)) == answered("no such city", ok=False)


# ------------------------------------------------------------------------------------------- calls that are not made


def test_an_unknown_tool_is_a_failed_result_that_names_the_known_ones() -> None:
    expected = ToolResult("call_7", "get_wether", "there is no tool 'get_wether'; known tools: get_weather", ok=False)
    assert dispatch(Registry([get_weather]), "get_wether", city="Paris") == expected


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({}, "the arguments do not fit: number: missing"),
        ({"number": "1"}, "the arguments do not fit: number: Input should be a valid integer"),
        ({"number": 1, "b": 2}, "the arguments do not fit: b: unknown, the tool takes number"),
        ({"number": {1}}, "the arguments are not JSON: set has no form in it"),
        ({"number": float("nan")}, "the arguments are not JSON: "),
        ([1], "the arguments do not fit: Input should be an object"),
        (None, "the arguments do not fit: Input should be an object"),
    ],
)
def test_arguments_that_do_not_fit_are_a_failed_result_and_nothing_runs(arguments: Any, reason: str) -> None:
    tool, ran = counting()
    result = Registry([tool]).dispatch(ToolCall("call_7", "counted", arguments))
    assert (result.ok, result.tool_call_id, ran) == (False, "call_7", [])
    assert result.content.startswith(reason)


def test_a_denied_call_is_a_failed_result_with_the_reason_and_nothing_runs() -> None:
    tool, ran = counting()
    asked: list[ToolCall] = []

    def deny(call: ToolCall) -> str | None:
        asked.append(call)
        return "two is too many" if call.arguments == {"number": 2} else None

    registry = Registry([tool], deny=deny)
    denied = ToolResult("call_7", "counted", "denied: two is too many", ok=False)
    assert [dispatch(registry, "counted", number=n).ok for n in (1, 3)] == [True, True]
    assert dispatch(registry, "counted", number=2) == denied
    assert asked == [ToolCall("call_7", "counted", {"number": n}) for n in (1, 3, 2)]
    assert ran == [1, 3]


@pytest.mark.parametrize("call", [ToolCall("1", "nowhere", {}), ToolCall("1", "get_weather", {"town": "Paris"})])
def test_the_guard_is_asked_before_name_and_arguments_are_looked_at(call: ToolCall) -> None:
    assert Registry([get_weather], deny=lambda _: "closed").dispatch(call).content == "denied: closed"


def test_an_empty_reason_denies() -> None:
    tool, ran = counting()
    assert not dispatch(Registry([tool], deny=lambda _: ""), "counted", number=1).ok
    assert ran == []


@pytest.mark.parametrize("error", [RuntimeError("no policy"), SystemExit("no policy")])
def test_a_guard_that_raises_denies(error: BaseException) -> None:
    tool, ran = counting()
    result = dispatch(Registry([tool], deny=_raising(error)), "counted", number=1)
    assert result.content == f"denied: the guard failed: {type(error).__name__}: no policy"
    assert (result.ok, ran) == (False, [])


@pytest.mark.parametrize("error", [FatalToolError("revoked"), KeyboardInterrupt()])
def test_a_guard_may_end_the_run(error: BaseException) -> None:
    tool, ran = counting()
    with pytest.raises(type(error)) as caught:
        dispatch(Registry([tool], deny=_raising(error)), "counted", number=1)
    assert caught.value is error
    assert ran == []


def _raising(error: BaseException) -> Deny:
    def deny(_: ToolCall) -> str | None:
        raise error

    return deny


# ------------------------------------------------------------------------------------------------------- what is raised


@pytest.mark.parametrize(
    ("error", "content"),
    [
        (ToolError("no such city"), "ToolError: no such city"),
        (KeyError(), "KeyError"),
        (StopIteration("end"), "StopIteration: end"),
        (Unprintable(), "Unprintable"),
        (OSError("half \udcff"), "OSError: half \ufffd"),
        (SystemExit(3), "SystemExit: 3"),
        (BaseException("base"), "BaseException: base"),
    ],
)
def test_whatever_a_tool_raises_is_a_failed_result(error: BaseException, content: str) -> None:
    assert answer_of(raiser(error, blocking=True)) == answered(content, ok=False)


class RevokedError(FatalToolError):
    pass


class Key(BaseModel):
    text: str

    @field_validator("text")
    @classmethod
    def valid(cls, text: str) -> str:
        raise RevokedError(text)


def raises_it() -> None:
    raise RevokedError("revoked")


def makes_it() -> Iterator[int]:
    yield 1
    raise RevokedError("revoked")


def checks_it(key: Key) -> str:
    return key.text


@pytest.mark.parametrize(
    ("tool", "arguments"), [(raises_it, {}), (makes_it, {}), (checks_it, {"key": {"text": "revoked"}})]
)
def test_a_fatal_error_comes_out_wherever_the_tool_raises_it(tool: Callable[..., Any], arguments: Any) -> None:
    with pytest.raises(RevokedError, match=r"\Arevoked\Z"):
        answer_of(tool, **arguments)


def test_a_keyboard_interrupt_is_nobodys_result() -> None:
    with pytest.raises(KeyboardInterrupt):
        answer_of(raiser(KeyboardInterrupt(), blocking=True))


def test_a_fatal_error_that_caused_another_is_not_fatal() -> None:
    def recovers() -> None:
        try:
            raise RevokedError("revoked")
        except RevokedError as error:
            raise ToolError("try the other key") from error

    assert answer_of(recovers) == answered("ToolError: try the other key", ok=False)


@dataclass
class Promise:
    city: str

    def __await__(self) -> Iterator[None]:
        yield


@pytest.mark.parametrize("tool", [wrapped(asynchronous), Promise], ids=["coroutine", "awaitable"])
def test_a_tool_that_turns_out_to_be_asynchronous_has_failed(tool: Callable[..., Any]) -> None:
    expected = answered("the tool is asynchronous, and only synchronous tools can be run here", ok=False)
    assert answer_of(tool, city="Paris") == expected


# ------------------------------------------------------------------------------------------------------- with the loop


def test_the_reference_loop_runs_on_it() -> None:
    registry = Registry([get_weather])
    model = FakeModel([tool_call("get_weather", {"city": "Paris"}), tool_call("get_weather"), "done"])
    run = metered.Agent(model, registry).run("go")
    assert (run.stop, run.trajectory(), run.blocked_tools()) == (Stop.ANSWERED, ["get_weather"], ["get_weather"])
    assert [call["tools"] for call in model.calls] == [registry.schemas()] * 3


def test_the_reference_loop_ends_with_a_fatal_error() -> None:
    model = FakeModel([tool_call("raises_it"), "done"])
    assert metered.Agent(model, Registry([raises_it])).run("go").stop is Stop.TOOL_FATAL
    assert model.call_count == 1
