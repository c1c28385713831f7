"""A metered loop in one file, against the contract alone: `looptck check … --profile lesson4` passes it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from looptck.contract import lesson4
from looptck.contract.lesson4 import Completion, FatalToolError, MessageDict, Stop, ToolCall, ToolResult


@dataclass(frozen=True)
class Budget:
    """The meter. Prices are per 1,000 tokens, and nobody knows them but who sets them."""

    max_steps: int = 8
    max_total_tokens: int | None = None
    max_cost: float | None = None
    repeat_limit: int = 3
    price_per_1k_input: float = 0.0
    price_per_1k_output: float = 0.0

    def cost_of(self, input_tokens: int, output_tokens: int) -> float:
        """What so many tokens cost."""
        return (input_tokens * self.price_per_1k_input + output_tokens * self.price_per_1k_output) / 1000


@dataclass
class Step:
    """One turn of the model, and what its tools did."""

    index: int
    completion: Completion
    tool_results: list[ToolResult] = field(default_factory=list)

    @property
    def requested_names(self) -> list[str]:
        """What the model asked for."""
        return [call.name for call in self.completion.tool_calls]

    @property
    def succeeded_names(self) -> list[str]:
        """What ran and came back well."""
        return [result.name for result in self.tool_results if result.ok]

    @property
    def blocked_names(self) -> list[str]:
        """What was asked for, and nothing happened."""
        return [result.name for result in self.tool_results if not result.ok]


@dataclass
class Run:
    """A run: it grows while the loop runs, and is handed out when `stop` is set. Look at `ok` before `output`."""

    budget: Budget
    messages: list[MessageDict]
    steps: list[Step] = field(default_factory=list)
    output: str = ""
    stop: Stop = Stop.STEP_BUDGET
    input_tokens: int = 0
    output_tokens: int = 0

    @property
    def ok(self) -> bool:
        """Whether the run was answered."""
        return self.stop is Stop.ANSWERED

    @property
    def step_count(self) -> int:
        """The number of steps."""
        return len(self.steps)

    @property
    def cost(self) -> float:
        """What its tokens cost."""
        return self.budget.cost_of(self.input_tokens, self.output_tokens)

    def requested_tools(self) -> list[str]:
        """What the model tried."""
        return [name for step in self.steps for name in step.requested_names]

    def trajectory(self) -> list[str]:
        """What happened."""
        return [name for step in self.steps for name in step.succeeded_names]

    def blocked_tools(self) -> list[str]:
        """What was tried and did not happen."""
        return [name for step in self.steps for name in step.blocked_names]

    def used_tool(self, name: str) -> bool:
        """Whether it happened."""
        return name in self.trajectory()

    def requested_tool(self, name: str) -> bool:
        """Whether the model tried."""
        return name in self.requested_tools()


@dataclass(frozen=True)
class Agent:
    """The loop. It keeps nothing of a run, so that one agent may have several."""

    model: lesson4.Model
    registry: lesson4.Registry
    budget: Budget | None = None
    system: str | None = None
    max_output_tokens: int | None = None
    temperature: float | None = None
    tracer: lesson4.Tracer | None = None

    def run(self, task: str, history: Sequence[MessageDict] | None = None) -> Run:
        """Run the loop on a task. A ceiling that is hit is a result, not an error."""
        system = [{"role": "system", "content": self.system}] if self.system else []
        run = Run(self.budget or Budget(), [*system, *(history or ()), {"role": "user", "content": task}])
        if self.tracer is None:
            run.stop, run.output = self._loop(run)
        else:
            with self.tracer.span(lesson4.RUN_SPAN) as span:
                run.stop, run.output = self._loop(run)
                span.set(stop=run.stop.value, steps=run.step_count)
        return run

    def _loop(self, run: Run) -> tuple[Stop, str]:
        """Every way out of it has a name."""
        asked: Counter[str] = Counter()
        for index in range(run.budget.max_steps):
            reply = self._ask(run.messages)
            run.messages.append(reply.as_message())
            run.steps.append(Step(index, reply))
            run.input_tokens += reply.usage.input_tokens
            run.output_tokens += reply.usage.output_tokens
            if not reply.wants_tools:
                return Stop.ANSWERED, reply.text
            for call in reply.tool_calls:  # the whole turn is looked at before any of it runs
                asked[same(call)] += 1
                if (times := asked[same(call)]) > run.budget.repeat_limit:
                    output = f"Stopped: repeated the same {call.name} call {times} times without progress."
                    return Stop.REPEATED_CALL, output
            try:
                self._dispatch(reply.tool_calls, run)
            except FatalToolError:
                return Stop.TOOL_FATAL, lesson4.OUTPUT_FATAL
            if (ceiling := overspent(run)) is not None:
                return ceiling, f"Stopped: {ceiling.value.replace('_', ' ')}."
        return Stop.STEP_BUDGET, f"Stopped: reached the {run.budget.max_steps}-step limit without an answer."

    def _ask(self, sent: list[MessageDict]) -> Completion:
        offered = self.registry.schemas()
        return self.model.complete(
            sent,
            temperature=self.temperature,
            max_output_tokens=self.max_output_tokens,
            tools=offered or None,  # no tools are none at all, not an empty list of them
        )

    def _dispatch(self, calls: Sequence[ToolCall], run: Run) -> None:
        """Run the calls of a turn. What came of those before a fatal error stays in the run."""
        for call in calls:
            outcome = self.registry.dispatch(call)
            run.steps[-1].tool_results.append(outcome)
            run.messages.append(outcome.as_message())


def same(call: ToolCall) -> str:
    """What two calls have in common that are the same call: the order of arguments means nothing."""
    return json.dumps([call.name, dict(call.arguments)], sort_keys=True, default=str)


def overspent(run: Run) -> Stop | None:
    """The ceiling that the spending so far has passed."""
    tokens, cost = run.budget.max_total_tokens, run.budget.max_cost
    if tokens is not None and run.input_tokens + run.output_tokens > tokens:
        return Stop.TOKEN_BUDGET
    if cost is not None and run.cost > cost:
        return Stop.COST_BUDGET
    return None
