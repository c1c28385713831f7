"""Which calls a transcript leaves open, wherever that is asked."""

from __future__ import annotations

import pytest

from looptck.contract.ag03 import Message, ToolCall
from looptck.durability import sweep
from looptck.open_turn import open_calls
from looptck.scenario import Call, Invocation, Said, Scenario, Turn

ONE, OTHER, TWIN = ToolCall("a", "look_up", "{}"), ToolCall("b", "look_up", "{}"), ToolCall("a", "send", "{}")
ASKED = Message("user", "go")


def proposed(*calls: ToolCall) -> Message:
    return Message("assistant", tool_calls=calls)


def answer(call: ToolCall) -> Message:
    return Message("tool", "ok", tool_call_id=call.id)


TRANSCRIPTS = {
    "nothing": ([], []),
    "no turn": ([ASKED], []),
    "a turn": ([ASKED, proposed(ONE, OTHER)], [ONE, OTHER]),
    "partly answered": ([ASKED, proposed(ONE, OTHER), answer(OTHER)], [ONE]),
    "answered": ([ASKED, proposed(ONE, OTHER), answer(OTHER), answer(ONE)], []),
    "one answer for two of an id": ([ASKED, proposed(ONE, TWIN), answer(ONE)], [TWIN]),
    "something behind it": ([ASKED, proposed(ONE), ASKED], []),
    "an earlier turn": ([ASKED, proposed(ONE), answer(ONE), proposed(OTHER)], [OTHER]),
}


@pytest.mark.parametrize(("messages", "calls"), TRANSCRIPTS.values(), ids=TRANSCRIPTS)
def test_the_calls_of_the_last_turn_that_no_message_answers_are_open(
    messages: list[Message], calls: list[ToolCall]
) -> None:
    assert open_calls(messages) == calls


def test_a_sweep_stops_behind_an_open_call_that_shares_its_id_with_an_answered_one() -> None:
    calls = (Call(id="a", name="look_up"), Call(id="a", name="send"))
    given = (Said(content="go"), Said(role="assistant", calls=calls), Said(role="tool", content="ok", tool_call_id="a"))
    run = Invocation(messages=given, turns=(Turn(text=("Yes.",)),))
    names = [swept.name for swept in sweep(Scenario(name="s", invocations=(run,)))]
    assert names == ["s/after-0", "s/after-1", "s/lost-tool-1", "s/after-2", "s/lost-model-2"]
