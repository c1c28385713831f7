"""TestGateVerdicts: the gate decides before dispatch; denials and taint here, approvals apart (section 2.5)."""

from __future__ import annotations

from looptck.contract.ag03 import DENIED_PREFIX
from looptck.suite.ag03.gate_scenarios import scenarios
from looptck.suite.evidence import Evidence, call_lines
from looptck.suite.model import Finding, Test, equal
from looptck_fakes import GateAsked, ToolStarted

TEST = Test("TestGateVerdicts", "2.5", scenarios)


@TEST.check("gate/asked-every-call", "gate-asked-every-call", "allowed", "denied")
def asked_every_call(e: Evidence) -> Finding:
    """The gate is asked about every call of every turn, and about nothing else."""
    proposed = [call.call() for turn in e.asked().turns for call in turn.calls]
    return equal(sorted(call_lines(proposed)), sorted(set(call_lines([asked.call for asked in e.questions()]))))


@TEST.check("gate/asked-before-dispatch", "gate-before-dispatch", "allowed", "denied")
def asked_before_dispatch(e: Evidence) -> Finding:
    """Every question about a turn is asked before any call of the turn runs."""
    early = []
    for turn in e.asked().turns:
        calls = {call.call() for call in turn.calls}
        asked: dict[object, int] = {}
        for record in e.observation.records:
            if isinstance(record, GateAsked) and record.call in calls:
                asked.setdefault(record.call, record.at)  # who asks again at dispatch has asked before all the same
        ran = [r.at for r in e.observation.records if isinstance(r, ToolStarted) and r.call in calls]
        if ran and (asked.keys() != calls or min(ran) < max(asked.values())):
            early.append(f"a call of the turn of {turn.calls[0].id} ran before the gate was asked about all of it")
    return equal(
        {"questions asked": True, "too early": []}, {"questions asked": bool(e.questions()), "too early": early}
    )


@TEST.check("gate/iter", "gate-context-iter", "tool-output")
def gate_iter(e: Evidence) -> Finding:
    """The context carries the number of the iteration, counted from 1."""
    expected = {call.id: [number] for number, turn in enumerate(e.asked().turns, start=1) for call in turn.calls}
    return equal(expected, _told(e, "iter"))


@TEST.check("gate/denied-not-run", "denied-not-run", "denied")
def denied_not_run(e: Evidence) -> Finding:
    """Denied calls do not run; their allowed sibling does."""
    allowed = [call.call() for call in e.asked().turns[0].calls if call.verdict == "allow"]
    return equal(call_lines(allowed), call_lines([run.call for run in e.runs()]))


@TEST.check("gate/allowed-run", "loop-runs-calls", "allowed")
def allowed_run(e: Evidence) -> Finding:
    """Calls that the gate allows run, each once."""
    calls = [call.call() for turn in e.asked().turns for call in turn.calls]
    return equal(sorted(call_lines(calls)), sorted(call_lines([run.call for run in e.runs()])))


@TEST.check("gate/denied-event", "denied-events", "denied-read")
def denied_event(e: Evidence) -> Finding:
    """Whoever reads the events sees the result of a denied call: its denial."""
    expected = {call.id: [DENIED_PREFIX + call.reason] for call in e.asked().turns[0].calls if call.verdict == "deny"}
    seen: dict[str, list[str]] = {call_id: [] for call_id in expected}
    for event in e.events("tool_result"):
        if event.call is not None and event.call.id in expected:
            seen[event.call.id].append(event.result.content if event.result is not None else "")
    return equal(expected, seen)


@TEST.check("gate/verdict-in-event", "events-carry-verdict", "denied-read")
def verdict_in_event(e: Evidence) -> Finding:
    """The tool_call event of a call that the gate allows carries that verdict."""
    allowed = [call.id for call in e.asked().turns[0].calls if call.verdict == "allow"]
    seen = {event.call.id: event.verdict for event in e.events("tool_call") if event.call is not None}
    return equal(dict.fromkeys(allowed, "allow"), {call_id: seen.get(call_id) for call_id in allowed})


