"""A registry of synchronous tools, offered to a loop as the `Registry` of the lesson4 contract.

Every call ends in a result that the model reads: a denied, unknown or invalid call and a tool that raises,
`SystemExit` included, are results that are not `ok`. Only `FatalToolError` comes out, for the loop to end the run with,
and `KeyboardInterrupt`, which is no tool's own.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

from looptck.contract.lesson4 import FatalToolError, ToolCall, ToolResult
from looptck.contract.messages import ToolResult as Outcome
from looptck_reference.results import failure, sendable
from looptck_reference.toolbox import Toolbox, attempt, is_async

if TYPE_CHECKING:
    from looptck_reference.schemas import Function, ToolSpec

__all__ = ["Deny", "Registry"]

Deny: TypeAlias = Callable[[ToolCall], str | None]
"""Asked before a call is looked up: the reason to deny it, for the model to read, or None to let it through."""
_DENIED = "denied: "


class Registry(Toolbox):
    """Tools by name, in the order in which they were registered, and a guard in front of them.

        registry = Registry(deny=lambda call: "refunds need a human" if call.name == "refund" else None)

        @registry.tool
        def search_help(q: str) -> str:
            '''Search the help pages.

            Args:
                q: what to look for
            '''
            return "…"

    A guard that raises denies, unless it raises `FatalToolError`. Asynchronous tools are refused when they are
    registered; a plain function that turns out to give an awaitable has failed.
    """

    _passing = (FatalToolError,)

    def __init__(self, tools: Iterable[Function] = (), deny: Deny | None = None) -> None:
        super().__init__(tools)
        self._deny = deny

    def schemas(self) -> list[dict[str, Any]]:
        """What the model is told of each tool: `name`, `description`, and `parameters`, a JSON Schema."""
        return [
            {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
            for tool in self._definitions
        ]

    def dispatch(self, call: ToolCall) -> ToolResult:
        """Run one call and answer it under its id and name. Raises `FatalToolError`, and nothing else of a tool's."""
        outcome = self._denial(call) or self._outcome(call)
        return ToolResult(call.id, call.name, outcome.content, ok=not outcome.is_error)

    def _denial(self, call: ToolCall) -> Outcome | None:
        """The result of a call that the guard does not let through."""
        if self._deny is None:
            return None
        try:
            reason = self._deny(call)
        except (FatalToolError, KeyboardInterrupt):
            raise
        except BaseException as error:  # noqa: BLE001 - a guard that fails must not let the call through
            reason = f"the guard failed: {failure(error).content}"
        return None if reason is None else Outcome(_DENIED + sendable(reason), is_error=True)

    def _outcome(self, call: ToolCall) -> Outcome:
        """The result of a call that was let through."""
        work = self._prepare(call.name, lambda: call.arguments)
        if isinstance(work, Outcome):
            return work
        outcome = attempt(work, self._passing)
        if isinstance(outcome, Outcome):
            return outcome
        if inspect.iscoroutine(outcome):
            outcome.close()
        return Outcome("the tool is asynchronous, and only synchronous tools can be run here", is_error=True)

    def _vet(self, tool: ToolSpec) -> None:
        if is_async(tool.function) or inspect.isasyncgenfunction(tool.function):
            raise TypeError(f"the tool {tool.name!r} is asynchronous, and this registry runs synchronous tools only")
