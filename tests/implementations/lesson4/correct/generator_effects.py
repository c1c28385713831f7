"""A generator decides and a driver acts: the loop yields what it wants done, and is sent what came of it.

The generator never calls the model or a tool. Errors of either are thrown into it where it waits for them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from looptck.contract import lesson4
from looptck.contract.lesson4 import Completion, MessageDict, Stop, ToolCall, ToolResult


class Budget(NamedTuple):
    max_steps: int = 10
    max_total_tokens: int | None = None
    max_cost: float | None = None
    repeat_limit: int = 3
    price_per_1k_input: float = 0.0
    price_per_1k_output: float = 0.0

    def cost_of(self, input_tokens: int, output_tokens: int) -> float:
        return input_tokens / 1000 * self.price_per_1k_input + output_tokens / 1000 * self.price_per_1k_output


@dataclass
class Step:
    index: int
    completion: Completion
    tool_results: list[ToolResult] = field(default_factory=list)

    @property
    def requested_names(self) -> list[str]:
        return [call.name for call in self.completion.tool_calls]

    @property
    def succeeded_names(self) -> list[str]:
        return [result.name for result in self.tool_results if result.ok]

    @property
    def blocked_names(self) -> list[str]:
        return [result.name for result in self.tool_results if not result.ok]


@dataclass
class Run:
    """The run while it goes on and when it is over: the loop fills it in."""

    messages: list[MessageDict]
    budget: Budget
    steps: list[Step] = field(default_factory=list)
    input_tokens: int = 0
    output_tokens: int = 0
    stop: Stop = Stop.STEP_BUDGET
    output: str = ""

    @property
    def cost(self) -> float:
        return self.budget.cost_of(self.input_tokens, self.output_tokens)

    @property
    def ok(self) -> bool:
        return self.stop == Stop.ANSWERED

    @property
    def step_count(self) -> int:
        return len(self.steps)

    def requested_tools(self) -> list[str]:
        return self._names("requested_names")

    def trajectory(self) -> list[str]:
        return self._names("succeeded_names")

    def blocked_tools(self) -> list[str]:
        return self._names("blocked_names")

    def used_tool(self, name: str) -> bool:
        return any(name in step.succeeded_names for step in self.steps)

    def requested_tool(self, name: str) -> bool:
        return any(name in step.requested_names for step in self.steps)

    def _names(self, kind: str) -> list[str]:
        names: list[str] = []
        for step in self.steps:
            names.extend(getattr(step, kind))
        return names


@dataclass
class Ask:
    """The loop wants a reply."""

    messages: list[MessageDict]


@dataclass
class Dispatch:
    """The loop wants a call to be run."""

    call: ToolCall


Ending: TypeAlias = tuple[Stop, str]


def decide(run: Run) -> Generator[Ask | Dispatch, Any, Ending]:
    """The whole loop. Its value is why the run ended and what is to be said of it."""
    times: Counter[str] = Counter()
    for index in range(run.budget.max_steps):
        completion: Completion = yield Ask(run.messages)
        step = Step(index, completion)
        run.steps.append(step)
        run.messages.append(completion.as_message())
        run.input_tokens += completion.usage.input_tokens
        run.output_tokens += completion.usage.output_tokens
        if not completion.wants_tools:
            return Stop.ANSWERED, completion.text
        for call in completion.tool_calls:
            key = json.dumps({"tool": call.name, "with": dict(call.arguments)}, sort_keys=True, default=repr)
            times[key] += 1
            if times[key] > run.budget.repeat_limit:
                said = f"Stopped: repeated the same {call.name} call {times[key]} times without progress."
                return Stop.REPEATED_CALL, said
        for call in completion.tool_calls:
            try:
                result: ToolResult = yield Dispatch(call)
            except lesson4.FatalToolError:
                return Stop.TOOL_FATAL, lesson4.OUTPUT_FATAL
            step.tool_results.append(result)
            run.messages.append(result.as_message())
        if spent := overspent(run):
            return spent, f"Stopped: the run went past its {'cost' if spent is Stop.COST_BUDGET else 'token'} ceiling."
    return Stop.STEP_BUDGET, f"Stopped: reached the {run.budget.max_steps}-step limit without an answer."


def overspent(run: Run) -> Stop | None:
    """Which ceiling the spending so far has passed."""
    tokens, cost = run.budget.max_total_tokens, run.budget.max_cost
    if tokens is not None and run.input_tokens + run.output_tokens > tokens:
        return Stop.TOKEN_BUDGET
    if cost is not None and run.cost > cost:
        return Stop.COST_BUDGET
    return None


class Agent:
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
        self._model, self._registry = model, registry
        self._budget = Budget() if budget is None else budget
        self._system, self._tracer = system, tracer
        self._options: dict[str, Any] = {"max_output_tokens": max_output_tokens, "temperature": temperature}

    def run(self, task: str, history: Sequence[MessageDict] | None = None) -> Run:
        run = Run([], self._budget)
        if self._system:
            run.messages.append({"role": "system", "content": self._system})
        run.messages.extend(history or [])
        run.messages.append({"role": "user", "content": task})
        with ExitStack() as stack:
            span = stack.enter_context(self._tracer.span("agent.run")) if self._tracer else None
            run.stop, run.output = self._drive(decide(run))
            if span is not None:
                span.set(stop=run.stop.value)
                span.set(steps=run.step_count)
        return run

    def _drive(self, loop: Generator[Ask | Dispatch, Any, Ending]) -> Ending:
        """Do what the loop wants until it wants nothing more."""
        go_on: Callable[[], Ask | Dispatch] = partial(next, loop)
        while True:
            try:
                wanted = go_on()
            except StopIteration as end:
                ending: Ending = end.value
                return ending
            try:
                go_on = partial(loop.send, self._perform(wanted))
            except Exception as error:  # noqa: BLE001 - the loop knows which of them it can live with
                go_on = partial(loop.throw, error)

    def _perform(self, wanted: Ask | Dispatch) -> Completion | ToolResult:
        if isinstance(wanted, Dispatch):
            return self._registry.dispatch(wanted.call)
        return self._model.complete(wanted.messages, tools=self._registry.schemas() or None, **self._options)
