"""How the kit drives a loop of the profile lesson4: build the agent, run it, and hand back what it gave."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from looptck.adapter import NoInterfaceError

if TYPE_CHECKING:
    from types import ModuleType

    from looptck.contract.lesson4 import MessageDict


@dataclass(frozen=True, slots=True)
class Agents:
    """How to make an agent: `options` are its keyword arguments, `budget` those of its meter (None: it gets none)."""

    options: Mapping[str, Any]
    budget: Mapping[str, Any] | None


class Adapter(Protocol):
    """Drives one kind of loop."""

    name: str
    version: str
    lacks: Mapping[str, str]

    def build(self, agents: Agents) -> Any:
        """The agent. Whatever it raises is the loop's."""
        ...

    def run(self, agent: Any, task: str, history: Sequence[MessageDict] | None) -> Any:
        """One run, as `looptck.contract.lesson4.Run`."""
        ...

    def cost(self, agents: Agents, input_tokens: int, output_tokens: int) -> float:
        """What the meter says that so many tokens cost."""
        ...


class ContractAdapter:
    """Drives a class that meets `looptck.contract.lesson4.Agent`, with the `Budget` that stands beside it."""

    lacks: Mapping[str, str] = {}

    def __init__(self, agent_class: Callable[..., Any], module: ModuleType) -> None:
        self.name = str(getattr(agent_class, "__qualname__", type(agent_class).__qualname__))
        self.version = str(getattr(agent_class, "__version__", ""))
        if not callable(getattr(agent_class, "run", None)):
            msg = f"{self.name} has no method run(task, history)"
            raise NoInterfaceError(msg)
        self._agent_class = agent_class
        self._budget_class = getattr(module, "Budget", None)

    def build(self, agents: Agents) -> Any:
        """The agent, with its own kind of meter."""
        options = dict(agents.options)
        if agents.budget is not None:
            options["budget"] = self._budget(agents.budget)
        return self._agent_class(**options)

    def run(self, agent: Any, task: str, history: Sequence[MessageDict] | None) -> Any:
        """One run; the history is passed only where there is one."""
        return agent.run(task) if history is None else agent.run(task, history)

    def cost(self, agents: Agents, input_tokens: int, output_tokens: int) -> float:
        """What the meter says."""
        return float(self._budget(agents.budget or {}).cost_of(input_tokens, output_tokens))

    def _budget(self, limits: Mapping[str, Any]) -> Any:
        if self._budget_class is None:
            msg = f"there is no Budget beside {self.name}"
            raise NoInterfaceError(msg)
        return self._budget_class(**limits)
