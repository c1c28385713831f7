"""A metered agent loop, to be written: README.md says in which order, `looptck check` says how far it has come.

Each comment that asks something stands where loops go wrong. When the line below it is written, and the test that it
names passes, take the comment away. Everything that passes between the kit and a loop is in
`looptck.contract.lesson4`, which is here as `lesson4`: completions, calls, results, the reasons to stop, the texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from looptck.contract import lesson4
from looptck.contract.lesson4 import Completion, FatalToolError, MessageDict, Stop, ToolResult, Usage  # noqa: F401


@dataclass(frozen=True)
class Budget:
    """The meter: four ceilings, and the prices per 1,000 tokens that the last of them needs."""

    # What becomes of an agent that nobody gave a meter, and of a model that never answers it?
    max_steps: int = 8
    max_total_tokens: int | None = None
    max_cost: float | None = None
    repeat_limit: int = 3
    price_per_1k_input: float = 0.0
    price_per_1k_output: float = 0.0

    def cost_of(self, input_tokens: int, output_tokens: int) -> float:
        """What so many tokens cost."""
        # Two kinds of tokens, two prices. What does a run cost that nobody has set a price for?
        raise NotImplementedError("write Budget.cost_of (test_cost_ceiling_counts_both_prices)")


@dataclass
class Step:
    """One turn of the model, and what its tools did."""

    index: int
    completion: Completion
    tool_results: list[ToolResult] = field(default_factory=list)

    # The model asked for it, or it happened: which of the two does a tool that was denied belong to?

    @property
    def requested_names(self) -> list[str]:
        """What the model asked for."""
        raise NotImplementedError("write Step.requested_names (test_requested_is_not_executed)")

    @property
    def succeeded_names(self) -> list[str]:
        """What ran and came back well."""
        raise NotImplementedError("write Step.succeeded_names (test_requested_is_not_executed)")

    @property
    def blocked_names(self) -> list[str]:
        """What was asked for and denied, unknown or failed."""
        raise NotImplementedError("write Step.blocked_names (test_requested_is_not_executed)")


@dataclass
class Run:
    """A finished run. Look at `ok` before you use `output`."""

    output: str
    stop: Stop
    steps: list[Step]
    messages: list[MessageDict]
    input_tokens: int
    output_tokens: int
    cost: float

    @property
    def ok(self) -> bool:
        """Whether the run was answered."""
        return self.stop is Stop.ANSWERED

    @property
    def step_count(self) -> int:
        """The number of steps."""
        return len(self.steps)

    def requested_tools(self) -> list[str]:
        """What the model asked for in all steps."""
        return [name for step in self.steps for name in step.requested_names]

    def trajectory(self) -> list[str]:
        """What happened in all steps."""
        return [name for step in self.steps for name in step.succeeded_names]

    def blocked_tools(self) -> list[str]:
        """What was asked for in all steps and did not happen."""
        return [name for step in self.steps for name in step.blocked_names]

    def used_tool(self, name: str) -> bool:
        """Whether it happened."""
        # Tried, or happened? Your caller will act on the answer.
        raise NotImplementedError("write Run.used_tool (test_requested_is_not_executed)")

    def requested_tool(self, name: str) -> bool:
        """Whether the model tried."""
        raise NotImplementedError("write Run.requested_tool (test_requested_is_not_executed)")


class Agent:
    """The loop."""

    # One agent may make many runs. What would the second find here, if the first had left something?

    def __init__(
        self,
        model: lesson4.Model,
        registry: lesson4.Registry,
        budget: Budget | None = None,
        system: str | None = None,
        max_output_tokens: int | None = None,
        temperature: float | None = None,
        tracer: lesson4.Tracer | None = None,
    ) -> None:
        self.model, self.registry, self.budget = model, registry, budget or Budget()
        self.system, self.max_output_tokens, self.temperature = system, max_output_tokens, temperature
        self.tracer = tracer
        # An option that a loop takes and does not heed is worse than none. So each is refused until it is written:
        # take its two lines away when its test is the next one.
        if self.budget.max_total_tokens is not None:
            raise NotImplementedError("write `max_total_tokens` (test_token_ceiling_stops_after_the_tools_ran)")
        if self.budget.max_cost is not None:
            raise NotImplementedError("write `max_cost` (test_cost_ceiling_counts_both_prices)")
        if tracer is not None:
            raise NotImplementedError("write `tracer` in Agent.run (test_run_span_carries_stop)")

    def run(self, task: str, history: Sequence[MessageDict] | None = None) -> Run:
        """Run the loop on a task. It always returns: a ceiling that is hit is a result, not an error."""
        # What does the span say of a run that did not end with an answer?
        if history is not None:
            raise NotImplementedError("write `history` in Agent.run (test_context_regrows_every_iteration)")
        return self.loop([{"role": "user", "content": task}])

    def loop(self, messages: list[MessageDict]) -> Run:
        """Ask the model, dispatch its calls, and again. Each way out of here has a name in `Stop`."""
        # What does the model remember of the turn before, if you do not send it again?
        # No tools at all: is that the same to a model as an empty list of them?
        # Tokens, calls, steps of a run that was stopped: has the caller no right to know of them?
        # Whether the same call comes back and back: is it found before it runs again, or after? Is a call another one
        # because its arguments stand in another order? Does it have to come twice in a row?
        # Tokens and costs: a reply has been paid for already. Do its tools still run? Is an answer that took too much
        # no answer? And what if two ceilings are passed in one step?
        # The last step of all: do its calls still run, and is there one model call more after them?
        raise NotImplementedError("write Agent.loop first: ask until there is an answer (test_single_tool_then_answer)")

    def dispatch(self, step: Step, messages: list[MessageDict]) -> None:
        """Run the calls of a step, and append what came of them."""
        # Which of the results does the model need to read: those that went well? How does it tell them apart?
        # `FatalToolError` comes out of registry.dispatch(…): what has already run in this turn, and who says so?
        raise NotImplementedError("write Agent.dispatch: each call, and its message (test_single_tool_then_answer)")
