"""TestHandExample, the rare values: nothing is dropped, joined, cut or remembered on its way (section 2.1)."""

from __future__ import annotations

from looptck.suite.ag03.hand_example import TEST
from looptck.suite.evidence import Evidence, call_lines
from looptck.suite.model import Finding, equal


@TEST.check("hand/input-verbatim", "requests-carry-messages", "odd-input")
def input_verbatim(e: Evidence) -> Finding:
    """Every message of the input reaches the model as it is: an empty one too, and two of one role in a row."""
    return equal([e.shown(e.transcript(n)) for n in range(2)], [e.shown(r.messages) for r in e.requests()])


@TEST.check("hand/input-kept", "transcript-appends", "odd-input")
def input_kept(e: Evidence) -> Finding:
    """The transcript begins with every message of the input as it was."""
    return equal(e.shown(e.transcript(2)), e.shown(e.invocation().transcript))


@TEST.check("hand/answers-verbatim", "transcript-appends", "odd-answers")
def answers_verbatim(e: Evidence) -> Finding:
    """What a tool answers is the content of its message: an empty text, a very long one, white space, any script."""
    answers = [call.answer for call in e.asked().turns[0].calls]
    messages = e.invocation().transcript or ()
    return equal(answers, [message.content for message in messages if message.role == "tool"])


@TEST.check("hand/answers-to-model", "requests-carry-messages", "odd-answers")
def answers_to_model(e: Evidence) -> Finding:
    """The model reads what the tools answered, whole."""
    seen = e.shown(e.requests()[1].messages) if len(e.requests()) > 1 else None
    return equal(e.shown(e.transcript(1)), seen)


@TEST.check("hand/call-again", "loop-runs-calls", "call-again")
def call_again(e: Evidence) -> Finding:
    """A call that a later turn proposes again runs again, and is answered with what its tool said then."""
    proposed = [turn.calls[0].call() for turn in e.asked().turns[:2]]
    expected = {"ran": call_lines(proposed), "transcript": e.shown(e.transcript(3))}
    ran = call_lines([run.call for run in e.runs()])
    return equal(expected, {"ran": ran, "transcript": e.shown(e.invocation().transcript)})


@TEST.check("hand/many-calls", "loop-runs-calls", "many-calls")
def many_calls(e: Evidence) -> Finding:
    """A turn of twelve calls runs all of them, once each, and appends an answer to each."""
    expected = {"ran": sorted(call_lines(e.reply(0).tool_calls)), "transcript": e.shown(e.transcript(2))}
    ran = sorted(call_lines([run.call for run in e.runs()]))
    return equal(expected, {"ran": ran, "transcript": e.shown(e.invocation().transcript)})
