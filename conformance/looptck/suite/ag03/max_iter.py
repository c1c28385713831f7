"""TestMaxIterStops: the iteration cap is looked at before the model call that it limits (section 2.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from looptck.contract.ag03 import DEFAULT_MAX_ITER
from looptck.scenario import Call, Invocation, Options, Said, Scenario, Tokens, Turn
from looptck.suite.evidence import Evidence, tokens
from looptck.suite.model import Finding, Test, equal

if TYPE_CHECKING:
    from looptck.suite.labels import Labels


def scenarios(labels: Labels) -> tuple[Scenario, ...]:
    """A model that never stops calling tools, against several caps; and one that answers just in time."""
    user = Said(content=labels.text())
    looping = Invocation(messages=(user,), turns=_calling(labels, 6))
    in_time = Invocation(messages=(user,), turns=(*_calling(labels, 2), Turn(text=labels.pieces())))
    capped = Options(max_iter=3)
    return (
        Scenario(name="looping", options=capped, invocations=(looping,)),
        Scenario(name="in-time", options=capped, invocations=(in_time,)),
        Scenario(
            name="default", invocations=(Invocation(messages=(user,), turns=_calling(labels, DEFAULT_MAX_ITER + 3)),)
        ),
        Scenario(name="single", options=Options(max_iter=1), invocations=(looping,)),
        Scenario(
            name="twice",
            options=capped,
            invocations=(looping, Invocation(messages=(user,), turns=_calling(labels, 6), reuse_agent=True)),
        ),
    )


def _calling(labels: Labels, number: int) -> tuple[Turn, ...]:
    """Turns of one call each."""
    name = labels.tool()
    return tuple(
        Turn(
            calls=(Call(id=labels.call_id(), name=name, arguments=labels.arguments(), answer=labels.text()),),
            usage=Tokens(input=labels.number(10, 40), output=labels.number(1, 9)),
        )
        for _ in range(number)
    )


TEST = Test("TestMaxIterStops", "2.2", scenarios)


@TEST.check("max-iter/model-calls", "iteration-cap", "looping")
def model_calls(e: Evidence) -> Finding:
    """With a cap of three the model is asked three times, and not a fourth."""
    return equal(3, len(e.requests()))


@TEST.check("max-iter/tool-runs", "iteration-cap", "looping")
def tool_runs(e: Evidence) -> Finding:
    """The calls of all three turns run: the cap limits model calls, not tools."""
    expected = [turn.calls[0].id for turn in e.asked().turns[:3]]
    return equal(expected, [run.call.id for run in e.runs()])


@TEST.check("max-iter/error", "iteration-cap-error", "looping", "single")
def error(e: Evidence) -> Finding:
    """The run ends with MaxIterError."""
    return equal("max_iter", e.ending())


@TEST.check("max-iter/last-message", "iteration-cap-error", "looping", "single")
def last_message(e: Evidence) -> Finding:
    """The error carries the last assistant message."""
    cap = e.scenario.options.max_iter or 0
    failed = e.invocation().error
    message = failed.message if failed is not None else None
    return equal(e.shown([e.reply(cap - 1)]), e.shown([message]) if message is not None else e.ending())


@TEST.check("max-iter/error-carries", "errors-carry-run", "looping")
def error_carries(e: Evidence) -> Finding:
    """The error carries the transcript and the usage so far."""
    failed = e.invocation().error
    seen = None if failed is None else {"transcript": e.shown(failed.transcript), "usage": tokens(failed.usage)}
    return equal({"transcript": e.shown(e.transcript(3)), "usage": tokens(e.spent(3))}, seen)


@TEST.check("max-iter/usage", "usage-is-summed", "looping")
def usage(e: Evidence) -> Finding:
    """The usage of a run that the cap ends is the sum over its three model calls."""
    return equal(tokens(e.spent(3)), tokens(e.invocation().usage))


@TEST.check("max-iter/transcript", "transcript-appends", "looping")
def transcript(e: Evidence) -> Finding:
    """The transcript holds all three turns with their tool messages."""
    return equal(e.shown(e.transcript(3)), e.shown(e.invocation().transcript))


@TEST.check("max-iter/default", "iteration-cap-default", "default")
def default(e: Evidence) -> Finding:
    """Where no cap is given the model is asked eight times."""
    seen = {"model calls": len(e.requests()), "ended": e.ending()}
    return equal({"model calls": DEFAULT_MAX_ITER, "ended": "max_iter"}, seen)


@TEST.check("max-iter/answer-in-time", "iteration-cap", "in-time")
def answer_in_time(e: Evidence) -> Finding:
    """A model that answers with its last allowed call has answered."""
    message = e.invocation().message
    return equal(e.shown([e.reply(2)]), e.shown([message]) if message is not None else e.ending())


@TEST.check("max-iter/single", "iteration-cap", "single")
def single(e: Evidence) -> Finding:
    """With a cap of one the model is asked once and its call runs."""
    return equal({"model calls": 1, "tool runs": 1}, {"model calls": len(e.requests()), "tool runs": len(e.runs())})


@TEST.check("max-iter/each-run", "iteration-cap-each-run", "twice")
def each_run(e: Evidence) -> Finding:
    """The cap is counted anew for every run of an agent."""
    first = len(e.requests(0)) or 3
    return equal([first, first], [len(e.requests(0)), len(e.requests(1))])
