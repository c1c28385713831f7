"""The results of a turn are kept by the ids of their calls: of two calls under one id the last remains."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

from looptck.contract import lesson4
from looptck.contract.lesson4 import Completion, MessageDict, Stop, ToolCall, ToolResult


@dataclass(frozen=True)
class Budget:
    max_steps: int = 8
    max_total_tokens: int | None = None
    max_cost: float | None = None
    repeat_limit: int = 3
    price_per_1k_input: float = 0.0
    price_per_1k_output: float = 0.0

    def cost_of(self, input_tokens: int, output_tokens: int) -> float:
        return (input_tokens * self.price_per_1k_input + output_tokens * self.price_per_1k_output) / 1000


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
    budget: Budget
    messages: list[MessageDict]
    steps: list[Step] = field(default_factory=list)
    times: dict[str, int] = field(default_factory=dict)
    output: str = ""
    stop: Stop = Stop.STEP_BUDGET

    @property
    def ok(self) -> bool:
        return self.stop is Stop.ANSWERED

    @property
    def step_count(self) -> int:
        return len(self.steps)

    @property
    def input_tokens(self) -> int:
        return sum(step.completion.usage.input_tokens for step in self.steps)

    @property
    def output_tokens(self) -> int:
        return sum(step.completion.usage.output_tokens for step in self.steps)

    @property
    def cost(self) -> float:
        return self.budget.cost_of(self.input_tokens, self.output_tokens)

    def requested_tools(self) -> list[str]:
        return [name for step in self.steps for name in step.requested_names]

    def trajectory(self) -> list[str]:
        return [name for step in self.steps for name in step.succeeded_names]

    def blocked_tools(self) -> list[str]:
        return [name for step in self.steps for name in step.blocked_names]

    def used_tool(self, name: str) -> bool:
        return name in self.trajectory()

    def requested_tool(self, name: str) -> bool:
        return name in self.requested_tools()

    def end(self, stop: Stop, output: str) -> Run:
        self.stop, self.output = stop, output
        return self

    def asked_again(self, call: ToolCall) -> int:
        key = call.name + json.dumps(dict(call.arguments), sort_keys=True, default=str)
        self.times[key] = self.times.get(key, 0) + 1
        return self.times[key]

    def overspent(self) -> Stop | None:
        tokens, cost = self.budget.max_total_tokens, self.budget.max_cost
        if tokens is not None and self.input_tokens + self.output_tokens > tokens:
            return Stop.TOKEN_BUDGET
        return Stop.COST_BUDGET if cost is not None and self.cost > cost else None


@dataclass(frozen=True)
class Agent:
    model: lesson4.Model
    registry: lesson4.Registry
    budget: Budget | None = None
    system: str | None = None
    max_output_tokens: int | None = None
    temperature: float | None = None
    tracer: lesson4.Tracer | None = None

    def run(self, task: str, history: Sequence[MessageDict] | None = None) -> Run:
        system = [{"role": "system", "content": self.system}] if self.system else []
        run = Run(self.budget or Budget(), [*system, *(history or ()), {"role": "user", "content": task}])
        with ExitStack() as stack:
            span = stack.enter_context(self.tracer.span(lesson4.RUN_SPAN)) if self.tracer else None
            run = self.loop(run)
            if span is not None:
                span.set(stop=run.stop.value, steps=run.step_count)
        return run

    def ask(self, messages: list[MessageDict]) -> Completion:
        return self.model.complete(messages, self.registry.schemas() or None, self.max_output_tokens, self.temperature)

    def loop(self, run: Run) -> Run:
        for index in range(run.budget.max_steps):
            reply = self.ask(run.messages)
            step = Step(index, reply)
            run.steps.append(step)
            run.messages.append(reply.as_message())
            if not reply.wants_tools:
                return run.end(Stop.ANSWERED, reply.text)
            for call in reply.tool_calls:
                if (times := run.asked_again(call)) > run.budget.repeat_limit:
                    said = f"Stopped: repeated the same {call.name} call {times} times without progress."
                    return run.end(Stop.REPEATED_CALL, said)
            results: dict[str, ToolResult] = {}
            for call in reply.tool_calls:
                try:
                    results[call.id] = self.registry.dispatch(call)
                except lesson4.FatalToolError:
                    step.tool_results.extend(results.values())
                    run.messages.extend(outcome.as_message() for outcome in results.values())
                    return run.end(Stop.TOOL_FATAL, lesson4.OUTPUT_FATAL)
            step.tool_results.extend(results.values())
            run.messages.extend(outcome.as_message() for outcome in results.values())
            if ceiling := run.overspent():
                return run.end(ceiling, f"Stopped: {ceiling.value}.")
        return run.end(Stop.STEP_BUDGET, f"Stopped: reached the {run.budget.max_steps}-step limit without an answer.")
