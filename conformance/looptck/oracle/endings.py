"""How an invocation ended beside how it had to: outcome, transcript, usage, what is left over. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from looptck.oracle.difference import ROUND, Difference, broken_by, same_lines, shown, shown_beside
from looptck.oracle.predicted import REFUSED, reported_twice
from looptck.suite.evidence import call_line, line, tokens

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from looptck.contract.ag03 import Message
    from looptck.observation import ErrorSeen, InvocationSeen
    from looptck.oracle.predicted import Line, Predicted
    from looptck.scenario import Call, Invocation

_KINDS = {"max_iter": "max_iter", "tokens": "budget", "tool_calls": "budget", "approval": "approval"}
_ENDS = {
    "answered": "loop-ends-without-calls",
    "max_iter": "iteration-cap-error",
    "tokens": "budget-error",
    "tool_calls": "budget-error",
    "approval": "approval-error",
    "provider": "provider-error-ends-run",
    "step": "step-error-ends-run",
    "gate": "gate-raises",
    "input": "input-without-messages",
    "turn": "partly-answered-turn",
}
_LEFT = {
    "answered": "transcript-appends",
    "max_iter": "transcript-appends",
    "tokens": "budget-transcript",
    "tool_calls": "budget-transcript",
    "approval": "approval-transcript",
    "provider": "provider-error-transcript",
    "step": "step-error-nothing-appended",
    "gate": "gate-raises",
}
"""By what ends a run: the requirements about its outcome and about its transcript."""


def differences(predicted: Predicted, invocation: Invocation, seen: InvocationSeen) -> Iterator[Difference]:
    """Every difference in outcome, transcript, usage and what is left over, each by itself."""
    found = [_outcome(predicted, seen)]
    if predicted.ending not in REFUSED:  # a run that has not begun need not have more than its error
        found += [_transcript(predicted, seen), _usage(predicted, seen)]
    at = len(predicted.rounds) * ROUND
    for difference in found:
        if difference is not None:
            yield difference.resting_on(predicted.doubtful)
    if not seen.input_untouched:
        yield Difference("input-untouched", "the list that was passed in", "as it was", "changed", at)
    if seen.in_flight_at_end:
        yield Difference("no-task-left", "tools in flight at the end of the run", 0, seen.in_flight_at_end, at)
    if invocation.result_twice and seen.status == "answered" and seen.again != "same":
        yield Difference("result-repeatable", "the result, awaited again", "same", seen.again, at)


def _outcome(predicted: Predicted, seen: InvocationSeen) -> Difference | None:
    at, requirement = len(predicted.rounds) * ROUND, _ENDS[predicted.ending]
    if predicted.ending == "answered" and predicted.answer is not None:
        got = [line(seen.message)] if seen.status == "answered" and seen.message is not None else [ending_of(seen)]
        expected = [line(predicted.answer)]
        return None if expected == got else Difference(requirement, "the answer", expected, got, at)
    wanted, got_kind = _KINDS.get(predicted.ending), seen.error.kind if seen.error is not None else ""
    if seen.status != "failed" or seen.error is None:
        return Difference(requirement, "the end of the run", f"an error ({predicted.ending})", ending_of(seen), at)
    if wanted is not None:
        if got_kind != wanted:
            return Difference(requirement, "the error", wanted, ending_of(seen), at)
        return _error(predicted, seen.error, at)
    if predicted.ending in {"provider", "step", "gate"} and not _is_scripted(predicted, seen.error):
        scripted = "the scripted error, or one that has it as its cause"
        return Difference(requirement, "the error", scripted, seen.error.text, at)
    return None


def _is_scripted(predicted: Predicted, error: ErrorSeen) -> bool:
    """Whether the error is the scenario's; a journal and the end of a script have errors of their own."""
    rounds = predicted.rounds
    own = predicted.ending == "provider" and rounds and rounds[-1].ask is not None and rounds[-1].ask.turn is None
    return error.scripted != "no" or bool(own) or predicted.replayed


def ending_of(seen: InvocationSeen) -> str:
    """How an invocation ended, in a few words."""
    return seen.error.text if seen.status == "failed" and seen.error is not None else seen.status


def _error(predicted: Predicted, error: ErrorSeen, at: int) -> Difference | None:
    """What an error of the loop's own says."""
    if predicted.ending == "approval":
        pending = sorted(f"{call_line(item.call)} under {item.marker}: {item.reason}" for item in error.pending)
        expected = sorted(_waits(call) for call in predicted.pending)
        if pending != expected:
            return Difference("approval-error", "the calls that wait", expected, pending, at)
    if predicted.ending in {"tokens", "tool_calls"}:
        said = {"limit": error.limit, "used": error.used}
        if error.limit != predicted.limit or error.used not in predicted.used:
            expected_said = {"limit": predicted.limit, "used": predicted.used[0]}
            return Difference("budget-error", "what BudgetError says", expected_said, said, at)
    return _carried(predicted, error, at)


def _waits(call: Call) -> str:
    return f"{call_line(call.call())} under {call.marker}: {call.reason}"


def _carried(predicted: Predicted, error: ErrorSeen, at: int) -> Difference | None:
    """The error carries the last assistant message, the transcript and the usage; the cap's message is a must."""
    expected = None if predicted.last is None else line(predicted.last)
    got = None if error.message is None else line(error.message)
    if expected != got:
        requirement = "iteration-cap-error" if predicted.ending == "max_iter" else "errors-carry-run"
        return Difference(requirement, "the error's message", expected, got, at)
    if error.transcript is None or not _fits(predicted.transcripts, error.transcript):
        got_lines = shown_beside(predicted.transcripts[0], error.transcript or ())
        return Difference("errors-carry-run", "the error's transcript", shown(predicted.transcripts[0]), got_lines, at)
    if error.usage not in predicted.usages:
        return Difference("errors-carry-run", "the error's usage", tokens(predicted.usages[0]), tokens(error.usage), at)
    return None


def _transcript(predicted: Predicted, seen: InvocationSeen) -> Difference | None:
    at = len(predicted.rounds) * ROUND
    if seen.transcript is None:
        return Difference("transcript-appends", "the transcript", shown(predicted.transcripts[0]), None, at)
    if _fits(predicted.transcripts, seen.transcript):
        return None
    expected = predicted.transcripts[0]
    requirement = broken_by(expected, seen.transcript, _LEFT[predicted.ending])
    if predicted.ending not in {"answered", "max_iter"} and len(seen.transcript) != len(expected):
        requirement = _LEFT[predicted.ending]
    return Difference(requirement, "the transcript", shown(expected), shown_beside(expected, seen.transcript), at)


def _fits(alternatives: Sequence[Sequence[Line]], seen: Sequence[Message]) -> bool:
    return any(same_lines(lines, seen) for lines in alternatives)


def _usage(predicted: Predicted, seen: InvocationSeen) -> Difference | None:
    if seen.usage in predicted.usages:
        return None
    requirement = "usage-after-error" if predicted.ending in {"tokens", "tool_calls"} else "usage-is-summed"
    reached = [one.ask.turn for one in predicted.rounds if one.ask is not None and one.ask.turn is not None]
    if any(reported_twice(turn) for turn in reached):
        requirement = "usage-last-report-counts"
    expected: list[Any] = [tokens(usage) for usage in predicted.usages]
    return Difference(requirement, "the usage", expected[0], tokens(seen.usage), len(predicted.rounds) * ROUND)
