"""A model that says what its script says, and keeps what it was asked."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from looptck.contract.messages import UsageChunk
from looptck_fakes.recorder import ModelAnswered, ModelAsked, Recorder

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence

    from looptck.contract.messages import Chunk, Message, ToolDefinition
    from looptck_fakes.stage import Stage
    from looptck_fakes.turns import Turn


class ScriptExhaustedError(RuntimeError):
    """The model was asked more often than its script has replies."""


class ScriptedProvider:
    """A `Provider` that replies with the turns of its script, one a request.

    Asked beyond the script it records the request and raises `ScriptExhaustedError`, so an endless loop ends by count.
    `script` is a sequence of turns, or a function that is given the messages of a request and returns the name of the
    script it belongs to and the reply (None: exhausted). Requests are kept in `requests`, as snapshots.

        >>> import asyncio
        >>> from looptck.contract.ag03 import Message
        >>> from looptck_fakes import Turn
        >>> provider = ScriptedProvider([Turn(text=("It is ", "sunny."))])
        >>> async def reply():
        ...     return [chunk.text async for chunk in provider.stream([Message("user", "Hello")], [], {})]
        >>> asyncio.run(reply())
        ['It is ', 'sunny.']
        >>> provider.requests[0].messages[0].content
        'Hello'
    """

    def __init__(
        self,
        script: Sequence[Turn] | Callable[[Sequence[Message]], tuple[str, Turn | None]],
        *,
        model: str = "scripted",
        recorder: Recorder | None = None,
        stage: Stage | None = None,
    ) -> None:
        self.model = model
        self.recorder = recorder if recorder is not None else Recorder()
        self._stage = stage
        self._lock = threading.Lock()
        self._next = script if callable(script) else _in_order(script)

    @property
    def requests(self) -> tuple[ModelAsked, ...]:
        """What was asked so far, in order."""
        return self.recorder.of(ModelAsked)

    def stream(
        self, messages: Sequence[Message], tools: Sequence[ToolDefinition], options: Mapping[str, Any]
    ) -> AsyncIterator[Chunk]:
        """The chunks of the next reply. The request is recorded when it is made, not when it is read."""
        asked = (tuple(messages), tuple(tools), dict(options or {}))
        with self._lock:  # requests of several threads get their replies in the order of the log
            name, turn = self._next(messages)
            number = self.recorder.begin(
                "model", lambda at, number: ModelAsked(at, number, name, *asked, beyond_script=turn is None)
            )
        return self._reply(number, turn)

    async def _reply(self, number: int, turn: Turn | None) -> AsyncIterator[Chunk]:
        how = "closed"
        try:
            if turn is None:
                how = "error"
                msg = f"the script has no reply for model request {number + 1}"
                raise ScriptExhaustedError(msg)
            async for chunk in self._chunks(turn, number):
                yield chunk
            how = "whole"
        except BaseException as error:
            if isinstance(error, Exception) or (turn is not None and error is turn.error):
                how = "error"
            raise
        finally:
            self.recorder.add(lambda at: ModelAnswered(at, number, how))  # type: ignore[arg-type]

    async def _chunks(self, turn: Turn, number: int) -> AsyncIterator[Chunk]:
        if turn.error is not None and turn.error_at == "before":
            raise turn.error
        for chunk in turn.text_chunks():
            yield chunk
        if turn.hold and self._stage is not None:
            await self._stage.hold(number)
        fragments = turn.call_chunks()
        middle = (len(fragments) + 1) // 2
        for fragment in fragments[:middle]:
            yield fragment
        if turn.error is not None and turn.error_at == "middle":
            raise turn.error
        for fragment in fragments[middle:]:
            yield fragment
        if turn.usage is not None:
            yield UsageChunk(turn.usage)
        if turn.error is not None:
            raise turn.error


def _in_order(turns: Sequence[Turn]) -> Callable[[Sequence[Message]], tuple[str, Turn | None]]:
    rest = iter(tuple(turns))
    return lambda _messages: ("", next(rest, None))
