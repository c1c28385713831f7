"""A registry of tools: plain functions, offered to a loop as the contract's `Tools`.

A call ends in a result whatever the model wrote and whatever the tool does. Arguments that are not JSON or do not fit,
an unknown name and a tool that raises, `SystemExit` included, are error results. Only what is not the tool's own
passes through: the cancellation of the task that calls, `KeyboardInterrupt`, and `GeneratorExit`.
"""

from __future__ import annotations

import asyncio
import inspect
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, overload

from looptck.contract.ag03 import ToolResult
from looptck_reference.arguments import ArgumentsError, decode_arguments, one_line
from looptck_reference.results import failure, result_of
from looptck_reference.schemas import Function, ToolSpec, describe_tool
from looptck_reference.threads import run_in_thread

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from looptck.contract.ag03 import ToolCall, ToolDefinition

__all__ = ["Registry"]

F = TypeVar("F", bound=Function)


class Registry:
    """Tools by name, in the order in which they were registered.

        registry = Registry()

        @registry.tool
        def get_weather(city: str) -> str:
            '''Tell the weather.

            Args:
                city: the city's name
            '''
            return "sunny, 21 C"

    Coroutine functions run in the caller's task. Other functions run in a worker thread of the loop's default
    executor (which bounds how many run at once), with the caller's context variables; `run_in_thread` says what
    cancelling one means.
    """

    def __init__(self, tools: Iterable[Function] = ()) -> None:
        self._tools: dict[str, ToolSpec] = {}
        self._definitions: tuple[ToolDefinition, ...] = ()
        for tool in tools:
            self.add(tool)

    def add(self, function: Function, *, name: str | None = None, description: str | None = None) -> None:
        """Register a tool, under the function's name and docstring where no others are given.

        Raises `ValueError` for a name that is taken or that models do not accept, `TypeError` for a signature that
        cannot be called with a JSON object.
        """
        tool = describe_tool(function, name=name, description=description)
        if tool.name in self._tools:
            raise ValueError(f"a tool named {tool.name!r} is registered already")
        self._tools[tool.name] = tool
        self._definitions += (tool.definition,)

    @overload
    def tool(self, function: F, /) -> F: ...

    @overload
    def tool(self, /, *, name: str | None = None, description: str | None = None) -> Callable[[F], F]: ...

    def tool(
        self, function: F | None = None, /, *, name: str | None = None, description: str | None = None
    ) -> F | Callable[[F], F]:
        """Register the decorated function and leave it as it is: `@registry.tool` or `@registry.tool(name=…)`.

        Raises what `add` raises.
        """

        def register(function: F) -> F:
            self.add(function, name=name, description=description)
            return function

        return register if function is None else register(function)

    def definitions(self) -> tuple[ToolDefinition, ...]:
        """What the model is told of; made when a tool is registered, not when it is asked for."""
        return self._definitions

    async def call(self, call: ToolCall) -> ToolResult:
        """Run the tool that the call names. Every failure of the call or of the tool is a result with `is_error`."""
        tool = self._tools.get(call.name)
        if tool is None:
            return self._unknown(call.name)
        try:
            arguments = tool.bind(decode_arguments(call.arguments))
        except ArgumentsError as error:
            return ToolResult(str(error), is_error=True)
        return await _run(partial(tool.function, **arguments))

    def _unknown(self, name: str) -> ToolResult:
        """The result for a name that nobody registered."""
        known = ", ".join(self._tools) or "none"
        return ToolResult(one_line(f"there is no tool {name!r}; known tools: {known}"), is_error=True)


async def _run(work: Callable[[], Any]) -> ToolResult:
    """Do the work of one call, in this task or in a thread."""
    if _is_coroutine_function(work):
        return await _settle(work)
    outcome = await run_in_thread(partial(_attempt, work))
    return outcome if isinstance(outcome, ToolResult) else await _settle(lambda: outcome)


def _is_coroutine_function(function: object) -> bool:
    """Whether calling the function gives a coroutine, under partials and for objects with an async `__call__`."""
    while isinstance(function, partial):
        function = function.func
    call = type(function).__call__ if callable(function) else None
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)


def _attempt(work: Callable[[], Any]) -> ToolResult | Awaitable[Any]:
    """Do blocking work and render its outcome, all in the thread, where a lazy value may block as well.

    Nothing but `KeyboardInterrupt` is raised: a future cannot carry a `StopIteration`. A plain function that gives an
    awaitable (a wrapped coroutine function, say) has that awaited by the caller.
    """
    try:
        value = work()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - whatever a tool raises is a result
        return failure(error)
    return value if inspect.isawaitable(value) else result_of(value)


async def _settle(work: Callable[[], Awaitable[Any]]) -> ToolResult:
    """Await the work of an async tool and render its outcome."""
    requested = _cancellations()
    try:
        value = await work()
    except (KeyboardInterrupt, GeneratorExit):
        raise
    except asyncio.CancelledError as error:
        if _cancellations():
            raise
        return failure(error)  # the tool raised it by itself
    except BaseException as error:
        if _cancellations() > requested:
            raise asyncio.CancelledError from error  # the tool's own error on being cancelled must not hide that
        return failure(error)
    return result_of(value)


def _cancellations() -> int:
    """How many requests to cancel are pending on the current task."""
    task = asyncio.current_task()
    return 0 if task is None else task.cancelling()