@TEST.check("gate/denied-text", "denied-text", "denied", "all-denied")
def denied_text(e: Evidence) -> Finding:
    """The tool message of a denied call is `error: denied by policy: ` and the reason, exactly."""
    expected = {m.tool_call_id: m.content for m in e.turn(0)[1:]}
    denied = {call.id for call in e.asked().turns[0].calls if call.verdict == "deny"}
    seen = {m.tool_call_id: m.content for m in e.invocation().transcript or () if m.role == "tool"}
    return equal({i: expected[i] for i in denied}, {i: seen.get(i) for i in denied})


@TEST.check("gate/denied-in-order", "results-in-call-order", "denied")
def denied_in_order(e: Evidence) -> Finding:
    """Denials and results stand in call order, and the model reads them."""
    seen = e.shown(e.requests()[1].messages) if len(e.requests()) > 1 else None
    return equal(e.shown(e.transcript(1)), seen)


@TEST.check("gate/denied-goes-on", "denied-goes-on", "denied", "all-denied")
def denied_goes_on(e: Evidence) -> Finding:
    """A denial does not end the run: the model is asked again and answers."""
    seen = {"model calls": len(e.requests()), "ended": e.ending()}
    return equal({"model calls": 2, "ended": "answered"}, seen)


@TEST.check("gate/raising", "gate-raises", "gate-raises")
def raising(e: Evidence) -> Finding:
    """A call about which the gate raises does not run."""
    return equal({"asked": True, "tool runs": 0}, {"asked": bool(e.questions()), "tool runs": len(e.runs())})


def _told(e: Evidence, what: str, place: int = 0) -> dict[str, list[object]]:
    """What the gate was told about each call, by call id; asking twice about a call is no mistake."""
    told: dict[str, list[object]] = {}
    for asked in e.questions(place):
        values = told.setdefault(asked.call.id, [])
        if getattr(asked, what) not in values:
            values.append(getattr(asked, what))
    return told


def _taint(e: Evidence, place: int = 0) -> dict[str, list[object]]:
    return _told(e, "tainted", place)


def _wanted(e: Evidence, tainted: list[bool], place: int = 0) -> dict[str, list[object]]:
    """The right taint of each call, given that of each turn."""
    turns = e.asked(place).turns
    return {call.id: [taint] for turn, taint in zip(turns, tainted, strict=False) for call in turn.calls}


@TEST.check("gate/lifts-no-budget", "tool-call-budget", "allowed-over-budget")
def lifts_no_budget(e: Evidence) -> Finding:
    """That the gate allows three calls lifts no tool-call budget of two: none of them runs."""
    expected = {"model calls": 1, "tool runs": 0, "ended": "budget"}
    return equal(expected, {"model calls": len(e.requests()), "tool runs": len(e.runs()), "ended": e.ending()})


@TEST.check("taint/after-tool-output", "taint-after-tool-message", "tool-output")
def after_tool_output(e: Evidence) -> Finding:
    """The context is clean for every call of the first turn, and tainted once a tool has answered."""
    return equal(_wanted(e, [False, True]), _taint(e))


@TEST.check("taint/after-denial", "taint-after-tool-message", "denial-only")
def after_denial(e: Evidence) -> Finding:
    """The tool message of a denied call is a tool message: the context is tainted after it."""
    return equal(_wanted(e, [False, True]), _taint(e))


@TEST.check("taint/from-input", "taint-from-input", "tainted-input")
def from_input(e: Evidence) -> Finding:
    """An input that holds a tool message is tainted from the first turn on."""
    return equal(_wanted(e, [True]), _taint(e))


@TEST.check("taint/far-back", "taint-from-input", "tainted-long-ago")
def far_back(e: Evidence) -> Finding:
    """A tool message far back in the input makes the context tainted like the last one."""
    return equal(_wanted(e, [True]), _taint(e))


@TEST.check("taint/each-run", "taint-each-run", "next-run")
def each_run(e: Evidence) -> Finding:
    """Taint is not carried over into the next run of an agent."""
    return equal([_wanted(e, [False, True]), _wanted(e, [False], place=1)], [_taint(e, 0), _taint(e, 1)])


@TEST.check("taint/resumed", "taint-after-tool-message", "approved", "allowed-before-approval")
def resumed(e: Evidence) -> Finding:
    """A resumed turn is tainted exactly when tool messages stand before it."""
    before = any(message.role == "tool" for message in e.invocation(1).input)
    calls = next(turn for turn in e.asked(0).turns if any(call.marker for call in turn.calls)).calls
    return equal({call.id: [before] for call in calls}, _taint(e, 1))
