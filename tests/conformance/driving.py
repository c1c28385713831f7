"""What the tests of one observed scenario share: a small scenario, and a loop to fill in with one mistake."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

from looptck.adapter import ContractAdapter
from looptck.contract.ag03 import Event, Message, Usage
from looptck.observation import InvocationSeen, Observation
from looptck.observe import observe_here
from looptck.scenario import Call, Invocation, Options, Said, Scenario, Tokens, Turn

ASK = (Said(content="Where is the ferry?"),)
FERRY = Call(id="call_7", name="find_ferry", arguments='{"line": 3}', answer="at the pier")
CALLING = Turn(calls=(FERRY,), usage=Tokens(input=7, output=2))
ANSWER = Turn(text=("At ", "the pier."), usage=Tokens(input=9, output=3))
FOUR = tuple(
    Call(id=f"call_{n}", name="find_ferry", arguments=f'{{"line": {n}}}', answer=f"pier {n}") for n in range(4)
)


def scenario(*turns: Turn, options: Options | None = None, finish: Any = "at_once", **fields: Any) -> Scenario:
    """A scenario of one invocation; `fields` are those of the invocation."""
    run = Invocation(messages=ASK, turns=turns or (CALLING, ANSWER), **fields)
    return Scenario(name="ferry", options=options or Options(), finish=finish, invocations=(run,))


def observe(agent_class: type[Any], wanted: Scenario | None = None, *, limit: float = 20.0) -> Observation:
    return observe_here(ContractAdapter(agent_class), wanted or scenario(), limit=limit)


def only(observation: Observation) -> InvocationSeen:
    assert len(observation.invocations) == 1
    return observation.invocations[0]


class Hollow:
    """A loop of which each test fills in the one thing that it is about; it never asks its model."""

    def __init__(self, **options: Any) -> None:
        self.options = options

    def invoke(self, messages: Sequence[Message]) -> Any:
        self.given = messages
        return self

    def events(self) -> AsyncIterator[Event]:
        return nothing()

    async def result(self) -> Any:
        return Message("assistant", "hollow")

    def transcript(self) -> Any:
        return self.given

    def usage(self) -> Any:
        return Usage()


async def nothing() -> AsyncIterator[Event]:
    nowhere: tuple[Event, ...] = ()
    for event in nowhere:
        yield event
