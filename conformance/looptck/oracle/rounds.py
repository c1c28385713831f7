"""What the fakes were asked beside the predicted rounds, in the order of what happened. Pure.

Within a turn the specification leaves most orders open, so each round is compared as sets (`looptck.oracle.turns`); the
rounds themselves have their order.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from looptck.contract.ag03 import llm_step
from looptck.oracle import turns
from looptck.oracle.difference import ROUND, Difference, broken_by, same_lines, shown, shown_beside
from looptck.oracle.seen import SeenRound, seen_rounds
from looptck.suite.evidence import call_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from looptck.observation import AnyRecord
    from looptck.oracle.predicted import Predicted, Round
    from looptck.scenario import Scenario
    from looptck_fakes import ModelAsked

ASKED_TOO_MUCH = {
    "answered": "loop-repeats",
    "max_iter": "iteration-cap",
    "tokens": "token-budget",
    "tool_calls": "tool-call-budget",
    "approval": "approval-runs-nothing",
    "provider": "provider-error-ends-run",
    "step": "step-error-not-shown",
    "gate": "gate-raises",
    "input": "input-without-messages",
    "turn": "partly-answered-turn",
}
"""By what ends a run: the requirement that one more model request breaks."""
_STOPPED_SHORT = {"max_iter": "iteration-cap", "approval": "approval-by-marker"}
"""By the kind of error that ended a run too early: the requirement that this breaks."""


class Beside:
    """The rounds of one invocation, predicted and seen. `ended` is the kind of error that was seen to end it."""

    def __init__(
        self, scenario: Scenario, place: int, predicted: Predicted, records: Sequence[AnyRecord], ended: str | None
    ) -> None:
        self.scenario, self.predicted, self.ended = scenario, predicted, ended
        self.runner = scenario.invocations[place].runner != "none"
        self.seen = seen_rounds(records)
        self.rounds = [one for one in predicted.rounds if one.ask or self._shows(one)]

    def difference(self) -> Difference | None:
        """The first difference, in the order of what happened."""
        for place, one in enumerate(self.rounds):
            found = self._round(place, one)
            if found is not None:
                return found
        if len(self.seen) > len(self.rounds):
            requirement, extra = ASKED_TOO_MUCH[self.predicted.ending], self.seen[len(self.rounds)].told()
            return self._found(len(self.rounds), requirement, "behind the end of the run", [], extra)
        return self._named_twice()

    def _shows(self, one: Round) -> bool:
        """Whether the fakes see a resumed turn: where the loop answers each of its calls they need not."""
        answered = one.dispatched and bool(self.seen) and not self.seen[0].asks_model()
        return one.asked != "none" or one.must_show() or answered

    def _found(self, place: int, requirement: str, about: str, expected: Any, seen: Any) -> Difference:
        doubtful = self.predicted.doubtful if place >= self.predicted.doubtful_from else None
        return Difference(requirement, about, expected, seen, place * ROUND).resting_on(doubtful)

    def _round(self, place: int, one: Round) -> Difference | None:
        seen = self.seen[place] if place < len(self.seen) else None
        if one.ask is None and (seen is None or seen.asks_model()):
            plan = [f"{item.fate} {call_line(item.call.call())}" for item in one.planned]
            return self._found(place, "resume-without-model-call", "the open turn of the input", plan, [])
        if seen is None:
            return self._found(place, self._missing(place), f"iteration {one.number}", ["asks the model"], [])
        if one.ask is None:
            return self._turn(place, one, seen)
        if not seen.asks_model():
            about = "before the first model call"
            return self._found(place, "answered-turn-not-resumed", about, [], seen.told())
        return self._ask(place, one, seen) or self._turn(place, one, seen)

    def _missing(self, place: int) -> str:
        """The requirement that is broken where the model is not asked any more."""
        if self.ended in _STOPPED_SHORT:
            return _STOPPED_SHORT[self.ended]
        if self.ended == "budget":
            return "token-budget" if self.scenario.options.max_tokens is not None else "tool-call-budget"
        before = self.rounds[place - 1].planned if place else ()
        if any(planned.fate == "denied" for planned in before):
            return "denied-goes-on"
        if any(planned.call.is_error for planned in before):
            return "tool-failure-is-result"
        return "resume-goes-on" if place and self.rounds[place - 1].ask is None else "loop-repeats"

    def _ask(self, place: int, one: Round, seen: SeenRound) -> Difference | None:
        """The model step: its name and kind, and what was sent."""
        ask, about = one.ask, f"model step {llm_step(one.number)}"
        assert ask is not None, "asked for model steps only"  # noqa: S101 - narrows the type
        if self.runner and (found := self._step(place, one, seen)) is not None:
            return found
        request = seen.request
        if ask.how != "asked":
            requirement = "replay-calls-nothing" if ask.how == "replayed" else "step-error-ends-run"
            return None if request is None else self._found(place, requirement, about, "no request", "a request")
        if request is None:
            return self._found(place, "loop-repeats", about, "a request", "none")
        if not same_lines(ask.messages, request.messages):
            requirement = broken_by(ask.messages, request.messages, "requests-carry-messages")
            expected, got = shown(ask.messages), shown_beside(ask.messages, request.messages)
            return self._found(place, requirement, f"{about}, its messages", expected, got)
        return self._offered(place, about, request) or self._verbatim(place, about, one, request)

    def _step(self, place: int, one: Round, seen: SeenRound) -> Difference | None:
        about, name = "a model step", llm_step(one.number)
        if seen.step is None:
            return self._found(place, "every-call-a-step", about, name, "a request outside a step")
        if seen.step.name != name:
            return self._found(place, "step-names", about, name, seen.step.name)
        if seen.step.kind != "llm":
            return self._found(place, "step-kinds", about, "llm", seen.step.kind)
        return None

    def _offered(self, place: int, about: str, request: ModelAsked) -> Difference | None:
        tools = list(dict.fromkeys(call.name for call in self.scenario.calls()))
        names = [definition.name for definition in request.tools]
        if sorted(names) != sorted(tools):
            return self._found(place, "definitions-every-call", f"{about}, its tools", tools, names)
        options, given = self.scenario.options.call_options or {}, dict(request.options)
        if given != options:
            return self._found(place, "options-every-call", f"{about}, its options", options, given)
        return None

    def _verbatim(self, place: int, about: str, one: Round, request: ModelAsked) -> Difference | None:
        """Arguments stand in the messages letter by letter; that the values are the same was looked at before."""
        assert one.ask is not None, "asked for model steps only"  # noqa: S101 - narrows the type
        written = [call.arguments for sent in one.ask.messages for call in sent.message.tool_calls]
        sent = [call.arguments for message in request.messages for call in message.tool_calls]
        if written == sent:
            return None
        return self._found(place, "arguments-verbatim", f"{about}, arguments", written, sent)

    def _turn(self, place: int, one: Round, seen: SeenRound) -> Difference | None:
        found = turns.difference(self.scenario, one, seen, self.predicted.ending, runner=self.runner)
        if found is None:
            return None
        told = self._found(place, found.requirement, found.about, found.expected, found.seen)
        return replace(told, at=told.at + found.at)

    def _named_twice(self) -> Difference | None:
        """No two steps of a run share a name, whichever number a resumed turn has."""
        names = [name for seen in self.seen for name in seen.steps()]
        twice = sorted({name for name in names if names.count(name) > 1})
        if not twice:
            return None
        return self._found(len(self.rounds), "resumed-steps-distinct", "names of steps", "each name once", twice)
