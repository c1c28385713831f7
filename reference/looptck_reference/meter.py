"""The meter of the lesson4 loop: four ceilings, what tokens cost, and when two calls are the same call."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from looptck.contract.lesson4 import Stop
from looptck.contract.messages import Usage

if TYPE_CHECKING:
    from looptck.contract.lesson4 import ToolCall

PRICED_TOKENS = 1000


@dataclass(frozen=True, slots=True)
class Budget:
    """Ceilings for one run; None means no ceiling. Prices are zero until somebody sets them: they change too often."""

    max_steps: int = 8
    max_total_tokens: int | None = None
    max_cost: float | None = None
    repeat_limit: int = 3
    price_per_1k_input: float = 0.0
    price_per_1k_output: float = 0.0

    def cost_of(self, input_tokens: int, output_tokens: int) -> float:
        """What so many tokens cost."""
        return (
            input_tokens * self.price_per_1k_input / PRICED_TOKENS
            + output_tokens * self.price_per_1k_output / PRICED_TOKENS
        )


@dataclass(slots=True)
class Meter:
    """What a run has spent so far, and how often it has seen each call."""

    budget: Budget
    usage: Usage = field(default_factory=Usage)
    seen: dict[str, int] = field(default_factory=dict)

    @property
    def cost(self) -> float:
        """What the tokens so far cost."""
        return self.budget.cost_of(self.usage.input_tokens, self.usage.output_tokens)

    def repeated(self, call: ToolCall) -> int:
        """Count the call; how often it has been asked for where that passes the repeat limit, else zero."""
        key = canonical(call)
        self.seen[key] = self.seen.get(key, 0) + 1
        return self.seen[key] if self.seen[key] > self.budget.repeat_limit else 0

    def overspent(self) -> Stop | None:
        """The ceiling that the spending so far has passed."""
        if self.budget.max_total_tokens is not None and self.usage.total > self.budget.max_total_tokens:
            return Stop.TOKEN_BUDGET
        if self.budget.max_cost is not None and self.cost > self.budget.max_cost:
            return Stop.COST_BUDGET
        return None


def canonical(call: ToolCall) -> str:
    """Name and arguments in one form: the order of keys means nothing, and what is no JSON goes by its text."""
    return json.dumps([call.name, dict(call.arguments)], sort_keys=True, default=str)
