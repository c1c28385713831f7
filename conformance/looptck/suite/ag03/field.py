"""TestFromTheField: what public bug threads of other loops told of; `looptck.suite.threads` has the threads."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from looptck.contract import ag03
from looptck.suite.ag03.field_scenarios import SOFT_LIMIT, WIDE_BOUND, scenarios
from looptck.suite.evidence import Evidence, call_lines, tokens
from looptck.suite.model import Finding, Test, equal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from looptck.contract.ag03 import Message

TEST = Test("TestFromTheField", "-", scenarios)


def _done(e: Evidence, place: int = 0) -> dict[str, object]:
    return {"model calls": len(e.requests(place)), "tool runs": len(e.runs(place)), "ended": e.ending(place)}


def _open(messages: Iterable[Message]) -> Iterator[str]:
    """Ids of calls that have fewer tool messages than proposals, each once."""
    left: Counter[str | None] = Counter()
    for message in messages:
        left.update(call.id for call in message.tool_calls)
        left.subtract([message.tool_call_id] if message.role == "tool" else [])
    return (str(call_id) for call_id, number in left.items() if number > 0)


def _open_in_requests(e: Evidence, place: int) -> list[list[str]]:
    """For each model request of an invocation the ids of its calls without an answer."""
    return [sorted(_open(request.messages)) for request in e.requests(place)]


@TEST.check("field/limit-before-parallel-calls", "tool-call-budget", "parallel-over-limit")
def limit_before_parallel_calls(e: Evidence) -> Finding:
    """Eight calls at once, after two of a budget of six: none of the eight starts, and the run ends by its budget."""
    return equal({"model calls": 2, "tool runs": 2, "ended": "budget"}, _done(e))


@TEST.check("field/wide-turn-bounded", "parallel-bound", "hundreds-at-once")
def wide_turn_bounded(e: Evidence) -> Finding:
    """Of 400 calls in one turn eight are in flight where the bound is eight, however long the others have to wait."""
    return equal({"most in flight": WIDE_BOUND}, {"most in flight": e.peak()})


@TEST.check("field/text-before-calls", "loop-ends-without-calls", "text-before-calls")
def text_before_calls(e: Evidence) -> Finding:
    """While its events are read, a reply that begins with text and then proposes calls is no answer: they run."""
    calls = [call.call() for turn in e.asked().turns for call in turn.calls]
    ran = sorted(call_lines([run.call for run in e.runs()]))
    return equal({"model calls": 3, "ran": sorted(call_lines(calls))}, {"model calls": len(e.requests()), "ran": ran})


@TEST.check("field/tokens-told-once", "tokens-told-once", "tokens-in-trace")
def tokens_told_once(e: Evidence) -> Finding:
    """The token attributes of all spans of a run add up to what it spent: no span repeats what another has."""
    spent = e.spent(max(len(e.requests()), 1))
    names = (ag03.INPUT_TOKENS, ag03.OUTPUT_TOKENS)
    seen = [[span.attributes.get(name, 0) for span in e.observation.spans] for name in names]
    counted = [sum(value for value in values if isinstance(value, int)) for values in seen]
    return equal([spent.input_tokens, spent.output_tokens], counted)


@TEST.check("field/partial-results-at-cap", "errors-carry-run", "cut-off-by-cap")
def partial_results_at_cap(e: Evidence) -> Finding:
    """The error of a run that its cap cut off carries what was found so far: both turns with all results, and usage."""
    failed = e.invocation().error
    expected = {"ended": "max_iter", "transcript": e.shown(e.transcript(2)), "usage": tokens(e.spent(2))}
    carried = (e.shown(failed.transcript), tokens(failed.usage)) if failed is not None else (None, "none")
    return equal(expected, {"ended": e.ending(), "transcript": carried[0], "usage": carried[1]})


@TEST.check("field/reader-leaves", "events-optional", "reader-leaves")
def reader_leaves(e: Evidence) -> Finding:
    """A reader of events who fails or leaves in the middle holds up nobody: neither its run nor one beside it."""
    expected = [e.shown([e.reply(-1, place)]) for place in (0, 1)]
    messages = [e.invocation(place).message for place in (0, 1)]
    seen = [e.shown([message]) if message is not None else e.ending(place) for place, message in enumerate(messages)]
    return equal({"read": 2, "answers": expected}, {"read": len(e.invocation(0).events), "answers": seen})


@TEST.check("field/outputs-reach-next-run", "requests-carry-messages", "capped-then-asked")
def outputs_reach_next_run(e: Evidence) -> Finding:
    """The last outputs of a run are in the first request of the run that goes on from it: no call is without one."""
    return equal({"ran": 3, "open": [[]]}, {"ran": len(e.runs(0)), "open": _open_in_requests(e, 1)})


@TEST.check("field/invalid-call-answered", "invalid-arguments-go-on", "invalid-call-alone")
def invalid_call_answered(e: Evidence) -> Finding:
    """A reply whose only call has arguments that are no JSON object ends nothing: it is answered, the model asked."""
    expected = {"open": [[], [], []], "ended": "answered"}
    return equal(expected, {"open": _open_in_requests(e, 0), "ended": e.ending()})


@TEST.check("field/last-turn-dispatched", "iteration-cap", "last-turn")
def last_turn_dispatched(e: Evidence) -> Finding:
    """The calls of the last turn that the cap allows run, and no sentence of the loop's own stands in for them."""
    calls = [call.call() for turn in e.asked().turns for call in turn.calls]
    ran = sorted(call_lines([run.call for run in e.runs()]))
    return equal({"ran": sorted(call_lines(calls)), "ended": "max_iter"}, {"ran": ran, "ended": e.ending()})


