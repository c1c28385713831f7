"""TestParallelToolsBoundedOrderPreserved: calls of one turn run at once up to a bound, results in call order (2.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from looptck.contract.ag03 import DEFAULT_MAX_PARALLEL_TOOLS
from looptck.scenario import Call, Invocation, Options, Said, Scenario, Turn
from looptck.suite.evidence import Evidence, call_lines
from looptck.suite.model import Finding, Test, equal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from looptck.suite.labels import Labels


def scenarios(labels: Labels) -> tuple[Scenario, ...]:
    """Turns of several calls, finishing last first, under several bounds."""
    tool = labels.tool()
    unsorted = [f"call_{number}" for number in (10, 9, 11, 2, 1, 100)]
    two = Options(max_parallel_tools=2)
    shared = labels.call_id()
    return (
        _scenario(labels, "six", unsorted, options=two),
        _scenario(labels, "default", [labels.call_id() for _ in range(6)]),
        _scenario(labels, "one-slot", [labels.call_id() for _ in range(3)], options=Options(max_parallel_tools=1)),
        _scenario(labels, "roomy", [labels.call_id() for _ in range(3)]),
        _scenario(labels, "same-tool", [labels.call_id() for _ in range(3)], names=[tool] * 3),
        _scenario(labels, "same-id", [shared, labels.call_id(), shared], names=labels.tools(3)),
    )


def _scenario(
    labels: Labels,
    name: str,
    ids: Sequence[str],
    *,
    names: Sequence[str] | None = None,
    options: Options | None = None,
) -> Scenario:
    tools = names or [labels.tool() for _ in ids]
    drawn = [labels.arguments() for _ in ids]
    if name == "same-tool":
        drawn[-1] = drawn[0]  # even then they are two calls
    calls = tuple(
        Call(id=call_id, name=tool, arguments=arguments, answer=labels.text())
        for call_id, tool, arguments in zip(ids, tools, drawn, strict=True)
    )
    run = Invocation(messages=(Said(content=labels.text()),), turns=(Turn(calls=calls), Turn(text=labels.pieces())))
    return Scenario(name=name, options=options or Options(), finish="last", invocations=(run,))


TEST = Test("TestParallelToolsBoundedOrderPreserved", "2.3", scenarios)


@TEST.check("parallel/bound", "parallel-bound", "six")
def bound(e: Evidence) -> Finding:
    """With a bound of two, six calls of one turn are two in flight: never more, and not one at a time."""
    return equal({"most in flight": 2, "runs": 6}, {"most in flight": e.peak(), "runs": len(e.runs())})


@TEST.check("parallel/default", "parallel-bound-default", "default")
def default(e: Evidence) -> Finding:
    """Where no bound is given, four are in flight."""
    expected = {"most in flight": DEFAULT_MAX_PARALLEL_TOOLS, "runs": 6}
    return equal(expected, {"most in flight": e.peak(), "runs": len(e.runs())})


@TEST.check("parallel/one-slot", "parallel-bound", "one-slot")
def one_slot(e: Evidence) -> Finding:
    """With a bound of one the calls run one after the other."""
    return equal({"most in flight": 1, "runs": 3}, {"most in flight": e.peak(), "runs": len(e.runs())})


@TEST.check("parallel/roomy", "parallel-at-once", "roomy", "same-tool")
def roomy(e: Evidence) -> Finding:
    """Fewer calls than slots are all in flight at once."""
    return equal({"most in flight": 3, "runs": 3}, {"most in flight": e.peak(), "runs": len(e.runs())})


@TEST.check("parallel/slots-refilled", "parallel-slots-refilled", "six", "default")
def slots_refilled(e: Evidence) -> Finding:
    """A slot that a finished call frees is taken by the next one before others finish."""
    bound = e.scenario.options.max_parallel_tools or DEFAULT_MAX_PARALLEL_TOOLS
    expected = [min(bound, 6 - finished) for finished in range(6)]
    return equal(expected, list(e.observation.levels))


@TEST.check("parallel/runs-each-once", "loop-runs-calls", "six", "default", "same-tool")
def runs_each_once(e: Evidence) -> Finding:
    """Every call of the turn runs, once."""
    return equal(sorted(call_lines(e.reply(0).tool_calls)), sorted(call_lines([run.call for run in e.runs()])))


@TEST.check("parallel/order", "results-in-call-order", "six", "default", "roomy")
def order(e: Evidence) -> Finding:
    """Results stand in the transcript in call order, whatever order the calls finished in and however ids sort."""
    return equal(e.shown(e.transcript(2)), e.shown(e.invocation().transcript))


@TEST.check("parallel/request-order", "results-in-call-order", "six", "default", "roomy")
def request_order(e: Evidence) -> Finding:
    """The next model call sees the tool messages in call order."""
    seen = e.shown(e.requests()[1].messages) if len(e.requests()) > 1 else None
    return equal(e.shown(e.transcript(1)), seen)


@TEST.check("parallel/same-tool", "results-matched-by-id", "same-tool")
def same_tool(e: Evidence) -> Finding:
    """Several calls of one tool each get the result of their own."""
    return equal(e.shown(e.transcript(2)), e.shown(e.invocation().transcript))


@TEST.check("parallel/same-id", "duplicate-ids", "same-id")
def same_id(e: Evidence) -> Finding:
    """Calls that share an id are different calls: each runs and each gets its tool message."""
    expected = {"runs": 3, "transcript": e.shown(e.transcript(2))}
    return equal(expected, {"runs": len(e.runs()), "transcript": e.shown(e.invocation().transcript)})
