"""Tools that answer from a table and keep which of them ran, how, and how many at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from looptck.contract.messages import ToolCall, ToolDefinition, ToolResult
from looptck_fakes.recorder import Recorder, ToolEnded, ToolStarted

if TYPE_CHECKING:
    from looptck_fakes.stage import Stage


@dataclass(frozen=True, slots=True)
class Raises:
    """An answer that breaks the seam's promise on purpose: `error` is raised out of `Tools.call`.

    >>> tools = RecordingTools({"get_weather": Raises(ConnectionError("no route"))})
    >>> asyncio.run(tools.call(ToolCall("call_1", "get_weather", "{}")))
    Traceback (most recent call last):
    ConnectionError: no route
    """

    error: BaseException


Answer: TypeAlias = str | ToolResult | Exception | Raises | Callable[[ToolCall], "Answer"]


class RecordingTools:
    """A `Tools` whose answers come from a table by tool name, or from one function of the call.

    A string is a result, an exception an error result (as a registry makes of a tool that raises), `Raises(error)`
    really raises, and a function is asked with the call. An unknown tool is an error result. With a stage, every run
    waits there, so that the test decides which one finishes next.

        >>> tools = RecordingTools({"get_weather": "sunny, 21 C", "add": ValueError("not numbers")})
        >>> asyncio.run(tools.call(ToolCall("call_1", "get_weather", "{}")))
        ToolResult(content='sunny, 21 C', is_error=False)
        >>> asyncio.run(tools.call(ToolCall("call_2", "add", "{}")))
        ToolResult(content='ValueError: not numbers', is_error=True)
        >>> [call.id for call in tools.runs]
        ['call_1', 'call_2']
    """

    def __init__(
        self,
        answers: Mapping[str, Answer] | Callable[[ToolCall], Answer],
        *,
        definitions: Sequence[ToolDefinition] | None = None,
        recorder: Recorder | None = None,
        stage: Stage | None = None,
    ) -> None:
        self.recorder = recorder if recorder is not None else Recorder()
        self._stage = stage
        self._answers = answers
        names = () if callable(answers) else tuple(answers)
        given = definitions if definitions is not None else [ToolDefinition(name) for name in names]
        self._definitions = tuple(given)

    @property
    def runs(self) -> tuple[ToolCall, ...]:
        """The calls that ran, in the order they started."""
        return tuple(started.call for started in self.recorder.of(ToolStarted))

    @property
    def in_flight(self) -> int:
        """How many runs have started and not ended."""
        return len(self.recorder.of(ToolStarted)) - len(self.recorder.of(ToolEnded))

    def definitions(self) -> Sequence[ToolDefinition]:
        """The definitions given, or bare ones for the names in the table."""
        return self._definitions

    async def call(self, call: ToolCall) -> ToolResult:
        """Run the call: record it, wait on the stage, answer."""
        context = self.recorder.probe()
        run = self.recorder.begin("tool", lambda at, run: ToolStarted(at, run, call, context))
        result: ToolResult | None = None
        how = "raised"
        try:
            if self._stage is not None:
                await self._stage.hold(call)
            result = _result(self._lookup(call), call)
            how = "returned"
        except (asyncio.CancelledError, GeneratorExit):
            how = "cancelled"
            raise
        finally:
            self.recorder.add(lambda at: ToolEnded(at, run, how, result))  # type: ignore[arg-type]
        return result

    def _lookup(self, call: ToolCall) -> Answer:
        if callable(self._answers):
            return self._answers
        return self._answers.get(call.name, ToolResult(f"unknown tool: {call.name}", is_error=True))


def _result(answer: Answer, call: ToolCall) -> ToolResult:
    if isinstance(answer, Raises):
        raise answer.error
    if isinstance(answer, Exception):
        return ToolResult(f"{type(answer).__name__}: {answer}", is_error=True)
    if isinstance(answer, ToolResult):
        return answer
    if isinstance(answer, str):
        return ToolResult(answer)
    return _result(answer(call), call)
