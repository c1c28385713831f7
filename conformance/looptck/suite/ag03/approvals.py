"""TestGateVerdicts, the approvals: a turn that waits runs nothing, a resumed run dispatches it (section 2.5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from looptck.suite.ag03.gate import TEST
from looptck.suite.evidence import Evidence, answer, call_lines, tokens
from looptck.suite.model import Finding, equal, one_of
from looptck_fakes import ModelAsked, ToolEnded

if TYPE_CHECKING:
    from looptck.contract.ag03 import Message
    from looptck.scenario import Call

WAITING = ("approved", "approved-beside-denied", "allowed-before-approval")


def _waiting_turn(e: Evidence) -> int:
    """The place of the first run's turn that waits."""
    turns = e.asked().turns
    return next(n for n, turn in enumerate(turns) if any(call.marker for call in turn.calls))


def _pending(e: Evidence, place: int) -> list[str] | str:
    failed = e.invocation(place).error
    if failed is None or failed.kind != "approval":
        return e.ending(place)
    return sorted(f"{call_lines([item.call])[0]} under {item.marker}: {item.reason}" for item in failed.pending)


def _lines(calls: list[Call]) -> list[str]:
    return sorted(f"{call_lines([call.call()])[0]} under {call.marker}: {call.reason}" for call in calls)


def _needing(e: Evidence) -> list[Call]:
    return [call for call in e.asked().turns[_waiting_turn(e)].calls if call.verdict == "need_approval"]


def _resumed_transcript(e: Evidence) -> list[Message]:
    """The first run up to its waiting turn, that turn's answers, and the answer of the resumed run."""
    waiting = e.asked().turns[_waiting_turn(e)]
    before = e.transcript(_waiting_turn(e))
    return [*before, waiting.message(), *(answer(call) for call in waiting.calls), e.reply(0, 1)]


@TEST.check("approval/nothing-runs", "approval-runs-nothing", *WAITING)
def nothing_runs(e: Evidence) -> Finding:
    """Where one call needs approval nothing of the turn runs, its allowed siblings neither; the model is not asked."""
    earlier = e.asked().turns[: _waiting_turn(e)]
    expected = {"model calls": len(earlier) + 1, "ran": [call.id for turn in earlier for call in turn.calls]}
    return equal(expected, {"model calls": len(e.requests(0)), "ran": [run.call.id for run in e.runs(0)]})


@TEST.check("approval/pending", "approval-error", *WAITING)
def pending(e: Evidence) -> Finding:
    """The run ends with ApprovalError listing each call that needs approval, with its marker and reason."""
    return equal(_lines(_needing(e)), _pending(e, 0))


@TEST.check("approval/transcript", "approval-transcript", *WAITING)
def transcript(e: Evidence) -> Finding:
    """The last message of the transcript is the turn that could not be dispatched."""
    place = _waiting_turn(e)
    return equal(e.shown([*e.transcript(place), e.reply(place)]), e.shown(e.invocation(0).transcript))


@TEST.check("approval/error-carries", "errors-carry-run", "approved")
def error_carries(e: Evidence) -> Finding:
    """The error carries the proposing message and the transcript that a resumed run starts from."""
    failed = e.invocation(0).error
    last = failed.message if failed is not None else None
    expected = {"message": e.shown([e.reply(0)]), "transcript": e.shown([*e.transcript(0), e.reply(0)])}
    transcript = failed.transcript if failed is not None else None
    return equal(expected, {"message": e.shown([last]) if last else None, "transcript": e.shown(transcript)})


@TEST.check("resume/dispatches-first", "resume-without-model-call", *WAITING)
def dispatches_first(e: Evidence) -> Finding:
    """A resumed run dispatches the open turn before it asks the model, which sees the results with its first call."""
    began = e.invocation(1).began
    kinds = [type(r).__name__ for r in e.observation.records[began:] if isinstance(r, ModelAsked | ToolEnded)]
    ran = sum(call.verdict != "deny" for call in e.asked().turns[_waiting_turn(e)].calls)
    return equal(["ToolEnded"] * ran + ["ModelAsked"], kinds)


@TEST.check("resume/dispatches-same-calls", "resume-dispatches", *WAITING)
def dispatches_same_calls(e: Evidence) -> Finding:
    """Exactly the calls that were proposed run: the approved ones and those that the gate allows, each once."""
    calls = [call.call() for call in e.asked().turns[_waiting_turn(e)].calls if call.verdict != "deny"]
    return equal(sorted(call_lines(calls)), sorted(call_lines([run.call for run in e.runs(1)])))


@TEST.check("resume/transcript", "resume-appends", *WAITING)
def resumed_transcript(e: Evidence) -> Finding:
    """The resumed transcript is the earlier one, the answers of its open turn in call order, and the answer."""
    return equal(e.shown(_resumed_transcript(e)), e.shown(e.invocation(1).transcript))


@TEST.check("resume/answer", "resume-goes-on", *WAITING)
def resumed_answer(e: Evidence) -> Finding:
    """After the open turn the run goes on: the model is asked and answers."""
    message = e.invocation(1).message
    return equal(e.shown([e.reply(0, 1)]), e.shown([message]) if message is not None else e.ending(1))


@TEST.check("resume/unapproved", "resume-unapproved", "unapproved")
def unapproved(e: Evidence) -> Finding:
    """Resumed without approvals the turn waits again: no model call, nothing runs, the same calls are pending."""
    expected = {"model calls": 0, "tool runs": 0, "pending": _lines(_needing(e))}
    return equal(expected, _resumed(e))


