"""What the tests of the registries share: types for parameters, ready tools, and a call made and waited for."""

from __future__ import annotations

import asyncio
import enum
import functools
import inspect
import json
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel, field_validator
from typing_extensions import TypedDict

from looptck.contract.ag03 import ToolCall, ToolDefinition, ToolResult, Tools
from looptck_reference.registry import Registry

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


async def asynchronous(city: str) -> str:
    """Tell the weather, later."""
    return f"{city}: sunny"


def wrapped(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return wrapper


class Unprintable(Exception):  # noqa: N818 - named for what it is
    def __str__(self) -> str:
        raise RuntimeError


def raiser(error: BaseException, *, blocking: bool) -> Callable[[], Any]:
    def blocking_tool() -> None:
        raise error

    async def async_tool() -> None:
        raise error

    return blocking_tool if blocking else async_tool
