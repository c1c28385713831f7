"""The stream of one run: what a caller holds while the loop works."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol

from looptck.contract.ag03 import Event, Message, Usage

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable


class RunState(Protocol):
    """The part of a run that a stream shows."""

    messages: list[Message]
    usage: Usage


class EventLog:
    """An append-only list of events that any number of readers may follow. Nobody has to, so it never blocks."""

    def __init__(self) -> None:
        self._events: list[Event] = []
        self._closed = False
        self._news = asyncio.Event()

    def emit(self, event: Event) -> None:
        """Append an event and wake the readers."""
        self._events.append(event)
        self._news.set()

    def close(self) -> None:
        """No more events will come."""
        self._closed = True
        self._news.set()

    async def follow(self) -> AsyncIterator[Event]:
        """Every event from the first on, until the log is closed."""
        place = 0
        while True:
            while place < len(self._events):
                yield self._events[place]
                place += 1
            if self._closed:
                return
            self._news.clear()
            await self._news.wait()


class Stream:
    """One run of the loop. It starts with the first `result()` or the first step of `events()`."""

    def __init__(self, state: RunState, events: EventLog, run: Callable[[], Awaitable[Message]]) -> None:
        self._state = state
        self._events = events
        self._run = run
        self._task: asyncio.Task[Message | BaseException] | None = None

    async def events(self) -> AsyncIterator[Event]:
        """The events of the run; ends when the run does."""
        self._start()
        async for event in self._events.follow():
            yield event

    async def result(self) -> Message:
        """The answer; raises what ended the run. Cancelling the caller cancels the run."""
        outcome = await self._start()
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    def transcript(self) -> list[Message]:
        """The messages so far."""
        return list(self._state.messages)

    def usage(self) -> Usage:
        """The sum over every model call so far."""
        return self._state.usage

    def _start(self) -> asyncio.Task[Message | BaseException]:
        if self._task is None:
            self._task = asyncio.create_task(self._outcome())
        return self._task

    async def _outcome(self) -> Message | BaseException:
        """How the run ended, as a value: a run whose result nobody asks for is no lost exception."""
        try:
            return await self._run()
        except Exception as error:  # noqa: BLE001 - it is raised again by result()
            return error
        finally:
            self._events.close()
