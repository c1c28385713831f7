"""A registry of tools: plain functions, offered to a loop as the contract's `Tools`.

A call ends in a result whatever the model wrote and whatever the tool does. Arguments that are not JSON or do not fit,
an unknown name and a tool that raises, `SystemExit` included, are error results. Only what is not the tool's own
passes through: the cancellation of the task that calls, `KeyboardInterrupt`, and `GeneratorExit`.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

from looptck.contract.ag03 import ToolResult
from looptck_reference.arguments import decode_arguments
from looptck_reference.results import failure, result_of
from looptck_reference.threads import run_in_thread
from looptck_reference.toolbox import Toolbox, attempt, is_async

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from looptck.contract.ag03 import ToolCall, ToolDefinition

__all__ = ["Registry"]


class Registry(Toolbox):
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

    def definitions(self) -> tuple[ToolDefinition, ...]:
        """What the model is told of; made when a tool is registered, not when it is asked for."""
        return self._definitions

    async def call(self, call: ToolCall) -> ToolResult:
        """Run the tool that the call names. Every failure of the call or of the tool is a result with `is_error`."""
        work = self._prepare(call.name, partial(decode_arguments, call.arguments))
        return work if isinstance(work, ToolResult) else await _run(work)


async def _run(work: Callable[[], Any]) -> ToolResult:
    """Do the work of one call, in this task or in a thread."""
    if is_async(work):
        return await _settle(work)
    # Rendered in the thread: a lazy value may block as well, and a future cannot carry a StopIteration.
    outcome = await run_in_thread(partial(attempt, work))
    return outcome if isinstance(outcome, ToolResult) else await _settle(lambda: outcome)  # an async function, wrapped


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
