"""What every registry of the reference is: tools by name, described when they are registered, one name taken once."""

from __future__ import annotations

import inspect
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, overload

from looptck.contract.messages import ToolResult
from looptck_reference.arguments import ArgumentsError, one_line
from looptck_reference.results import failure, result_of
from looptck_reference.schemas import Function, ToolSpec, describe_tool

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping

    from looptck.contract.messages import ToolDefinition

__all__ = ["Toolbox", "attempt", "is_async"]

F = TypeVar("F", bound=Function)


class Toolbox:
    """Tools by name, in the order in which they were registered. A registry adds how a call is made.

    `_passing` are the errors that end more than the call: no result is made of them.
    """

    _passing: tuple[type[Exception], ...] = ()

    def __init__(self, tools: Iterable[Function] = ()) -> None:
        self._tools: dict[str, ToolSpec] = {}
        self._definitions: tuple[ToolDefinition, ...] = ()
        for tool in tools:
            self.add(tool)

    def add(self, function: Function, *, name: str | None = None, description: str | None = None) -> None:
        """Register a tool, under the function's name and docstring where no others are given.

        Raises `ValueError` for a name that is taken or that models do not accept, `TypeError` for a signature that
        cannot be called with a JSON object and for a kind of function that the registry does not run.
        """
        tool = describe_tool(function, name=name, description=description)
        self._vet(tool)
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

    def _vet(self, tool: ToolSpec) -> None:
        """Raise `TypeError` for a tool that this kind of registry cannot run; the base refuses none."""

    def _prepare(self, name: str, read: Callable[[], Mapping[str, Any]]) -> partial[Any] | ToolResult:
        """The call of a tool, made ready with the arguments that `read` gives.

        Or the error result, where nobody registered the name or the arguments do not fit.
        """
        tool = self._tools.get(name)
        if tool is None:
            known = ", ".join(self._tools) or "none"
            return ToolResult(one_line(f"there is no tool {name!r}; known tools: {known}"), is_error=True)
        try:
            return partial(tool.function, **tool.bind(read()))
        except ArgumentsError as error:
            if isinstance(error.__cause__, self._passing):  # raised by a validator of the tool's own types
                raise error.__cause__ from None
            return ToolResult(str(error), is_error=True)


def is_async(function: object) -> bool:
    """Whether calling the function gives a coroutine, under partials and for objects with an async `__call__`."""
    while isinstance(function, partial):
        function = function.func
    call = type(function).__call__ if callable(function) else None
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)


def attempt(work: Callable[[], Any], passing: tuple[type[Exception], ...] = ()) -> ToolResult | Awaitable[Any]:
    """Do the work of a plain function and render its outcome; an awaitable that it gave is handed back as it is.

    Nothing is raised but `KeyboardInterrupt` and what is `passing`. A generator's items are made here, where an error
    of theirs is still the tool's.
    """
    try:
        value = work()
        if inspect.isawaitable(value):
            return value
        return result_of(list(value) if inspect.isgenerator(value) else value)
    except KeyboardInterrupt:
        raise
    except passing:
        raise
    except BaseException as error:  # noqa: BLE001 - whatever a tool raises is a result
        return failure(error)
