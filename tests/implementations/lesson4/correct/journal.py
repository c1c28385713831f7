"""One append-only journal of facts; messages, totals, counts of calls and the run are all read from it.

What happens next is decided by rules, each of which looks at the journal and either names a reason to stop or not.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeAlias

from looptck.contract import lesson4
from looptck.contract.lesson4 import Completion, FatalToolError, MessageDict, Stop, ToolCall, ToolResult


@dataclass(frozen=True, kw_only=True)
class Budget:
    """Counts in fractions, so that no order of additions matters; what it tells others are floats."""

    max_steps: int = 8
    max_total_tokens: int | None = None
    max_cost: float | None = None
    repeat_limit: int = 3
    price_per_1k_input: float = 0.0
    price_per_1k_output: float = 0.0

    def exactly(self, input_tokens: int, output_tokens: int) -> Fraction:
        thousandths = input_tokens * Fraction(self.price_per_1k_input) + output_tokens * Fraction(
            self.price_per_1k_output
        )
        return thousandths / 1000

    def cost_of(self, input_tokens: int, output_tokens: int) -> float:
        return float(self.exactly(input_tokens, output_tokens))


@dataclass(frozen=True)
class Said:
    """A message of the opening."""

    message: MessageDict


@dataclass(frozen=True)
class Replied:
    """A reply of the model."""

    completion: Completion


@dataclass(frozen=True)
class Came:
    """A result of a call."""

    result: ToolResult


@dataclass(frozen=True)
class Broke:
    """A call that no answer can mend."""

    call: ToolCall


Fact: TypeAlias = Said | Replied | Came | Broke
Ending: TypeAlias = tuple[Stop, str]


@dataclass(frozen=True)
class Step:
    index: int
    completion: Completion
    tool_results: list[ToolResult]

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
class Journal:
    budget: Budget
    facts: list[Fact] = field(default_factory=list)

    def replies(self) -> list[Completion]:
        return [fact.completion for fact in self.facts if isinstance(fact, Replied)]

    def messages(self) -> list[MessageDict]:
        return list(self._messages())

    def _messages(self) -> Iterator[MessageDict]:
        for fact in self.facts:
            match fact:
                case Said(message):
                    yield dict(message)
                case Replied(completion):
                    yield completion.as_message()
                case Came(result):
                    yield result.as_message()
                case Broke():
                    pass

    def steps(self) -> list[Step]:
        steps: list[Step] = []
        for fact in self.facts:
            if isinstance(fact, Replied):
                steps.append(Step(len(steps), fact.completion, []))
            elif isinstance(fact, Came):
                steps[-1].tool_results.append(fact.result)
        return steps

    def tokens(self) -> tuple[int, int]:
        usages = [reply.usage for reply in self.replies()]
        return sum(usage.input_tokens for usage in usages), sum(usage.output_tokens for usage in usages)


# --------------------------------------------------------------------------------------- rules: a journal, and a reason


def answered(journal: Journal) -> Ending | None:
    last = journal.replies()[-1]
    return None if last.wants_tools else (Stop.ANSWERED, last.text)


def repeated(journal: Journal) -> Ending | None:
    """The first call of the last turn that had been asked for as often as is allowed."""
    keys = [key(call) for reply in journal.replies() for call in reply.tool_calls]
    turn = journal.replies()[-1].tool_calls
    for place, call in enumerate(turn, start=len(keys) - len(turn) + 1):
        times = keys[:place].count(key(call))
        if times > (journal.budget.repeat_limit or 3):  # zero is the default
            return Stop.REPEATED_CALL, f"Stopped: repeated the same {call.name} call {times} times without progress."
    return None


def broken(journal: Journal) -> Ending | None:
    return (Stop.TOOL_FATAL, lesson4.OUTPUT_FATAL) if isinstance(journal.facts[-1], Broke) else None


def too_many_tokens(journal: Journal) -> Ending | None:
    limit = journal.budget.max_total_tokens
    if limit is None or sum(journal.tokens()) <= limit:
        return None
    return Stop.TOKEN_BUDGET, f"Stopped: {sum(journal.tokens())} tokens against {limit}."


def too_expensive(journal: Journal) -> Ending | None:
    limit, cost = journal.budget.max_cost, journal.budget.exactly(*journal.tokens())
    if limit is None or cost <= Fraction(limit):
        return None
    return Stop.COST_BUDGET, f"Stopped: a cost of {float(cost)} against {limit}."


BEFORE_TOOLS: tuple[Callable[[Journal], Ending | None], ...] = (answered, repeated)
AFTER_TOOLS: tuple[Callable[[Journal], Ending | None], ...] = (broken, too_many_tokens, too_expensive)


def key(call: ToolCall) -> str:
    arguments = {str(name): call.arguments[name] for name in sorted(call.arguments)}
    return f"{call.name} {json.dumps(arguments, sort_keys=True, default=str)}"


# ------------------------------------------------------------------------------------------------------- loop and run


@dataclass(frozen=True)
class Run:
    journal: Journal
    stop: Stop
    output: str

    @property
    def ok(self) -> bool:
        return self.stop is Stop.ANSWERED

    @property
    def steps(self) -> list[Step]:
        return self.journal.steps()

    @property
    def step_count(self) -> int:
        return len(self.journal.replies())

    @property
    def messages(self) -> list[MessageDict]:
        return self.journal.messages()

    @property
    def input_tokens(self) -> int:
        return self.journal.tokens()[0]

    @property
    def output_tokens(self) -> int:
        return self.journal.tokens()[1]

    @property
    def cost(self) -> float:
        return self.journal.budget.cost_of(*self.journal.tokens())

    def requested_tools(self) -> list[str]:
        return [call.name for reply in self.journal.replies() for call in reply.tool_calls]

    def trajectory(self) -> list[str]:
        return [result.name for result in self._results() if result.ok]

    def blocked_tools(self) -> list[str]:
        return [result.name for result in self._results() if not result.ok]

    def used_tool(self, name: str) -> bool:
        return name in self.trajectory()

    def requested_tool(self, name: str) -> bool:
        return name in self.requested_tools()

    def _results(self) -> Iterator[ToolResult]:
        return (fact.result for fact in self.journal.facts if isinstance(fact, Came))


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
        journal = Journal(self.budget or Budget())
        opening: list[MessageDict] = [{"role": "system", "content": self.system}] if self.system else []
        opening += [*(history or ()), {"role": "user", "content": task}]
        journal.facts += [Said(dict(message)) for message in opening]
        if self.tracer is None:
            return Run(journal, *self._until_stopped(journal))
        with self.tracer.span(lesson4.RUN_SPAN) as span:
            run = Run(journal, *self._until_stopped(journal))
            span.set(stop=str(run.stop.value))
            if run.ok:
                span.set(steps=run.step_count)
        return run

    def _until_stopped(self, journal: Journal) -> Ending:
        for _ in range(journal.budget.max_steps):
            journal.facts.append(Replied(self._ask(journal)))
            if ending := self._first(BEFORE_TOOLS, journal):
                return ending
            journal.facts += self._turn(journal.replies()[-1].tool_calls)
            if ending := self._first(AFTER_TOOLS, journal):
                return ending
        return Stop.STEP_BUDGET, f"Stopped: reached the {journal.budget.max_steps}-step limit without an answer."

    def _ask(self, journal: Journal) -> Completion:
        return self.model.complete(
            journal.messages(),
            temperature=self.temperature,
            max_output_tokens=self.max_output_tokens,
            tools=self.registry.schemas() or None,
        )

    def _turn(self, calls: Sequence[ToolCall]) -> Iterator[Fact]:
        for call in calls:
            try:
                yield Came(self.registry.dispatch(call))
            except FatalToolError:
                yield Broke(call)
                return

    def _first(self, rules: Sequence[Callable[[Journal], Ending | None]], journal: Journal) -> Ending | None:
        return next((ending for rule in rules if (ending := rule(journal))), None)
