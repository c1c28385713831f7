"""What a run of lesson4 has to be, predicted from its scenario alone: the lesson's loop and its meter as code.

It reads from the top: `_Run.loop` is "Walking Agent.run", and each method below it is one of the rules that the loop
asks on its way. Where the lesson is silent, `readings` is asked by the id of the requirement record that lists the
alternatives. It is given plain data and knows the contract alone: no loop, no fake, no observation.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from looptck.contract.lesson4 import (
    OUTPUT_FATAL,
    OUTPUT_REPEATED,
    OUTPUT_STEPS,
    MessageDict,
    Stop,
    ToolResult,
    Usage,
)
from looptck.lesson4.scenario import Meter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from looptck.lesson4.scenario import Ask, Reply, Scenario
    from looptck.oracle.readings import Readings

LEAST_DEFAULT_STEPS, MOST_DEFAULT_STEPS = 3, 99
"""Where the ceiling of steps lies that nobody set: the lesson itself makes a run of three steps without a meter."""
ROOM = 3000
"""Tokens for which there is room where no ceiling was set: "a few thousand"."""
ROUNDING = Fraction(1, 1_000_000)
"""How far each model call may move a cost away from the exact one: rounding to six decimal places is accepted."""
_written = json.JSONEncoder(sort_keys=True).encode


@dataclass(frozen=True, slots=True)
class Called:
    """A call of a step. One that was dispatched and has no result failed for good; any other without one never ran."""

    ask: Ask
    dispatched: bool
    result: ToolResult | None


@dataclass(slots=True)
class Made:
    """A step: the reply of the model, and what became of its calls."""

    reply: Reply
    calls: tuple[Called, ...] = ()


@dataclass(slots=True)
class Predicted:
    """A run: its messages before the first step, its steps, and how it ends.

    `stop` is None where the model raises, in the model call behind the last step. `output` is None where its wording is
    open. `doubtful` is the id of the record of good sense that the run rests on: in the turn in front of model call
    `doubtful_from`, and from there on.
    """

    opening: list[MessageDict]
    steps: list[Made] = field(default_factory=list)
    stop: Stop | None = None
    output: str | None = None
    spent: Usage = field(default_factory=Usage)
    cost: Fraction = Fraction()
    doubtful: str | None = None
    doubtful_from: int = 0

    def doubt(self, record: str) -> None:
        """From the turn that is being made on, the run rests on good sense alone."""
        if self.doubtful is None:
            self.doubtful, self.doubtful_from = record, len(self.steps)

    @property
    def asked(self) -> int:
        """Model calls: one for each step, and the one that fails."""
        return len(self.steps) + (self.stop is None)


def predict(scenario: Scenario, place: int, readings: Readings, default_steps: int) -> Predicted:
    """Run `place` of the scenario, under one way of reading what is open.

    `default_steps` is the ceiling of steps where nobody set one: any number in the range of the defaults.
    """
    return _Run(scenario, place, readings, default_steps).loop()


def unpredicted(scenario: Scenario) -> str | None:
    """Why a scenario cannot be predicted; None for one that can."""
    limits = (scenario.meter or Meter()).model_dump(exclude_none=True)
    if any(limit < 0 for limit in limits.values()):
        return "meter: what a ceiling or a price below zero means is not fixed"
    if zero_ceilings(scenario) and not scenario.refusable:
        return "meter: a ceiling of zero may be refused, so the scenario has to be refusable"
    return _ambiguous(scenario)


def _ambiguous(scenario: Scenario) -> str | None:
    """What nobody could tell apart: registries know a call by its id and name."""
    answers: dict[tuple[str, str], tuple[str, str]] = {}
    unknown = {ask.name for ask in scenario.asks() if ask.outcome == "unknown"}
    for ask in scenario.asks():
        if answers.setdefault((ask.id, ask.name), (ask.outcome, ask.answer)) != (ask.outcome, ask.answer):
            return f"call {ask.id}: it is asked for twice, and what becomes of it is not the same"
        if not ask.id:
            return f"a call of {ask.name}: it has no id"
        if ask.name in unknown and ask.outcome != "unknown":
            return f"tool {ask.name}: one call says that it is unknown, and another that it is not"
    return None


def zero_ceilings(scenario: Scenario) -> list[str]:
    """The ceilings that are set to zero: what that means is open, and the meter may refuse it."""
    limits = (scenario.meter or Meter()).model_dump(
        include={"max_steps", "max_total_tokens", "max_cost", "repeat_limit"}
    )
    return [name for name, limit in limits.items() if limit == 0]


def tools(scenario: Scenario) -> tuple[str, ...] | None:
    """The tools that every model call is given; None where there are none."""
    known = (ask.name for ask in scenario.asks() if ask.outcome != "unknown" and scenario.tools)
    return tuple(dict.fromkeys(known)) or None


def cost_of(meter: Meter | None, input_tokens: int, output_tokens: int) -> Fraction:
    """What so many tokens cost, at prices for a thousand of them that are zero where nobody set them."""
    prices = (meter.price_per_1k_input, meter.price_per_1k_output) if meter is not None else (None, None)
    pairs = zip((input_tokens, output_tokens), prices, strict=True)
    return sum((tokens * _for_one(price) for tokens, price in pairs if price), Fraction())


@lru_cache
def _for_one(price: float) -> Fraction:
    """The price of a single token, exactly as it is written for a thousand."""
    return Fraction(str(price)) / 1000


class _Run:
    """One run in the making."""

    def __init__(self, scenario: Scenario, place: int, readings: Readings, default_steps: int) -> None:
        self.scenario, self.readings = scenario, readings
        self.meter = scenario.meter or Meter()
        self.max_steps = default_steps if self.meter.max_steps is None else self.meter.max_steps
        self.task = scenario.runs[place]
        self.key = _same_call(scenario, readings)
        self.times: Counter[str] = Counter()
        self.predicted = Predicted(self._opening())
        if self.max_steps == 0:
            self.predicted.doubt("zero-steps")

    def _opening(self) -> list[MessageDict]:
        """The system prompt where there is one, then the history, then the task."""
        system, history = self.scenario.system, list(self.task.history or ())
        first = [{"role": "system", "content": system}] if system is not None else []
        leads = bool(history) and history[0].get("role") == "system"
        if first and (not system or leads):
            options = ([], first) if not system else (first, [])
            first = self.readings.of(f"system-prompt-edges {'leads' if leads else 'empty'}", *options)
        return [*first, *history, {"role": "user", "content": self.task.task}]

    # Walking Agent.run

    def loop(self) -> Predicted:
        """A step is a model call and what follows it; its reasons to stop come in this order."""
        made, script = self.predicted.steps, iter(self.task.replies)
        while not self._no_step_left():
            reply = next(script, None)
            if reply is None or reply.error is not None:
                return self.predicted
            made.append(Made(reply))
            spent = self.predicted.spent = self.predicted.spent + reply.usage.usage()
            self.predicted.cost = cost_of(self.meter, spent.input_tokens, spent.output_tokens)
            if not reply.asks:
                return self._ended(Stop.ANSWERED, reply.text)
            if (found := self._turn(made[-1])) is not None:
                return self._ended(*found)
            if (ceiling := self._overspent()) is not None and ceiling is not Stop.STEP_BUDGET:
                return self._ended(ceiling, None)
        return self._ended(Stop.STEP_BUDGET, OUTPUT_STEPS.format(steps=len(made)))

    def _ended(self, stop: Stop, output: str | None) -> Predicted:
        self.predicted.stop, self.predicted.output = stop, output
        return self.predicted

    def _no_step_left(self) -> bool:
        return len(self.predicted.steps) >= self.max_steps

    def _open(self, record: str) -> bool:
        """Whether something that is open is so."""
        return self.readings.of(record, "no", "yes") == "yes"

    # Loop detection, and the dispatch behind it

    def _turn(self, step: Made) -> tuple[Stop, str] | None:
        """Each call in order, until one passes the repeat limit or fails for good; why that ends the run, if it does.

        Whether calls in front of a repeated one run is open: the whole turn may be looked at first, or each by itself.
        """
        asks = step.reply.asks
        if len({ask.id for ask in asks}) < len(asks):
            self.predicted.doubt("duplicate-ids")
        repeated = self._repeated(asks)
        last = len(asks) if repeated is None else repeated[0]
        if repeated is not None and last > 0 and not self._open("repeat-before-dispatch, call by call"):
            last = 0
        fatal = next((at for at, ask in enumerate(asks[:last]) if self._outcome(ask) == "fatal"), None)
        ran = last if fatal is None else fatal
        step.calls = (
            *(Called(ask, dispatched=True, result=self._result(ask)) for ask in asks[:ran]),
            *(Called(ask, dispatched=at == fatal, result=None) for at, ask in enumerate(asks[ran:], start=ran)),
        )
        if fatal is not None:
            return Stop.TOOL_FATAL, OUTPUT_FATAL
        if repeated is None:
            return None
        place, times = repeated
        return Stop.REPEATED_CALL, OUTPUT_REPEATED.format(tool=asks[place].name, times=times)

    def _repeated(self, asks: tuple[Ask, ...]) -> tuple[int, int] | None:
        """The first call that is asked for too often in this run: its place in the turn, and how often it now was."""
        for place, ask in enumerate(asks):
            key = self.key(ask)
            self.times[key] += 1
            if self._too_often(times := self.times[key]):
                return place, times
        return None

    def _too_often(self, times: int) -> bool:
        limit = self.meter.repeat_limit
        if limit is None:
            return times > 1 and self._open(f"other-defaults repeat {times}")
        return self._passes_zero("repeat", times) if limit == 0 else times > limit

    def _outcome(self, ask: Ask) -> str:
        return ask.outcome if self.scenario.tools else "unknown"

    def _result(self, ask: Ask) -> ToolResult:
        """What the registry makes of a call: whatever is not well is told to the model all the same."""
        texts = {
            "ok": ask.answer,
            "denied": f"denied: {ask.answer}",
            "failed": f"error: {ask.answer}",
            "unknown": f"error: unknown tool {ask.name}",
        }
        outcome = self._outcome(ask)
        return ToolResult(ask.id, ask.name, texts[outcome], ok=outcome == "ok")

    # Token and cost ceilings, behind the tools

    def _overspent(self) -> Stop | None:
        """The ceiling that the spending so far has passed; which of several is told is open, that of steps among them.

        Whether a ceiling that is exactly met is hit is open as well.
        """
        spent, cost, meter = self.predicted.spent.total, self.predicted.cost, self.meter
        hit = []
        if self._hit("tokens", spent, meter.max_total_tokens, room=ROOM, near=0):
            hit.append(Stop.TOKEN_BUDGET)
        if self._hit("cost", cost, meter.max_cost, room=0, near=ROUNDING * len(self.predicted.steps)):
            hit.append(Stop.COST_BUDGET)
        if hit and self._no_step_left():
            hit.append(Stop.STEP_BUDGET)
        return self.readings.of(f"ceilings-together {' '.join(hit)}", *hit) if len(hit) > 1 else next(iter(hit), None)

    def _hit(self, name: str, spent: int | Fraction, ceiling: float | None, *, room: int, near: int | Fraction) -> bool:
        if ceiling is None:
            return spent > room and self._open(f"other-defaults {name} {spent}")
        limit = Fraction(str(ceiling))
        if limit == 0:
            return self._passes_zero(name, spent)
        if abs(spent - limit) <= near:
            return self._open(f"ceiling-met {name}")
        return spent > limit

    def _passes_zero(self, name: str, spent: int | Fraction) -> bool:
        """Whether something passes a ceiling of zero, which may be read as zero, as none, or as any other number.

        What grows ends the run where it first passes, so that the answers are those of one number.
        """
        options = ("yes", "no") if spent > 0 else ("no", "yes")
        return self.readings.of(f"limit-zero {name} {spent}", *options) == "yes"


# When two calls are the same


def _same_call(scenario: Scenario, readings: Readings) -> Callable[[Ask], str]:
    """The key of a call: name and arguments, without the order of keys.

    Whether `1`, `1.0` and `true` are one value, and whether a value that is no JSON is the same as its text, is nowhere
    said. Only where a scenario has two calls that differ in nothing else is the question asked.
    """
    asks = list(scenario.asks())
    numbers = ("apart", "as values", "and truths") if any(_has_numbers(ask.arguments) for ask in asks) else ("apart",)
    typed = (False, True) if any(ask.opaque for ask in asks) else (False,)
    keys = [(number, opaque) for number in numbers for opaque in typed]
    if len(keys) == 1 or len({tuple(_alike([_key(ask, *key) for ask in asks])) for key in keys}) == 1:
        return lambda ask: _key(ask, *keys[0])
    chosen = readings.of("repeat-equal-values", *keys)
    return lambda ask: _key(ask, *chosen)


def _has_numbers(value: Any) -> bool:
    """Whether a number that another type may equal is anywhere in a JSON value: a truth value, or a float."""
    if isinstance(value, dict):
        return any(map(_has_numbers, value.values()))
    return any(map(_has_numbers, value)) if isinstance(value, list) else isinstance(value, bool | float)


def _alike(keys: list[str]) -> Iterator[int]:
    """For each key the place where it is first."""
    first: dict[str, int] = {}
    return (first.setdefault(key, place) for place, key in enumerate(keys))


def _key(ask: Ask, numbers: str, typed: bool) -> str:  # noqa: FBT001 - one of a pair
    opaque = {name: {"opaque": text} if typed else text for name, text in ask.opaque.items()}
    arguments = {**ask.arguments, **opaque}
    return _written([ask.name, arguments if numbers == "apart" else _by_value(arguments, numbers)])


def _by_value(value: Any, numbers: str) -> Any:
    """A JSON value in which equal numbers look the same; truth values may be numbers too."""
    if isinstance(value, dict):
        return {name: _by_value(item, numbers) for name, item in value.items()}
    if isinstance(value, list):
        return [_by_value(item, numbers) for item in value]
    if isinstance(value, bool):
        return int(value) if numbers == "and truths" else value
    return int(value) if isinstance(value, float) and value.is_integer() else value
