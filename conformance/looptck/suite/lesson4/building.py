"""Builds the scenarios of the profile lesson4 from seeded values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from looptck.contract.lesson4 import Completion, ToolResult
from looptck.lesson4.scenario import Ask, Meter, Reply, Scenario, Task
from looptck.scenario import Tokens

if TYPE_CHECKING:
    from looptck.suite.labels import Labels

Outcome = Literal["ok", "failed", "denied", "unknown", "fatal"]
ROOMY = 50
"""A ceiling of steps, or a repeat limit, that no scenario comes near unless it means to."""


class Builder:
    """Makes calls, replies and runs whose values are drawn."""

    def __init__(self, labels: Labels) -> None:
        self.labels = labels

    def ask(
        self, outcome: Outcome = "ok", *, name: str = "", arguments: dict[str, Any] | None = None, opaque: str = ""
    ) -> Ask:
        """A call; the arguments are drawn where none are given, so that it equals no other."""
        labels = self.labels
        return Ask(
            id=labels.call_id(),
            name=name or labels.tool(),
            arguments={"q": labels.text()} if arguments is None else arguments,
            opaque={"when": opaque} if opaque else {},
            outcome=outcome,
            answer=f"{labels.text()} ",  # white space around it is part of a result
        )

    def turn(self, *asks: Ask, spent: tuple[int, int] = (0, 0), text: str = "") -> Reply:
        """A reply that asks for calls, one of its own where none are given, and may say something beside them."""
        return Reply(text=text, asks=asks or (self.ask(),), usage=Tokens(input=spent[0], output=spent[1]))

    def answer(self, spent: tuple[int, int] = (0, 0)) -> Reply:
        """A reply without calls."""
        return Reply(text=self.labels.text(), usage=Tokens(input=spent[0], output=spent[1]))

    def task(self, *replies: Reply, history: tuple[dict[str, Any], ...] | None = None) -> Task:
        """A run."""
        return Task(task=self.labels.text(), history=history, replies=replies)

    def history(self, ask: Ask) -> tuple[dict[str, Any], ...]:
        """What was said in an earlier run, which made a call and was answered."""
        labels = self.labels
        return (
            {"role": "user", "content": labels.text()},
            Completion(tool_calls=(ask.call(),)).as_message(),
            ToolResult(ask.id, ask.name, labels.text()).as_message(),
            {"role": "assistant", "content": labels.text()},
        )

    def scenario(self, name: str, *replies: Reply, meter: Meter | None = None, **more: Any) -> Scenario:
        """A scenario of one run; without a meter of its own it gets one that stops nothing."""
        return Scenario(name=name, meter=meter or metered(), runs=(self.task(*replies),), **more)

    def drawn_spending(self) -> tuple[int, int]:
        """Tokens of a reply, input and output, both of them some."""
        return self.labels.number(20, 90), self.labels.number(3, 19)


def metered(**limits: Any) -> Meter:
    """A meter with these limits, and room for everything else."""
    return Meter(**({"max_steps": ROOMY, "repeat_limit": ROOMY} | limits))
