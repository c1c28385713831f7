"""A scenario of the profile lesson4, as plain data: replies, outcomes of tools, the meter, and the runs to make."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from looptck.contract.lesson4 import Completion, ToolCall
from looptck.scenario import Data, Tokens

if TYPE_CHECKING:
    from collections.abc import Iterator


class Opaque:
    """A value that is no JSON and whose text is the same for equal ones: an argument such as a date."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"Opaque({self._text!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Opaque) and other._text == self._text

    def __hash__(self) -> int:
        return hash(self._text)


class Ask(Data):
    """A call that the model asks for, and what the registry makes of it.

    `opaque` names further arguments whose values are no JSON, by their text.
    """

    id: str
    name: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    opaque: dict[str, str] = Field(default_factory=dict)
    outcome: Literal["ok", "failed", "denied", "unknown", "fatal"] = "ok"
    answer: str = "ok"

    def call(self) -> ToolCall:
        """What the model writes."""
        return ToolCall(self.id, self.name, self.arguments | {k: Opaque(text) for k, text in self.opaque.items()})


class Reply(Data):
    """One reply of the model: text, calls and usage, or the text of an error that it raises."""

    text: str = ""
    asks: tuple[Ask, ...] = ()
    usage: Tokens = Tokens()
    error: str | None = None

    def completion(self) -> Completion:
        """The contract's form."""
        return Completion(self.text, tuple(ask.call() for ask in self.asks), self.usage.usage())


class Meter(Data):
    """The budget; what stays None is not passed to it."""

    max_steps: int | None = None
    max_total_tokens: int | None = None
    max_cost: float | None = None
    repeat_limit: int | None = None
    price_per_1k_input: float | None = None
    price_per_1k_output: float | None = None


class Task(Data):
    """One run of the agent."""

    task: str
    history: tuple[dict[str, Any], ...] | None = None
    replies: tuple[Reply, ...] = ()


class Scenario(Data):
    """A whole scenario; all runs are of one agent. What stays None is not passed to it."""

    name: str
    meter: Meter | None = None
    system: str | None = None
    max_output_tokens: int | None = None
    temperature: float | None = None
    tools: bool = True
    tracer: bool = False
    costs: tuple[tuple[int, int], ...] = ()
    """Token counts, input and output, that the budget is asked the cost of."""
    refusable: bool = False
    """Whether the loop may refuse to be built: its refusal is then an observation, not a failure of every check."""
    runs: tuple[Task, ...] = Field(min_length=1)

    def asks(self) -> Iterator[Ask]:
        """Every call of the scenario."""
        for run in self.runs:
            for reply in run.replies:
                yield from reply.asks

    def features(self) -> frozenset[str]:
        """What a loop must support for this scenario to mean anything to it."""
        found = {"budget": self.meter is not None, "tracer": self.tracer, "system": self.system is not None}
        return frozenset(name for name, needed in found.items() if needed)
