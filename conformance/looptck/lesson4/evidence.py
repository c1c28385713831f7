"""The evidence of the profile lesson4: a scenario beside its observation. Every accessor is total."""

from __future__ import annotations

from typing import TYPE_CHECKING

from looptck.canonical import as_written
from looptck.contract.messages import Usage
from looptck.lesson4.observation import RunSeen
from looptck.lesson4.observe import call_line, message, written_line

if TYPE_CHECKING:
    from looptck.lesson4.observation import MessageSeen, Observation
    from looptck.lesson4.scenario import Ask, Reply, Scenario, Task

_NEVER = RunSeen(status="raised", requests=(), dispatched=(), raised="this run was never made")
DENIED, FAILED = "denied: ", "error: "


class Evidence:
    """A scenario beside its observation; runs are numbered from 0."""

    def __init__(self, scenario: Scenario, observation: Observation) -> None:
        self.scenario = scenario
        self.observation = observation

    def run(self, place: int = 0) -> RunSeen:
        """How a run went."""
        return self.observation.runs[place] if place < len(self.observation.runs) else _NEVER

    def task(self, place: int = 0) -> Task:
        """What the scenario asks for."""
        return self.scenario.runs[place]

    def reply(self, number: int, place: int = 0) -> Reply:
        """A reply of the script."""
        return self.task(place).replies[number]

    def ending(self, place: int = 0) -> str:
        """The stop reason, or the error that was raised."""
        seen = self.run(place)
        return seen.stop if seen.status == "returned" else seen.raised

    def opening(self, place: int = 0) -> list[str]:
        """The messages that a run starts from: system prompt, history, task."""
        task = self.task(place)
        first = [{"role": "system", "content": self.scenario.system}] if self.scenario.system else []
        said = [*first, *(task.history or ()), {"role": "user", "content": task.task}]
        return [line(message(item)) for item in said]

    def conversation(self, replies: int, place: int = 0) -> list[str]:
        """The opening and so many replies, each with the answers to its calls."""
        lines = self.opening(place)
        for reply in self.task(place).replies[:replies]:
            lines.append(line(message(reply.completion().as_message())))
            lines += [answer(ask) for ask in reply.asks]
        return lines

    def lines(self, messages: tuple[MessageSeen, ...]) -> list[str]:
        """Messages as lines."""
        return [line(item) for item in messages]

    def spent(self, replies: int, place: int = 0) -> Usage:
        """The usage of so many replies together."""
        return sum((reply.usage.usage() for reply in self.task(place).replies[:replies]), Usage())


def line(seen: MessageSeen) -> str:
    """A message as one line: its role with the id of the call that it answers, its text, the calls that it makes."""
    calls = "".join(f" + {call}" for call in seen.calls)
    return f"{seen.role}{f'({seen.tool_call_id})' if seen.tool_call_id else ''}: {seen.content!r}{calls}"


def answer(ask: Ask) -> str:
    """The tool message that answers a call, as the fake registry words it."""
    texts = {
        "denied": f"{DENIED}{ask.answer}",
        "failed": f"{FAILED}{ask.answer}",
        "unknown": f"error: unknown tool {ask.name}",
    }
    return f"tool({ask.id}): {texts.get(ask.outcome, ask.answer)!r}"


def dispatched(asks: tuple[Ask, ...] | list[Ask]) -> list[str]:
    """Calls as the registry was asked to run them."""
    return [call_line(ask.call()) for ask in asks]


def written(asks: tuple[Ask, ...]) -> list[str]:
    """The same to be shown, the arguments in the order in which the model writes them."""
    return [written_line(ask.call()) for ask in asks]


def calls_as_written(scenario: Scenario) -> dict[str, str]:
    """Lines of a scenario's calls with the keys in the order in which the model writes them, by those without."""
    asks = tuple(scenario.asks())
    return as_written(zip(dispatched(asks), written(asks), strict=True))
