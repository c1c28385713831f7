"""Other readings: wherever the lesson is silent and the reference had to choose, this loop chose otherwise.

* Calls are looked at one by one, so those before the repeated one of their turn have run.
* The cost ceiling is named before the token ceiling; in the last step the step ceiling is named before both.
* Spending exactly at a ceiling stops the run. A ceiling of zero steps is refused when the meter is made.
* A ceiling of zero tokens, and one of zero costs, is the default; a repeat limit below one is one.
* The call that failed for good, those behind it and a repeated one are blocked, and have messages that say so.
* A model that raises ends the run: it is out of progress, and has the steps, tokens and messages from before.
* Outputs that the lesson does not give are worded otherwise, and costs are added up call by call.
* The model reads the one list that grows. Its messages are of the shape that chat completions have.
* Without tools the argument is left out, and so is every option that was not given. Schemas are read once,
  and go out in an order of their own.
* The reasons are an enum of its own, the span has a name of its own, with steps on every run and spans inside it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from enum import Enum
from typing import Any

from looptck.contract import lesson4
from looptck.contract.lesson4 import Completion, MessageDict, ToolCall, ToolResult


class Stop(str, Enum):  # noqa: UP042 - one of the two ways to write it
    ANSWERED = "answered"
    STEP_BUDGET = "step_budget_exhausted"
    TOKEN_BUDGET = "token_budget_exhausted"  # noqa: S105 - tokens of a model
    COST_BUDGET = "cost_budget_exhausted"
    REPEATED_CALL = "repeated_identical_call"
    TOOL_FATAL = "fatal_tool_error"
    NO_PROGRESS = "no_progress"


class Budget:
    def __init__(
        self,
        max_steps: int = 5,
        max_total_tokens: int | None = 100_000,
        max_cost: float | None = 5.0,
        repeat_limit: int = 1,
        price_per_1k_input: float = 0.0,
        price_per_1k_output: float = 0.0,
    ) -> None:
        if max_steps < 1:
            msg = f"max_steps must be at least 1, not {max_steps}"
            raise ValueError(msg)
        self.max_steps = max_steps
        self.max_total_tokens, self.max_cost = max_total_tokens or 100_000, max_cost or 5.0
        self.repeat_limit = max(1, repeat_limit)
        self.price_per_1k_input, self.price_per_1k_output = price_per_1k_input, price_per_1k_output

    def cost_of(self, input_tokens: int, output_tokens: int) -> float:
        return 0.001 * input_tokens * self.price_per_1k_input + 0.001 * output_tokens * self.price_per_1k_output


class Step:
    def __init__(self, index: int, completion: Completion) -> None:
        self.index = index
        self.completion = completion
        self.tool_results: list[ToolResult] = []

    @property
    def requested_names(self) -> tuple[str, ...]:
        return tuple(call.name for call in self.completion.tool_calls)

    @property
    def succeeded_names(self) -> tuple[str, ...]:
        return tuple(result.name for result in self.tool_results if result.ok)

    @property
    def blocked_names(self) -> tuple[str, ...]:
        return tuple(result.name for result in self.tool_results if not result.ok)


class Run:
    """One run. It is its own loop; `go` is called once."""

    def __init__(self, agent: Agent, messages: list[MessageDict]) -> None:
        self._agent, self._budget = agent, agent.budget
        self._times: dict[tuple[str, str], int] = {}
        self.messages = messages
        self.steps: list[Step] = []
        self.input_tokens = self.output_tokens = 0
        self.cost = 0.0
        self.stop, self.output = Stop.NO_PROGRESS, ""

    @property
    def ok(self) -> bool:
        return self.stop is Stop.ANSWERED

    @property
    def step_count(self) -> int:
        return len(self.steps)

    def requested_tools(self) -> tuple[str, ...]:
        return tuple(name for step in self.steps for name in step.requested_names)

    def trajectory(self) -> tuple[str, ...]:
        return tuple(name for step in self.steps for name in step.succeeded_names)

    def blocked_tools(self) -> tuple[str, ...]:
        return tuple(name for step in self.steps for name in step.blocked_names)

    def used_tool(self, name: str) -> bool:
        return name in self.trajectory()

    def requested_tool(self, name: str) -> bool:
        return name in self.requested_tools()

    def go(self) -> None:
        """Step after step, until one of them ends the run."""
        while len(self.steps) < self._budget.max_steps:
            if self._step():
                return
            if len(self.steps) < self._budget.max_steps and self._spent_up():
                return
        self._end(Stop.STEP_BUDGET, f"Stopped: reached the {self._budget.max_steps}-step limit without an answer.")

    def _step(self) -> bool:
        """One step; whether it ended the run."""
        try:
            with self._agent.span("model call"):
                completion = self._agent.ask(self.messages)
        except Exception as error:  # noqa: BLE001 - whatever the model's client raises
            return self._end(Stop.NO_PROGRESS, f"Stopped: no reply ({error}).")
        step = Step(len(self.steps), completion)
        self.steps.append(step)
        self.messages.append(_proposal(completion))
        used = completion.usage
        self.input_tokens += used.input_tokens
        self.output_tokens += used.output_tokens
        self.cost += self._budget.cost_of(used.input_tokens, used.output_tokens)
        if not completion.wants_tools:
            return self._end(Stop.ANSWERED, completion.text)
        return self._act(step)

    def _act(self, step: Step) -> bool:
        """The calls of a step, each looked at just before it runs; whether one of them ended the run."""
        calls = step.completion.tool_calls
        for place, call in enumerate(calls):
            times = self._count(call)
            if times > self._budget.repeat_limit:
                self._refuse(step, calls[place:], "not run: the same again")
                return self._end(
                    Stop.REPEATED_CALL, f"Stopped: repeated the same {call.name} call {times} times without progress."
                )
            try:
                with self._agent.span(call.name):
                    result = self._agent.registry.dispatch(call)
            except lesson4.FatalToolError as error:
                self._refuse(step, calls[place:], f"gave up: {error}")
                return self._end(Stop.TOOL_FATAL, "Stopped: the run hit an unrecoverable tool error.")
            self._came(step, result)
        return False

    def _count(self, call: ToolCall) -> int:
        key = call.name, json.dumps(dict(call.arguments), sort_keys=True, default=str)
        self._times[key] = self._times.get(key, 0) + 1
        return self._times[key]

    def _refuse(self, step: Step, calls: Sequence[ToolCall], why: str) -> None:
        for call in calls:
            self._came(step, ToolResult(call.id, call.name, why, ok=False))

    def _came(self, step: Step, result: ToolResult) -> None:
        step.tool_results.append(result)
        self.messages.append({"role": "tool", "tool_call_id": result.tool_call_id, "content": result.content})

    def _spent_up(self) -> bool:
        """Whether nothing is left to spend."""
        if self.cost >= self._budget.max_cost:
            return self._end(Stop.COST_BUDGET, f"Nothing is left of {self._budget.max_cost}.")
        tokens = self.input_tokens + self.output_tokens
        if tokens >= self._budget.max_total_tokens:
            return self._end(Stop.TOKEN_BUDGET, f"That were {tokens} tokens.")
        return False

    def _end(self, stop: Stop, output: str) -> bool:
        self.stop, self.output = stop, output
        return True


def _proposal(completion: Completion) -> MessageDict:
    calls = [
        {
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": json.dumps(dict(call.arguments), default=str)},
        }
        for call in completion.tool_calls
    ]
    return {"role": "assistant", "content": completion.text or None} | ({"tool_calls": calls} if calls else {})


def _unseen(name: str) -> AbstractContextManager[None]:  # noqa: ARG001 - in the place of a tracer
    return nullcontext()


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
        self.registry = registry
        self.budget = budget or Budget()
        self.span: Callable[[str], AbstractContextManager[Any]] = tracer.span if tracer else _unseen
        self._complete = model.complete
        self._system = system
        given = {
            "tools": tuple(sorted(registry.schemas(), key=lambda schema: str(schema["name"]), reverse=True)) or None,
            "max_output_tokens": max_output_tokens,
            "temperature": temperature,
        }
        self._options: dict[str, Any] = {name: value for name, value in given.items() if value is not None}

    def ask(self, messages: list[MessageDict]) -> Completion:
        return self._complete(messages, **self._options)

    def run(self, task: str, history: Sequence[MessageDict] | None = None) -> Run:
        messages: list[MessageDict] = [dict(message) for message in history or ()]
        if self._system:
            messages.insert(0, {"role": "system", "content": self._system})
        run = Run(self, [*messages, {"role": "user", "content": task}])
        with self.span("lesson") as span:
            run.go()
            if span is not None:
                span.set(stop=run.stop.value, steps=run.step_count, tokens=run.input_tokens + run.output_tokens)
        return run
