"""Each turn calls the next one with a new state; nothing that a run knows is ever changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import chain, takewhile

from looptck.contract import lesson4
from looptck.contract.lesson4 import Completion, FatalToolError, MessageDict, Stop, ToolCall, ToolResult, Usage

PER = 1000


@dataclass(frozen=True)
class Budget:
    max_steps: int = 6
    max_total_tokens: int | None = None
    max_cost: float | None = None
    repeat_limit: int = 2
    price_per_1k_input: float = 0.0
    price_per_1k_output: float = 0.0

    def cost_of(self, input_tokens: int, output_tokens: int) -> float:
        return (input_tokens * self.price_per_1k_input + output_tokens * self.price_per_1k_output) / PER

    def passed_by(self, spent: Usage) -> Stop | None:
        """The first ceiling that so many tokens pass."""
        cost = self.cost_of(spent.input_tokens, spent.output_tokens)
        spending = (
            (Stop.TOKEN_BUDGET, spent.total, self.max_total_tokens),
            (Stop.COST_BUDGET, cost, self.max_cost),
        )
        return next((stop for stop, done, limit in spending if limit is not None and done > limit), None)


@dataclass(frozen=True)
class Step:
    index: int
    completion: Completion
    results: tuple[ToolResult, ...] = ()

    @property
    def tool_results(self) -> list[ToolResult]:
        return list(self.results)

    @property
    def requested_names(self) -> list[str]:
        return [call.name for call in self.completion.tool_calls]

    @property
    def succeeded_names(self) -> list[str]:
        return [result.name for result in self.results if result.ok]

    @property
    def blocked_names(self) -> list[str]:
        return [result.name for result in self.results if not result.ok]


@dataclass(frozen=True)
class State:
    """What is known when a turn begins. The messages are those of the opening and of every step."""

    opening: tuple[MessageDict, ...]
    steps: tuple[Step, ...] = ()

    @property
    def messages(self) -> list[MessageDict]:
        return [dict(message) for message in chain(self.opening, *map(_said, self.steps))]

    @property
    def spent(self) -> Usage:
        return sum((step.completion.usage for step in self.steps), Usage())

    @property
    def asked(self) -> tuple[ToolCall, ...]:
        """The calls of all turns."""
        return tuple(chain.from_iterable(step.completion.tool_calls for step in self.steps))

    def with_last(self, step: Step) -> State:
        return replace(self, steps=(*self.steps[:-1], step))


def _said(step: Step) -> tuple[MessageDict, ...]:
    return step.completion.as_message(), *(result.as_message() for result in step.results)


@dataclass(frozen=True)
class Run:
    output: str
    stop: Stop
    steps: tuple[Step, ...]
    messages: list[MessageDict]
    input_tokens: int
    output_tokens: int
    cost: float

    @property
    def ok(self) -> bool:
        return self.stop is Stop.ANSWERED

    @property
    def step_count(self) -> int:
        return len(self.steps)

    def requested_tools(self) -> list[str]:
        return reduce(list.__add__, (step.requested_names for step in self.steps), [])

    def trajectory(self) -> list[str]:
        return reduce(list.__add__, (step.succeeded_names for step in self.steps), [])

    def blocked_tools(self) -> list[str]:
        return reduce(list.__add__, (step.blocked_names for step in self.steps), [])

    def used_tool(self, name: str) -> bool:
        return name in self.trajectory()

    def requested_tool(self, name: str) -> bool:
        return name in self.requested_tools()


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
        system = () if self.system is None else ({"role": "system", "content": self.system},)
        state = State((*system, *(history or ()), {"role": "user", "content": task}))
        budget = self.budget or Budget()
        if self.tracer is None:
            return self._turn(budget, state)
        with self.tracer.span(lesson4.RUN_SPAN) as span:
            run = self._turn(budget, state)
            span.set(stop=run.stop.value, steps=run.step_count)
            return run

    def _turn(self, budget: Budget, before: State) -> Run:
        """One turn, and through its last line all that follow."""
        if len(before.steps) >= budget.max_steps:
            output = f"Stopped: reached the {budget.max_steps}-step limit without an answer."
            return _over(budget, before, Stop.STEP_BUDGET, output)
        completion = self.model.complete(
            before.messages, tuple(self.registry.schemas()) or None, self.max_output_tokens, self.temperature
        )
        state = replace(before, steps=(*before.steps, Step(len(before.steps), completion)))
        if not completion.wants_tools:
            return _over(budget, state, Stop.ANSWERED, completion.text)
        if repeated := _repeated(before.asked, completion.tool_calls, budget.repeat_limit):
            name, times = repeated
            output = f"Stopped: repeated the same {name} call {times} times without progress."
            return _over(budget, state, Stop.REPEATED_CALL, output)
        try:
            state = reduce(self._dispatch, completion.tool_calls, state)
        except FatalInTurnError as fatal:
            return _over(budget, fatal.state, Stop.TOOL_FATAL, lesson4.OUTPUT_FATAL)
        if (ceiling := budget.passed_by(state.spent)) is not None:
            return _over(budget, state, ceiling, f"Stopped: {ceiling.value}.")
        return self._turn(budget, state)

    def _dispatch(self, state: State, call: ToolCall) -> State:
        step = state.steps[-1]
        try:
            result = self.registry.dispatch(call)
        except FatalToolError as error:
            raise FatalInTurnError(state) from error
        return state.with_last(replace(step, results=(*step.results, result)))


class FatalInTurnError(Exception):
    """A fatal tool error, with what was known when it came."""

    def __init__(self, state: State) -> None:
        super().__init__("fatal tool error")
        self.state = state


def _repeated(asked: Sequence[ToolCall], calls: Sequence[ToolCall], limit: int) -> tuple[str, int] | None:
    """The first call that is asked for too often, and how often it now was. Mappings do not know the order of keys."""

    def times(place: int) -> int:
        call = calls[place]
        return sum((call.name, call.arguments) == (c.name, c.arguments) for c in (*asked, *calls[: place + 1]))

    fine = len(list(takewhile(lambda place: times(place) <= limit, range(len(calls)))))
    return None if fine == len(calls) else (calls[fine].name, times(fine))


def _over(budget: Budget, state: State, stop: Stop, output: str) -> Run:
    spent = state.spent
    cost = budget.cost_of(spent.input_tokens, spent.output_tokens)
    return Run(output, stop, state.steps, state.messages, spent.input_tokens, spent.output_tokens, cost)