@TEST.check("resume/half-approved", "resume-all-markers", "half-approved")
def half_approved(e: Evidence) -> Finding:
    """With one of two approvals the other call still waits, and nothing of the turn runs."""
    rest = [call for call in _needing(e) if call.marker not in (e.asked(1).approvals or ())]
    return equal({"model calls": 0, "tool runs": 0, "pending": _lines(rest)}, _resumed(e))


@TEST.check("resume/other-markers", "approval-by-marker", "other-markers")
def other_markers(e: Evidence) -> Finding:
    """Approvals are looked up by marker: those under a call's id, name or reason approve nothing."""
    expected = {"model calls": 0, "tool runs": 0, "pending": _lines(_needing(e))}
    return equal(expected, _resumed(e))


@TEST.check("resume/near-markers", "approval-by-marker", "near-markers")
def near_markers(e: Evidence) -> Finding:
    """A marker is matched whole and letter by letter: a part of it, or more than it, approves nothing."""
    expected = {"model calls": 0, "tool runs": 0, "pending": _lines(_needing(e))}
    return equal(expected, _resumed(e))


@TEST.check("resume/cap", "resume-not-counted", "approved-at-cap")
def cap(e: Evidence) -> Finding:
    """The cap counts model calls: with a cap of one a resumed run dispatches its open turn and gets its answer."""
    expected = {"tool runs": 3, "model calls": 1, "ended": "answered"}
    return equal(expected, {"tool runs": len(e.runs(1)), "model calls": len(e.requests(1)), "ended": e.ending(1)})


@TEST.check("resume/asks-gate", "gate-asked-every-call", *WAITING)
def asks_gate(e: Evidence) -> Finding:
    """The gate is asked about the calls of a resumed turn too, those that need no approval among them."""
    calls = [call.call() for call in e.asked().turns[_waiting_turn(e)].calls if call.verdict != "need_approval"]
    asked = set(call_lines([question.call for question in e.questions(1)]))
    return one_of(sorted(asked & set(call_lines(calls))), sorted(call_lines(calls)))


@TEST.check("approval/usage", "usage-is-summed", "waiting-paid")
def usage(e: Evidence) -> Finding:
    """Usage counts the reply that waits: its tokens are spent."""
    return equal(tokens(e.spent(1)), tokens(e.invocation().usage))


@TEST.check("resume/without-gate", "resume-without-model-call", "open-turn")
def without_gate(e: Evidence) -> Finding:
    """An input that ends with an unanswered turn is resumed without a gate too: its calls run first."""
    kinds = [type(r).__name__ for r in e.observation.records if isinstance(r, ModelAsked | ToolEnded)]
    return equal(["ToolEnded"] * 3 + ["ModelAsked"], kinds)


@TEST.check("resume/answered-turn", "answered-turn-not-resumed", "answered-turn")
def answered_turn(e: Evidence) -> Finding:
    """A turn whose calls are all answered is not open: none of them runs again, and the model is asked."""
    expected = {"model calls": 1, "tool runs": 0, "ended": "answered"}
    return equal(expected, {"model calls": len(e.requests()), "tool runs": len(e.runs()), "ended": e.ending()})


@TEST.check("resume/answered-twice", "duplicate-ids", "answered-twice")
def answered_twice(e: Evidence) -> Finding:
    """Two calls of one id with two tool messages are answered: neither runs again."""
    return answered_turn(e)


@TEST.check("resume/verdict-in-event", "events-carry-verdict", "approved-read")
def verdict_in_event(e: Evidence) -> Finding:
    """A tool_call event of an approved call, if it is shown again, carries the verdict allow, or that of the gate."""
    seen = [event.verdict for event in e.events("tool_call", 1)]
    return one_of(seen, ["allow"], ["need_approval"], [])


@TEST.check("resume/error-carries", "errors-carry-run", "unapproved")
def resume_error_carries(e: Evidence) -> Finding:
    """The error of a turn that waits again carries the message that proposed it."""
    failed = e.invocation(1).error
    last = failed.message if failed is not None else None
    return equal(e.shown([e.reply(0)]), e.shown([last]) if last is not None else e.ending(1))


@TEST.check("resume/bound", "parallel-bound", "open-turn")
def bound(e: Evidence) -> Finding:
    """The calls of a resumed turn are in flight up to the bound, as those of any other."""
    return equal({"most in flight": 2, "runs": 3}, {"most in flight": e.peak(), "runs": len(e.runs())})


@TEST.check("resume/order", "results-in-call-order", "open-turn")
def order(e: Evidence) -> Finding:
    """The results of a resumed turn stand in call order, whatever order the calls finished in."""
    calls = e.asked().messages[-1].calls
    expected = [*e.transcript(0), *(answer(call) for call in calls), e.reply(0)]
    return equal(e.shown(expected), e.shown(e.invocation().transcript))


@TEST.check("resume/budget", "tool-call-budget", "open-turn-over-budget")
def budget(e: Evidence) -> Finding:
    """The tool-call budget is looked at before a resumed turn too: three calls against two run none of them."""
    expected = {"model calls": 0, "tool runs": 0, "ended": "budget"}
    return equal(expected, {"model calls": len(e.requests()), "tool runs": len(e.runs()), "ended": e.ending()})


def _resumed(e: Evidence) -> dict[str, object]:
    return {"model calls": len(e.requests(1)), "tool runs": len(e.runs(1)), "pending": _pending(e, 1)}