@TEST.check("field/cut-off-calls-answered", "cancel-no-open-call", "cancelled-then-asked")
def cut_off_calls_answered(e: Evidence) -> Finding:
    """A question that follows a turn that was cut off goes to the model without a call that nothing answers."""
    question = e.asked(0).messages[0].content
    kept = [question in [message.content for message in request.messages] for request in e.requests(1)]
    expected = {"first": "cancelled", "question kept": [True], "open": [[]]}
    return equal(expected, {"first": e.ending(0), "question kept": kept, "open": _open_in_requests(e, 1)})


@TEST.check("field/every-id-runs", "duplicate-ids", "ids-missing-and-shared")
def every_id_runs(e: Evidence) -> Finding:
    """Calls without an id and calls that share one are all calls: each runs once, and each has a tool message."""
    calls = e.asked().turns[0].calls
    answers = sum(message.role == "tool" for message in e.invocation().transcript or ())
    ran = Counter(run.call.name for run in e.runs())
    expected = {"ran": dict(Counter(call.name for call in calls)), "tool messages": len(calls)}
    return equal(expected, {"ran": dict(ran), "tool messages": answers})


@TEST.check("field/spans-have-parents", "span-parents", "traced-side-by-side")
def spans_have_parents(e: Evidence) -> Finding:
    """Spans of calls that run side by side lie below the run like any other: the trace has one root."""
    spans = e.observation.spans
    roots = [span.name for span in spans if span.parent not in {other.id for other in spans}]
    calls = sum(len(turn.calls) for turn in e.asked().turns)
    return equal(
        {"roots": 1, "a span for each call": True}, {"roots": len(roots), "a span for each call": len(spans) > calls}
    )


@TEST.check("field/arguments-not-emptied", "arguments-not-replaced", "malformed-shapes")
def arguments_not_emptied(e: Evidence) -> Finding:
    """Arguments cut off, without quotes or with a comma too many never become `{}`: no tool runs with other ones."""
    wrote = {call.arguments for call in e.asked().turns[0].calls}
    other = [run.call.arguments for run in e.runs() if run.call.arguments not in wrote]
    return equal({"other arguments": []}, {"other arguments": other})


@TEST.check("field/limit-ends-run", "tool-call-budget", "asks-past-limit")
def limit_ends_run(e: Evidence) -> Finding:
    """A model that goes on asking past the tool-call budget is not refused call by call: the first one ends the run."""
    return equal({"model calls": SOFT_LIMIT + 1, "tool runs": SOFT_LIMIT, "ended": "budget"}, _done(e))


@TEST.check("field/approved-call-runs-once", "answered-turn-not-resumed", "approved-then-asked")
def approved_call_runs_once(e: Evidence) -> Finding:
    """A call that was approved and has run does not run again with a later question, though it comes with approvals."""
    runs = [len(e.runs(place)) for place in range(3)]
    return equal({"tool runs": [0, 1, 0], "last": "answered"}, {"tool runs": runs, "last": e.ending(2)})


@TEST.check("field/resumed-call-not-doubled", "resume-appends", "approved-two-of-three")
def resumed_call_not_doubled(e: Evidence) -> Finding:
    """No request of a resumed run has one of its calls twice, a call that was approved neither."""
    proposed = [Counter(call.id for m in r.messages for call in m.tool_calls) for r in e.requests(1)]
    doubled = [sorted(call_id for call_id, number in counted.items() if number > 1) for counted in proposed]
    return equal([[], []], doubled)


@TEST.check("field/usage-of-every-call", "usage-is-summed", "four-model-calls")
def usage_of_every_call(e: Evidence) -> Finding:
    """The usage of a run of four model calls is that of all four, not that of the last."""
    return equal(tokens(e.spent(max(len(e.requests()), 1))), tokens(e.invocation().usage))


@TEST.check("field/rejected-call-answered", "results-matched-by-id", "rejected-one-of-two")
def rejected_call_answered(e: Evidence) -> Finding:
    """Where one of two calls is rejected both have their answer in what the model is sent next, resumed or not."""
    return equal(
        {"fresh": [[], []], "resumed": [[]]}, {"fresh": _open_in_requests(e, 0), "resumed": _open_in_requests(e, 1)}
    )


@TEST.check("field/one-prompt-in-three-sessions", "system-prompt-once", "three-sessions")
def one_prompt_in_three_sessions(e: Evidence) -> Finding:
    """Three runs, each from the transcript of the one before: every request has one system message, the first."""
    requests = [request for place in range(3) for request in e.requests(place)]
    seen = [[n for n, message in enumerate(r.messages) if message.role == "system"] for r in requests]
    return equal([[0], [0], [0]], seen)
