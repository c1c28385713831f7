"""What the oracle knows of messages: what of a reply had come when its provider failed."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Literal

import pytest

from looptck.contract.ag03 import Accumulator, Message
from looptck.observe.rig import Rig, ScriptedError
from looptck.oracle.lines import parts
from looptck.scenario import Call, Invocation, Scenario, Turn


def failing(calls: int, fragments: int, error_at: Literal["before", "middle", "after"]) -> Turn:
    proposed = tuple(Call(id=f"call_{n}", name="look_up", arguments='{"query": "words"}') for n in range(calls))
    return Turn(text=("So ", "far"), calls=proposed, fragments=fragments, error="down", error_at=error_at)


async def sent(turn: Turn) -> Message:
    """What the scripted model sends of a reply until it fails."""
    rig, reply = Rig(Scenario(name="failing", invocations=(Invocation(turns=(turn,)),))), Accumulator()
    rig.begin([0])
    with suppress(ScriptedError):
        async for chunk in rig.provider.stream([], [], {}):
            reply.add(chunk)
    return reply.message()


@pytest.mark.parametrize("error_at", ["before", "middle", "after"])
@pytest.mark.parametrize("fragments", [1, 2, 3, 4])
@pytest.mark.parametrize("calls", range(5))
def test_what_may_be_kept_of_a_reply_is_what_the_scripted_model_sends(
    calls: int, fragments: int, error_at: Literal["before", "middle", "after"]
) -> None:
    turn = failing(calls, fragments, error_at)
    came, kept = asyncio.run(sent(turn)), list(parts(turn))
    whole = tuple(call for call in came.tool_calls if call.id)
    assert kept[0] == Message("assistant", came.content)
    assert set(kept) == {Message("assistant", came.content, some) for some in ((), whole, came.tool_calls)}
