"""What a run of lesson4 gave back beside what it had to: its end, steps, messages, totals and lists. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from looptck.contract.lesson4 import Stop
from looptck.lesson4.evidence import line
from looptck.lesson4.observation import MessageSeen
from looptck.lesson4.observe import asked_about, message
from looptck.oracle.asked import RUNS, WENT_ON
from looptck.oracle.difference import Difference
from looptck.oracle.fitting import Item, fit, needed
from looptck.oracle.lesson4 import ROUNDING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from fractions import Fraction

    from looptck.lesson4.observation import RunSeen
    from looptck.lesson4.scenario import Scenario
    from looptck.oracle.lesson4 import Called, Made, Predicted

_OUTPUTS = {
    Stop.ANSWERED: "answer-without-calls",
    Stop.STEP_BUDGET: "step-output",
    Stop.REPEATED_CALL: "repeat-output",
    Stop.TOOL_FATAL: "fatal-output",
}
_LISTS = {Stop.REPEATED_CALL: "repeat-lists", Stop.TOOL_FATAL: "fatal-lists"}
_TOLERANCE = 1e-9
"""A share by which floats of the same sum may differ."""


def near(expected: Fraction, seen: float, model_calls: int) -> bool:
    """Whether a cost is the expected one, but for rounding."""
    return abs(float(expected) - seen) <= float(ROUNDING) / 2 * max(model_calls, 1) + _TOLERANCE * float(expected)


class Returned:
    """One run, predicted and seen. A run that a failing model ended may have more than was predicted."""

    def __init__(self, scenario: Scenario, place: int, predicted: Predicted, seen: RunSeen) -> None:
        self.scenario, self.place, self.predicted, self.seen = scenario, place, predicted, seen
        self.stopped = predicted.stop is not Stop.ANSWERED
        self.more = predicted.stop is None

    def differences(self) -> Iterator[Difference]:
        """Every difference, each by itself; where the run ends in another way, or is no run, that alone."""
        alone = self._end()
        if alone is not None:
            yield alone
            return
        if self.seen.status == "returned":
            found = self._steps()
            yield from self._totals()
            yield from found or self._lists()
            if not self.seen.stop_is_text:
                yield self._found("stop-is-text", "the reason is a string", expected=True, seen=False)
            if not self.seen.kept:
                yield self._found("runs-share-nothing", "the run, when all runs were made", "as it was", "changed")
        if not self.seen.history_untouched:
            yield self._found("history-untouched", "the history that was passed in", "as it was", "changed")

    def _found(self, requirement: str, about: str, expected: Any, seen: Any) -> Difference:
        run = f"run {self.place + 1}, " if len(self.scenario.runs) > 1 else ""
        at = self.place * RUNS + self.predicted.asked + 1  # what was asked was as predicted to the end
        return Difference(requirement, f"{run}{about}", expected, seen, at).resting_on(self.predicted.doubtful)

    # how it ended

    def _end(self) -> Difference | None:
        seen, stop = self.seen, self.predicted.stop
        if seen.status == "raised":
            if stop is None:
                return None
            requirement = "run-returns" if stop not in {Stop.TOOL_FATAL, Stop.ANSWERED} else WENT_ON[stop]
            return self._found(requirement, "the end of the run", stop.value, seen.raised)
        if seen.problems:
            return self._found("interface", "what a run offers", [], list(seen.problems))
        return self._reason(stop)

    def _reason(self, stop: Stop | None) -> Difference | None:
        seen = self.seen
        if stop is None and (seen.stop == Stop.ANSWERED or seen.ok is not False):
            return self._found("model-error", "the end of the run", "no answer", seen.stop)
        if seen.stop not in {word.value for word in Stop}:
            return self._found("stop-named", "the reason", stop.value if stop else "a named one", seen.stop)
        if stop is not None and seen.stop != stop:
            return self._found(self._other_reason(stop), "the reason", stop.value, seen.stop)
        return None

    def _other_reason(self, stop: Stop) -> str:
        ceilings = {Stop.STEP_BUDGET.value, Stop.TOKEN_BUDGET.value, Stop.COST_BUDGET.value}
        if stop is Stop.ANSWERED and self.seen.stop in ceilings - {Stop.STEP_BUDGET.value}:
            return "answer-past-ceiling"
        if stop is Stop.REPEATED_CALL:
            return "stop-precedence" if self.seen.stop in ceilings else "repeated-call"
        return "stop-precedence" if self.seen.stop != Stop.ANSWERED and stop is not Stop.ANSWERED else WENT_ON[stop]

    def _totals(self) -> Iterator[Difference]:
        """What does not hang on steps: whether it is ok, its output, messages, tokens, cost."""
        predicted, seen = self.predicted, self.seen
        if seen.ok is not (predicted.stop is Stop.ANSWERED):
            yield self._found("ok-only-answered", "ok", predicted.stop is Stop.ANSWERED, seen.ok)
        if predicted.output is not None and predicted.stop is not None and seen.output != predicted.output:
            yield self._found(_OUTPUTS[predicted.stop], "output", predicted.output, seen.output)
        complete = "stopped-run-complete" if self.stopped else ""
        patterns = self._messages()
        if not any(fit(pattern, seen.messages, more=self.more) for pattern in patterns):
            expected, got = needed(patterns[0]), seen.messages
            lines = [[line(one) for one in side] for side in (expected, got)]
            yield self._found(complete or "messages-grow", "the run's messages", *lines)
        tokens = [predicted.spent.input_tokens, predicted.spent.output_tokens]
        if [seen.input_tokens, seen.output_tokens] != tokens:
            got_tokens = [seen.input_tokens, seen.output_tokens]
            yield self._found(complete or "totals-summed", "tokens, input and output", tokens, got_tokens)
        if not near(predicted.cost, seen.cost, predicted.asked):
            requirement = "run-cost" if predicted.cost else "prices-default-zero"
            yield self._found(requirement, "cost", float(predicted.cost), seen.cost)

    def _messages(self) -> tuple[list[Item], ...]:
        """The opening and every step; a turn that was refused for a repeated call may be missing."""
        pattern = [Item(message(said)) for said in self.predicted.opening]
        before = pattern
        for step in self.predicted.steps:
            before, pattern = pattern, [*pattern, Item(message(step.reply.completion().as_message()))]
            pattern += [_message(call) for call in step.calls]
        return (pattern, before) if self.predicted.stop is Stop.REPEATED_CALL else (pattern,)

    # steps and lists

    def _steps(self) -> list[Difference]:
        """The first difference in the steps: their number, then each of them."""
        steps, seen = self.predicted.steps, self.seen
        counted = [len(steps), len(steps)]
        got = [seen.step_count, len(seen.steps)]
        if got != counted and not (self.more and got in ([n, n] for n in (len(steps), len(steps) + 1))):
            return [self._found("steps-recorded", "step_count, and steps", counted, got)]
        for number, (step, one) in enumerate(zip(steps, seen.steps, strict=False)):
            last = number == len(steps) - 1
            lists = _LISTS.get(self.predicted.stop, "") if last and self.predicted.stop is not None else ""
            told = (
                ("steps-recorded", "index and text", [Item((number, step.reply.text))], [(one.index, one.text)]),
                ("steps-recorded", "results", [_result(call) for call in step.calls], one.results),
                (lists or "requested-tools", "requested names", _requested(step), one.requested),
                (lists or "trajectory", "succeeded names", _succeeded(step), one.succeeded),
                (lists or "blocked-tools", "blocked names", _blocked(step), one.blocked),
            )
            for requirement, what, pattern, side in told:
                if not fit(pattern, side):
                    return [self._found(requirement, f"step {number + 1}: {what}", needed(pattern), list(side))]
        return []

    def _lists(self) -> Iterator[Difference]:
        """The three lists of the run, and what it says of each tool."""
        steps, seen = self.predicted.steps, self.seen
        stop = _LISTS.get(self.predicted.stop, "") if self.predicted.stop is not None else ""
        requested = [item for step in steps for item in _requested(step)]
        succeeded = [item for step in steps for item in _succeeded(step)]
        blocked = [item for step in steps for item in _blocked(step)]
        for requirement, what, pattern, got in (
            ("requested-tools", "requested_tools()", requested, seen.requested),
            ("trajectory", "trajectory()", succeeded, seen.trajectory),
            ("blocked-tools", "blocked_tools()", blocked, seen.blocked),
        ):
            if not fit(pattern, got):
                yield self._found(stop or requirement, what, needed(pattern), list(got))
        names = asked_about(self.scenario)
        for requirement, what, items, told in (
            ("trajectory", "used_tool()", succeeded, seen.used_tool),
            ("requested-tools", "requested_tool()", requested, seen.requested_tool),
        ):
            there = set(needed(items))
            expected = {name: name in there for name in names}
            if told != expected:
                yield self._found(requirement, what, expected, told)


def _message(call: Called) -> Item:
    """The tool message of a call; of one without a result there may be one that says so."""
    if call.result is not None:
        return Item(message(call.result.as_message()))
    return Item(f"an answer to {call.ask.id}", needed=False, fits=lambda seen: _answers(seen, call))


def _answers(seen: Any, call: Called) -> bool:
    is_answer = isinstance(seen, MessageSeen) and seen.role == "tool" and not seen.calls
    return is_answer and seen.tool_call_id == call.ask.id


def _result(call: Called) -> Item:
    if call.result is not None:
        return Item(f"{call.result.tool_call_id} {call.result.ok} {call.result.content}")
    start = f"{call.ask.id} False "
    return Item(start, needed=False, fits=lambda seen: str(seen).startswith(start))


def _requested(step: Made) -> list[Item]:
    return [Item(ask.name) for ask in step.reply.asks]


def _succeeded(step: Made) -> list[Item]:
    return [Item(call.ask.name) for call in step.calls if call.result is not None and call.result.ok]


def _blocked(step: Made) -> list[Item]:
    """Calls whose result is not well; one that has none may count among them."""
    return [
        Item(call.ask.name, needed=call.result is not None)
        for call in step.calls
        if call.result is None or not call.result.ok
    ]


def stops(runs: Sequence[Predicted]) -> list[Item]:
    """The words that spans carry in `stop`, run by run; of a run whose model raised it is open."""
    return [
        Item(run.stop.value) if run.stop is not None else Item("", needed=False, fits=lambda _: True) for run in runs
    ]


def step_counts(runs: Sequence[Predicted]) -> list[Item]:
    """The numbers that spans carry in `steps`: an answered run has to tell them, any other may."""
    return [Item(len(run.steps), needed=run.stop is Stop.ANSWERED, fits=_any(run)) for run in runs]


def _any(run: Predicted) -> Any:
    return (lambda _: True) if run.stop is None else None
