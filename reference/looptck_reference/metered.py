"""The reference loop of the profile lesson4: a model is asked, its calls are run, and a meter watches both."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from looptck.contract.lesson4 import OUTPUT_FATAL, RUN_SPAN, FatalToolError, Stop
from looptck_reference.meter import Budget, Meter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from looptck.contract.lesson4 import Completion, MessageDict, Model, Registry, Span, ToolResult, Tracer

__all__ = ["Agent", "Budget", "Run", "Step"]

Ending: TypeAlias = tuple[Stop, str]
"""Why a run stops, and its output."""


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
        self._model = model
        self._registry = registry
        self._budget = budget if budget is not None else Budget()
        self._system = system
        self._output_limit = max_output_tokens
        self._temperature = temperature
        self._tracer = tracer

    def run(self, task: str, history: Sequence[MessageDict] | None = None) -> Run:
        """Run the loop on a task. Returns whatever ceiling is hit; a model that raises is not caught."""
        with self._run_span() as span:
            run = self._loop(_opening(self._system, history, task), Meter(self._budget))
            if span is not None:
                span.set(**{"stop": run.stop.value} | ({"steps": run.step_count} if run.ok else {}))
            return run

    def _loop(self, sent: list[MessageDict], meter: Meter) -> Run:
        """The loop; its only bound is the range, and each way out of it names its reason."""
        steps: list[Step] = []

        def ended(reason: Stop, output: str) -> Run:
            spent = meter.usage
            return Run(output, reason, steps, sent, spent.input_tokens, spent.output_tokens, meter.cost)

        for index in range(self._budget.max_steps):
            reply = self._ask(sent)
            sent.append(reply.as_message())
            steps.append(Step(index, reply))
            meter.usage += reply.usage
            if not reply.wants_tools:
                return ended(Stop.ANSWERED, reply.text)
            if (ending := self._turn(steps[-1], sent, meter)) is not None:
                return ended(*ending)
            if (ceiling := meter.overspent()) is not None:
                return ended(ceiling, f"Stopped: {ceiling.value.replace('_', ' ')}.")
        return ended(Stop.STEP_BUDGET, f"Stopped: reached the {self._budget.max_steps}-step limit without an answer.")

    def _ask(self, sent: list[MessageDict]) -> Completion:
        """The model's next reply. Nothing to offer goes out as None: an empty list would say something else."""
        offered = self._registry.schemas()
        return self._model.complete(
            list(sent),
            tools=offered or None,
            max_output_tokens=self._output_limit,
            temperature=self._temperature,
        )

    def _turn(self, step: Step, sent: list[MessageDict], meter: Meter) -> Ending | None:
        """The calls of a step: all are looked at before any of them runs. What ended the run there, None if nothing."""
        calls = step.completion.tool_calls
        for call in calls:
            if times := meter.repeated(call):
                output = f"Stopped: repeated the same {call.name} call {times} times without progress."
                return Stop.REPEATED_CALL, output
        for call in calls:
            try:
                outcome = self._registry.dispatch(call)
            except FatalToolError:
                return Stop.TOOL_FATAL, OUTPUT_FATAL
            sent.append(outcome.as_message())
            step.tool_results.append(outcome)
        return None

    def _run_span(self) -> AbstractContextManager[Span | None]:
        return self._tracer.span(RUN_SPAN) if self._tracer is not None else nullcontext()


def _opening(system: str | None, history: Sequence[MessageDict] | None, task: str) -> list[MessageDict]:
    """The messages that a run starts from: the system prompt, the history, the task."""
    first: list[dict[str, Any]] = [{"role": "system", "content": system}] if system else []
    return [*first, *(history or ()), {"role": "user", "content": task}]
