"""The reference loop of the profile lesson4: call, check, dispatch, append, repeat, stop. `Agent.run` is all of it."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from looptck.contract.lesson4 import OUTPUT_FATAL, RUN_SPAN, FatalToolError, Stop
from looptck_reference.meter import Budget, Meter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from looptck.contract.lesson4 import Completion, MessageDict, Model, Registry, Span, ToolResult, Tracer

__all__ = ["Agent", "Budget", "Run", "Step"]


@dataclass(slots=True)
class Step:
    """One turn of the model and what its tools did. Three lists, because they answer three questions."""

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
        """What was denied, invalid or failed."""
        return [result.name for result in self.tool_results if not result.ok]


@dataclass(frozen=True, slots=True)
class Run:
    """A finished run."""

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
        """What the model asked for, in all steps."""
        return [name for step in self.steps for name in step.requested_names]

    def trajectory(self) -> list[str]:
        """What happened, in all steps."""
        return [name for step in self.steps for name in step.succeeded_names]

    def blocked_tools(self) -> list[str]:
        """What was asked for and did not happen, in all steps."""
        return [name for step in self.steps for name in step.blocked_names]

    def used_tool(self, name: str) -> bool:
        """Whether the tool is in the trajectory."""
        return name in self.trajectory()

    def requested_tool(self, name: str) -> bool:
        """Whether the model asked for the tool."""
        return name in self.requested_tools()


class Agent:
    """The metered loop. Its arguments are those of `looptck.contract.lesson4.Agent`."""

    def __init__(
        self,
        model: Model,
        registry: Registry,
        budget: Budget | None = None,
        system: str | None = None,
        max_output_tokens: int | None = 1024,
        temperature: float | None = 0.0,
        tracer: Tracer | None = None,
    ) -> None:
        self.model = model
        self.registry = registry
        self.budget = budget if budget is not None else Budget()
        self.system = system
        self.max_output_tokens = max_output_tokens
        self.temperature = temperature
        self.tracer = tracer

    def run(self, task: str, history: Sequence[MessageDict] | None = None) -> Run:
        """Run the loop on a task. Returns whatever ceiling is hit; a model that raises is not caught."""
        with self._run_span() as span:
            run = self._loop(_opening(self.system, history, task), Meter(self.budget))
            if span is not None:
                span.set(**{"stop": run.stop.value} | ({"steps": run.step_count} if run.ok else {}))
            return run

    def _loop(self, messages: list[MessageDict], meter: Meter) -> Run:
        """The loop in full; its only bound is the range."""
        steps: list[Step] = []

        def finish(output: str, stop: Stop) -> Run:
            spent = meter.usage
            return Run(output, stop, steps, messages, spent.input_tokens, spent.output_tokens, meter.cost)

        for index in range(self.budget.max_steps):
            completion = self.model.complete(
                list(messages),
                tools=self.registry.schemas() or None,
                max_output_tokens=self.max_output_tokens,
                temperature=self.temperature,
            )
            step = Step(index, completion)
            steps.append(step)
            messages.append(completion.as_message())
            meter.usage += completion.usage
            if not completion.wants_tools:
                return finish(completion.text, Stop.ANSWERED)
            for call in completion.tool_calls:
                if times := meter.repeated(call):
                    return finish(
                        f"Stopped: repeated the same {call.name} call {times} times without progress.",
                        Stop.REPEATED_CALL,
                    )
            for call in completion.tool_calls:
                try:
                    result = self.registry.dispatch(call)
                except FatalToolError:
                    return finish(OUTPUT_FATAL, Stop.TOOL_FATAL)
                step.tool_results.append(result)
                messages.append(result.as_message())
            if (ceiling := meter.overspent()) is not None:
                return finish(f"Stopped: {ceiling.value.replace('_', ' ')}.", ceiling)
        return finish(f"Stopped: reached the {self.budget.max_steps}-step limit without an answer.", Stop.STEP_BUDGET)

    def _run_span(self) -> AbstractContextManager[Span | None]:
        return self.tracer.span(RUN_SPAN) if self.tracer is not None else nullcontext()


def _opening(system: str | None, history: Sequence[MessageDict] | None, task: str) -> list[MessageDict]:
    """The messages that a run starts from: the system prompt, the history, the task."""
    first: list[dict[str, Any]] = [{"role": "system", "content": system}] if system else []
    return [*first, *(history or ()), {"role": "user", "content": task}]
