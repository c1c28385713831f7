"""What the tests share: a loop that is run to its end over a scripted model, and all that is left of it then."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from looptck.contract.ag03 import Message, Usage
from looptck_fakes import RecordingTools, ScriptedProvider, Turn

QUESTION = Message("user", "What is the weather in Paris?")


@dataclass
class Ended:
    """A run that is over. Either `answer` or `error` is there."""

    model: ScriptedProvider
    tools: RecordingTools
    answer: Message | None
    error: Exception | None
    transcript: Sequence[Message]
    usage: Usage
    events: list[str]


@pytest.fixture
def play(loop_class: Any) -> Callable[..., Ended]:
    """Runs the loop on a script."""

    def play(script: list[Turn], tools: RecordingTools, *messages: Message, **options: Any) -> Ended:
        model = ScriptedProvider(script)
        stream = loop_class(model, tools, **options).invoke(messages or [QUESTION])

        async def to_the_end() -> Ended:
            answer, error = None, None
            try:
                answer = await stream.result()
            except Exception as raised:  # noqa: BLE001 - the tests say which it should be
                error = raised
            events = [event.kind async for event in stream.events()]
            return Ended(model, tools, answer, error, stream.transcript(), stream.usage(), events)

        return asyncio.run(to_the_end())

    return play
