"""What model and registry were asked in a run of lesson4 beside the predicted steps, in the order of what happened.

Pure. Where a run goes on or ends against the prediction, how it ended tells which rule it breaks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from looptck.contract.lesson4 import Stop
from looptck.lesson4.evidence import line
from looptck.lesson4.observe import call_line, message
from looptck.oracle.difference import Difference
from looptck.oracle.lesson4 import LEAST_DEFAULT_STEPS, tools
from looptck.report.text import how_many

if TYPE_CHECKING:
    from collections.abc import Sequence

    from looptck.lesson4.observation import MessageSeen, RequestSeen, RunSeen
    from looptck.lesson4.scenario import Ask, Scenario
    from looptck.oracle.lesson4 import Made, Predicted

RUNS = 1000
"""Steps by which `Difference.at` counts a whole run."""
WENT_ON = {
    Stop.ANSWERED: "answer-without-calls",
    Stop.STEP_BUDGET: "step-ceiling",
    Stop.TOKEN_BUDGET: "token-ceiling",
    Stop.COST_BUDGET: "cost-ceiling",
    Stop.TOOL_FATAL: "fatal-ends-run",
    None: "model-error",
}
"""By what ends a run: the requirement that is broken where it goes on."""


class Asked:
    """One run, predicted and seen."""

    def __init__(self, scenario: Scenario, place: int, predicted: Predicted, seen: RunSeen) -> None:
        self.scenario, self.place, self.predicted, self.seen = scenario, place, predicted, seen
        self.tools = tools(scenario)
        self.lines = [message(said) for said in predicted.opening]
        self.dispatched = list(seen.dispatched)

    def difference(self) -> Difference | None:
        """The first difference."""
        for number in range(self.predicted.asked):
            if number >= len(self.seen.requests):
                return self._found(number, self._short(number), "asks the model", [], self._ended())
            found = self._request(number, self.seen.requests[number])
            if found is None and number < len(self.predicted.steps):
                found = self._dispatched(number, self.predicted.steps[number])
            if found is not None:
                return found
        return self._behind()

    def _found(
        self, number: int, requirement: str, about: str, expected: Any, seen: Any, *, behind: bool = False
    ) -> Difference:
        """A difference in model call `number`, or `behind` it in its turn."""
        run = f"run {self.place + 1}, " if len(self.scenario.runs) > 1 else ""
        about, at = f"{run}step {number + 1}: {about}", self.place * RUNS + number
        doubtful = self.predicted.doubtful if number + behind >= self.predicted.doubtful_from else None
        return Difference(requirement, about, expected, seen, at).resting_on(doubtful)

    def _ended(self) -> str:
        return self.seen.stop if self.seen.status == "returned" else self.seen.raised

    # a model call

    def _request(self, number: int, request: RequestSeen) -> Difference | None:
        expected, got = self.lines, list(request.messages)
        if got != expected:
            requirement = self._wrongly_sent(number, got)
            return self._found(number, requirement, "messages", *_told(expected, got))
        if not _offered(self.tools, request.tools):
            requirement = "none-for-no-tools" if self.tools is None else "tools-every-call"
            return self._found(number, requirement, "tools", self.tools, request.tools)
        for name in ("max_output_tokens", "temperature"):
            given, sent = getattr(self.scenario, name), getattr(request, name)
            if given is not None and sent != given:
                return self._found(number, "options-every-call", name, given, sent)
        return None

    def _wrongly_sent(self, number: int, got: Sequence[MessageSeen]) -> str:
        pairs = zip(self.lines, got, strict=False)
        first = next(
            (place for place, (one, other) in enumerate(pairs) if one != other), min(len(got), len(self.lines))
        )
        if first < len(self.predicted.opening) or number == 0:
            return "runs-share-nothing" if self.place and len(got) > len(self.lines) else "history-between"
        missing = first < len(self.lines) and self.lines[first].role == "tool"
        return "results-appended" if missing else "messages-grow"

    # what follows it

    def _dispatched(self, number: int, step: Made) -> Difference | None:
        """The calls of a step; what is dispatched behind the last one belongs to it unless the model is asked again."""
        expected = [call_line(call.ask.call()) for call in step.calls if call.dispatched]
        last = number == len(self.predicted.steps) - 1
        goes_on = len(self.seen.requests) > number + 1 and self.dispatched[: len(expected)] == expected
        got = self.dispatched if last and not goes_on else self.dispatched[: len(expected)]
        self.dispatched = self.dispatched[len(got) :]
        if got != expected:
            cut_off = len(self.seen.requests) == number + 1 and got == expected[: len(got)]
            requirement = self._wrongly_ran(number, too_few=cut_off)
            return self._found(number, requirement, "dispatched calls", expected, got, behind=True)
        self.lines.append(message(step.reply.completion().as_message()))
        self.lines += [message(call.result.as_message()) for call in step.calls if call.result is not None]
        return None

    def _wrongly_ran(self, number: int, *, too_few: bool) -> str:
        stop, last = self.predicted.stop, number == len(self.predicted.steps) - 1
        if last and stop is Stop.REPEATED_CALL:
            return "repeat-before-dispatch" if self.seen.stop == stop else self._repeat_missed()
        if last and stop is Stop.TOOL_FATAL:
            return WENT_ON[stop]
        if not too_few:
            return "calls-dispatched"
        if last and stop in {Stop.TOKEN_BUDGET, Stop.COST_BUDGET} and self.seen.stop == stop:
            return "ceilings-after-tools"
        return "step-ceiling" if last and self.seen.stop == stop else self._short(number + 1)

    def _behind(self) -> Difference | None:
        """Nothing is asked any more; a model call that failed may be made again as long as each of them fails."""
        asked = self.predicted.asked
        more = self.seen.requests[asked:]
        if self.predicted.stop is None and all(self._failing_again(asked + n, one) for n, one in enumerate(more)):
            more = ()
        if not more and not self.dispatched:
            return None
        stop = self.predicted.stop
        requirement = self._repeat_missed() if stop is Stop.REPEATED_CALL else WENT_ON[stop]
        if stop is Stop.STEP_BUDGET and (self.scenario.meter is None or self.scenario.meter.max_steps is None):
            requirement = "step-default"
        got = [how_many(len(more), "model call"), *self.dispatched] if more else self.dispatched
        return self._found(asked, requirement, "behind the end of the run", [], got)

    def _failing_again(self, number: int, request: RequestSeen) -> bool:
        replies = self.scenario.runs[self.place].replies
        fails = number >= len(replies) or replies[number].error is not None
        return fails and request == self.seen.requests[self.predicted.asked - 1]

    # which rule it breaks

    def _short(self, number: int) -> str:
        """The requirement that is broken where a run ends before model call `number`, or in the step in front of it."""
        before = self.predicted.steps[number - 1].calls if number else ()
        if self.seen.status == "raised":
            if any(call.ask.opaque for call in before):
                return "repeat-no-json"
            if any(call.result is not None and not call.result.ok for call in before):
                return "failures-go-on"
            return "run-returns"
        return self._stopped_short(number, [call.ask for call in before])

    def _stopped_short(self, number: int, before: list[Ask]) -> str:
        meter, stop = self.scenario.meter, self.seen.stop
        ceilings = {Stop.STEP_BUDGET, Stop.TOKEN_BUDGET, Stop.COST_BUDGET, Stop.REPEATED_CALL}
        if self.place and stop in ceilings:
            return "runs-share-nothing"
        if stop == Stop.STEP_BUDGET:
            unset = meter is None or meter.max_steps is None
            return "step-default" if unset and number <= LEAST_DEFAULT_STEPS else "step-ceiling"
        if stop == Stop.COST_BUDGET:
            priced = meter is not None and (meter.price_per_1k_input or meter.price_per_1k_output)
            return "cost-ceiling" if priced else "prices-default-zero"
        if stop == Stop.REPEATED_CALL:
            if _again(self.predicted.steps[: max(number - 1, 0)], before):
                return "repeated-call"
            return "runs-share-nothing" if self._before_the_run(before) else "repeat-identity"
        known = {
            Stop.ANSWERED: "answer-without-calls",
            Stop.TOKEN_BUDGET: "token-ceiling",
            Stop.TOOL_FATAL: "failures-go-on",
            Stop.NO_PROGRESS: "no-progress",
        }
        return known.get(stop, "stop-named")  # type: ignore[call-overload, no-any-return]

    def _before_the_run(self, asks: list[Ask]) -> bool:
        """Whether a call stands in the history, which is of an earlier run."""
        history = self.scenario.runs[self.place].history or ()
        calls = [call for said in history for call in said.get("tool_calls") or ()]
        known = [(call.get("name"), call.get("arguments")) for call in calls if isinstance(call, dict)]
        return any((ask.name, ask.arguments | ask.opaque) in known for ask in asks)

    def _repeat_missed(self) -> str:
        """The requirement that is broken where a repeated call is not found: how it differs from those before."""
        asks = [call.ask for step in self.predicted.steps for call in step.calls]
        last = self.predicted.steps[-1].reply.asks
        alike = [ask for ask in asks if any(_same(ask, other) for other in last)]
        if any(ask.opaque for ask in alike):
            return "repeat-no-json"
        if len({str(ask.arguments) for ask in alike}) > 1:
            return "repeat-canonical"
        return "repeated-call" if len(alike) == len(asks) else "repeat-whole-run"


def _offered(tools: Sequence[str] | None, sent: Sequence[str] | None) -> bool:
    """Whether each tool is sent once, in whatever order; where there are none, that is told by None alone."""
    return tools == sent if tools is None or sent is None else sorted(tools) == sorted(sent)


def _same(one: Ask, other: Ask) -> bool:
    return (one.name, one.arguments, one.opaque) == (other.name, other.arguments, other.opaque)


def _again(steps: Sequence[Made], asks: list[Ask]) -> bool:
    """Whether a call was asked for before, or twice among these."""
    earlier = [call.ask for step in steps for call in step.calls]
    return any(_same(ask, other) for at, ask in enumerate(asks) for other in (*earlier, *asks[:at]))


def _told(expected: Sequence[MessageSeen], got: Sequence[MessageSeen]) -> tuple[list[str], list[str]]:
    return [line(one) for one in expected], [line(one) for one in got]
