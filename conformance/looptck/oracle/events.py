"""The events that were read beside those that a run has to show (sections 3 and 4). Pure.

Within a turn the order of several calls is open, but for each call before its own result; what a failed run shows last,
and what is shown of calls that are not dispatched, is open too.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from looptck.contract.ag03 import Usage
from looptck.oracle.difference import ROUND, Difference
from looptck.oracle.predicted import final_usage, reported_twice
from looptck.suite.evidence import call_line, tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from looptck.observation import EventSeen, InvocationSeen
    from looptck.oracle.predicted import Planned, Predicted, Round
    from looptck.scenario import Invocation


def difference(predicted: Predicted, invocation: Invocation, seen: InvocationSeen) -> Difference | None:
    """The first event that is not as predicted, or is missing; None also where no events were read.

    Events are looked at behind what was asked, so a run that differs in them alone has gone with all its rounds.
    """
    if invocation.read == "none":
        return None
    reader = _Reader(seen.events, partial=invocation.read != "all" and not seen.events_ended)
    found = reader.run(predicted)
    if found is None and invocation.read == "all" and not seen.events_ended:
        closed = "they end when the run does", "they did not end"
        found = Difference("events-closed", "the events", *closed, len(seen.events))
    if found is None:
        return None
    return replace(found, at=len(predicted.rounds) * ROUND + found.at).resting_on(predicted.doubtful)


class _Reader:
    """Reads events in their order; a `partial` reader stopped early, so what is missing at the end is no fault."""

    def __init__(self, events: Sequence[EventSeen], *, partial: bool) -> None:
        self.events, self.partial, self.place = events, partial, 0
        self._early_shown = False

    def run(self, predicted: Predicted) -> Difference | None:
        """Every round, and the last event."""
        for place, one in enumerate(predicted.rounds, 1):
            found = self._model(one) or self._turn(one, last=place == len(predicted.rounds))
            if found is not None:
                return found
        return self._end(predicted)

    def _next(self) -> EventSeen | None:
        return self.events[self.place] if self.place < len(self.events) else None

    def _missing(self) -> bool:
        return self.partial and self.place >= len(self.events)

    def _found(self, requirement: str, expected: str) -> Difference:
        event = self._next()
        seen = "nothing more" if event is None else _told(event)
        return Difference(requirement, f"event {self.place + 1}", expected, seen, self.place)

    def _model(self, one: Round) -> Difference | None:
        """The pieces of a reply as they were streamed, then its usage; a replayed step need not show either."""
        ask, self._early_shown = one.ask, False
        if ask is None or ask.turn is None or ask.how == "refused":
            return None
        turn = ask.turn
        pieces = () if turn.error is not None and turn.error_at == "before" else turn.text
        for piece in pieces if ask.how == "asked" else ():
            found = self._piece(one, piece)
            if found is not None:
                return found
        if ask.how == "replayed":  # the recorded text may be shown, in one piece or several
            while (event := self._next()) is not None and event.kind == "text":
                self.place += 1
        return self._usage(one)

    def _piece(self, one: Round, piece: str) -> Difference | None:
        event = self._early(one)
        if event is not None and event.kind == "text" and event.text == piece:
            if event.iter != one.number:
                return self._found("events-carry-iter", f"text {piece!r} of iteration {one.number}")
            self.place += 1
            return None
        if not piece or self._missing():  # an empty piece need not be shown
            return None
        return self._found("events-in-order", f"text {piece!r} of iteration {one.number}")

    def _early(self, one: Round) -> EventSeen | None:
        """The next event, behind that of a usage which was reported before the reply."""
        event = self._next()
        turn = one.ask.turn if one.ask is not None else None
        early = turn.early_usage.usage() if turn is not None and turn.early_usage is not None else None
        if event is not None and event.kind == "usage" and early is not None and event.usage == early:
            self.place += 1
            self._early_shown = True
        return self._next()

    def _usage(self, one: Round) -> Difference | None:
        assert one.ask is not None, "asked for model steps only"  # noqa: S101 - narrows the type
        turn = one.ask.turn
        assert turn is not None, "likewise"  # noqa: S101 - narrows the type
        early = turn.early_usage
        usage, event = final_usage(turn), self._next()
        need_not = one.ask.how == "replayed" or usage == Usage()  # it was not asked, or there is nothing to tell
        if early is not None and event is not None and event.usage == early.usage() and event.usage != usage:
            self.place += 1
            event = self._next()
        if event is not None and event.kind == "usage":
            if event.usage == usage and event.iter == one.number:
                self.place += 2 if reported_twice(turn) and self._again(event) else 1
                return None
            if turn.error is None:
                requirement = "events-in-order" if event.usage != usage else "events-carry-iter"
                return self._found(requirement, f"usage {tokens(usage)} of iteration {one.number}")
            self.place += 1
        shown = self._early_shown and turn.usage is None  # it was told when it was reported, and nothing behind it
        if turn.error is not None or self._missing() or shown or need_not:
            return None
        return self._found("events-in-order", f"usage {tokens(usage)} of iteration {one.number}")

    def _again(self, event: EventSeen) -> bool:
        """Whether the same event comes once more, for both reports of a reply that reported the same usage twice."""
        return event == next(iter(self.events[self.place + 1 : self.place + 2]), None) and not self._early_shown

    def _turn(self, one: Round, *, last: bool) -> Difference | None:
        """Each call of a dispatched turn, then its result; of one that is not dispatched perhaps the calls.

        The turn behind it may follow at once, for its model step need not have shown anything.
        """
        called: list[str] = []
        wanted = {item.index: item for item in one.planned if one.dispatched}
        while (event := self._next()) is not None and event.kind in {"tool_call", "tool_result"}:
            if not (wanted or last) and _of_the_next(one, event, called):
                break
            found = self._of_turn(one, event, wanted, called)
            if found is not None:
                return found
            self.place += 1
        if wanted and not one.refused and not self._missing():
            return self._found("events-in-order", f"result of {next(iter(wanted.values())).call.id}")
        return None

    def _of_turn(
        self, one: Round, event: EventSeen, wanted: dict[int, Planned], called: list[str]
    ) -> Difference | None:
        """One event of a turn: a call, or a result, which is then no longer wanted."""
        calls = [call_line(call.call()) for _, call in one.proposed]
        if event.call is None or (told := call_line(event.call)) not in calls:
            return self._found("events-in-order", f"an event of iteration {one.number}")
        if event.iter != one.number:
            requirement = "events-carry-iter" if one.ask is not None else "resumed-number-everywhere"
            return self._found(requirement, f"iteration {one.number}")
        if event.kind == "tool_result":
            return self._result(one, event, told, wanted, called)
        called.append(told)
        if called.count(told) > calls.count(told):
            return self._found("events-in-order", "each call once")
        if one.dispatched and not one.refused and not _verdict_fits(one, event, told):
            return self._found("events-carry-verdict", "the verdict that the gate gave")
        return None

    def _result(
        self, one: Round, event: EventSeen, told: str, wanted: dict[int, Planned], called: list[str]
    ) -> Difference | None:
        """A result, once, behind its call; a call that does not run or is resumed need not be shown before."""
        item = next(
            (n for n, item in wanted.items() if call_line(item.call.call()) == told and _is_result(item, event)), None
        )
        if item is None:
            return self._found("events-in-order", "the result of a call that ran, once")
        if told not in called and wanted[item].fate == "runs" and one.ask is not None:
            return self._found("events-in-order", f"call {wanted[item].call.id}, then its result")
        del wanted[item]
        if told not in called and one.ask is None:
            called.append(told)  # a call that is shown from here on is the next turn's, which may have the same number
        return None

    def _end(self, predicted: Predicted) -> Difference | None:
        event = self._next()
        if predicted.ending == "answered":
            if event is None or event.kind != "done":
                return None if self._missing() else self._found("events-in-order", "done")
            self.place += 1
        elif event is not None and event.kind == "error":
            self.place += 1
        return None if self._next() is None else self._found("events-in-order", "nothing more")


def _of_the_next(one: Round, event: EventSeen, called: Sequence[str]) -> bool:
    """Whether an event behind all results of a turn is of the next turn: its number is above, or all is shown."""
    told = call_line(event.call) if event.call is not None else ""
    left = [call_line(call.call()) for _, call in one.proposed].count(told) - called.count(told)
    return event.iter > one.number or (one.ask is None and left <= 0)


def _verdict_fits(one: Round, event: EventSeen, told: str) -> bool:
    """Whether it is the gate's verdict; of an approved call also what became of it."""
    items = [item for item in one.planned if call_line(item.call.call()) == told]
    verdicts = {{"runs": "allow", "denied": "deny"}.get(item.fate) for item in items}
    verdicts |= {item.call.verdict for item in items if item.call.verdict == "need_approval"}
    own = any(item.fate == "invalid" for item in items)  # the loop refuses it, whatever the gate said
    return event.verdict in verdicts or (event.verdict is None and one.asked == "none") or own or _raised(one, told)


def _raised(one: Round, told: str) -> bool:
    return any(call.verdict == "raise" for _, call in one.proposed if call_line(call.call()) == told)


def _is_result(item: Planned, event: EventSeen) -> bool:
    """Whether the event shows what the call came to: of a denied call the reason, of a failed one its text."""
    if item.fate == "invalid":
        return event.result is not None
    text = event.result.content if event.result is not None else ""
    if item.fate == "denied":
        return item.call.reason in text or item.call.verdict == "raise"
    if item.call.raises is not None or item.call.is_error:
        return (item.call.raises if item.call.raises is not None else item.call.answer) in text
    return text == item.call.answer


def _told(event: EventSeen) -> str:
    """An event in a few words."""
    parts = [event.kind, repr(event.text) if event.kind == "text" else "", event.call.id if event.call else ""]
    parts += [
        tokens(event.usage) if event.usage is not None else "",
        repr(event.result.content) if event.result else "",
    ]
    return " ".join(part for part in parts if part) + f" of iteration {event.iter}"
