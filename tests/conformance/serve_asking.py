"""What the tests of served models share: scenarios, and the requests that a correct loop makes for them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from looptck.scenario import Call, Invocation, Options, Said, Scenario, Tokens, Turn
from looptck.serve.judge import Ended, judge
from looptck.serve.report import ServeReport

Messages = list[dict[str, Any]]
DONE = Ended("the command ended with exit code 0", finished=True, command_exit=0)
BROKEN_OFF = Ended("the command was ended by signal 9", command_exit=-9)

QUESTION = Said(content="Which cities are sunny?")
PARIS = Call(id="call_1", name="get_weather", arguments='{"city": "Paris"}', answer="sunny, 21 C")
LYON = Call(id="call_2", name="get_weather", arguments='{"city": "Lyon"}', answer="rain, 12 C")
NICE = Call(id="call_3", name="get_weather", arguments='{"city": "Nice"}', answer="sunny, 25 C")
TWO = Turn(text=("Let me ", "look."), calls=(PARIS, LYON), usage=Tokens(input=10, output=5))
ONE = Turn(calls=(NICE,), usage=Tokens(input=20, output=5))
ANSWER = Turn(text=("Paris ", "and Nice."), usage=Tokens(input=30, output=5))
TOOLS = [{"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}}]


def scenario(*turns: Turn, messages: Sequence[Said] = (QUESTION,), gate: bool = False, **options: Any) -> Scenario:
    """One invocation that asks the question, with these replies."""
    run = Invocation(messages=tuple(messages), turns=turns or (TWO, ONE, ANSWER))
    return Scenario(name="cities", options=Options(**options), gate=gate, invocations=(run,))


def proposing(turn: Turn) -> dict[str, Any]:
    """A turn as the server sends it where nothing is streamed."""
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in turn.calls
    ]
    message: dict[str, Any] = {"role": "assistant", "content": "".join(turn.text) or None}
    return message | ({"tool_calls": calls} if calls else {})


def answering(turn: Turn) -> Messages:
    """The tool messages behind a turn."""
    return [{"role": "tool", "tool_call_id": call.id, "content": call.answer} for call in turn.calls]


def requests(
    given: Scenario, number: int | None = None, *, sent: Callable[[Messages], Messages] = list, **fields: Any
) -> list[bytes]:
    """The first `number` requests of a correct loop, one for each reply; `sent` is what it sends of its messages."""
    (run,) = given.invocations
    messages: Messages = [{"role": said.role, "content": said.content} for said in run.messages]
    if given.options.system:
        messages.insert(0, {"role": "system", "content": given.options.system})
    bodies = []
    for turn in run.turns[: len(run.turns) if number is None else number]:
        bodies.append(body(sent(json.loads(json.dumps(messages))), **fields))
        messages += [proposing(turn), *answering(turn)]
    return bodies


def body(messages: Messages, **fields: Any) -> bytes:
    """A request."""
    return json.dumps({"model": "any", "messages": messages, "tools": TOOLS} | fields).encode()


def judged(given: Scenario, *asked: Sequence[bytes], ended: Ended = DONE, own_input: bool = False) -> ServeReport:
    """The report on the requests of each invocation."""
    return judge(given, asked, ended, own_input=own_input)


def failed(report: ServeReport) -> list[str]:
    """The ids of the checks that did not pass, without what stands before each."""
    return [finding.id.removeprefix("requests/") for finding in report.findings]
