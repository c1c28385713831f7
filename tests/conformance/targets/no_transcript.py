"""The reference, whose streams say nothing of transcript and usage."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

import looptck_reference
from looptck.contract.ag03 import Event, Message


class Stream:
    """Events and the result of a run, and that is all."""

    def __init__(self, agent: looptck_reference.Agent, messages: Sequence[Message]) -> None:
        whole = agent.invoke(messages)
        self._events, self._result = whole.events, whole.result

    def events(self) -> AsyncIterator[Event]:
        """The events of the run."""
        return self._events()

    async def result(self) -> Message:
        """The answer."""
        return await self._result()


class Agent:
    """Keeps the reference to itself."""

    def __init__(self, **options: Any) -> None:
        self._agent = looptck_reference.Agent(**options)

    def invoke(self, messages: Sequence[Message]) -> Stream:
        """Start a run."""
        return Stream(self._agent, messages)
