"""TestFaketoolEndToEnd: the same loop over the real provider and a model server on a loopback port (section 4)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from looptck.contract.ag03 import ToolCall
from looptck.scenario import Call, Invocation, Said, Scenario, Tokens, Turn
from looptck.suite.evidence import Evidence, call_lines, tokens
from looptck.suite.model import Finding, Test, equal, one_of

if TYPE_CHECKING:
    from looptck.contract.ag03 import Message
    from looptck.suite.labels import Labels


def scenarios(labels: Labels) -> tuple[Scenario, ...]:
    """A call and an answer; a status error; a connection cut in the middle of a call; malformed arguments."""
    user = Said(content=labels.text())
    spent = [Tokens(input=labels.number(30, 90), output=labels.number(3, 29)) for _ in range(2)]
    call = Call(id=labels.call_id(), name=labels.tool(), arguments=labels.arguments(), answer=labels.text())
    broken = call.model_copy(update={"arguments": '{"q": "no end', "is_error": True})
    calling = Turn(calls=(call,), fragments=3, usage=spent[0])
    answer = Turn(text=labels.pieces(), usage=spent[1])

    def served(name: str, *turns: Turn) -> Scenario:
        return Scenario(name=name, transport="http", invocations=(Invocation(messages=(user,), turns=turns),))

    return (
        served("served", calling, answer),
        served("status", calling.model_copy(update={"status": 500}), answer),
        served("cut", calling.model_copy(update={"cut_after": 3}), answer),
        served("malformed", Turn(calls=(broken,), usage=spent[0]), answer),
    )


TEST = Test("TestFaketoolEndToEnd", "4", scenarios)
OWN = "(an answer of the loop's own)"


@TEST.check("end-to-end/answer", "end-to-end", "served")
def answer(e: Evidence) -> Finding:
    """Over HTTP the run ends with the model's answer, and its transcript is that of any other run."""
    message = e.invocation().message
    expected = {"answer": e.shown([e.reply(1)]), "transcript": e.shown(e.transcript(2))}
    seen = {"answer": e.shown([message]) if message else e.ending(), "transcript": e.shown(e.invocation().transcript)}
    return equal(expected, seen)


@TEST.check("end-to-end/tool-run", "end-to-end", "served")
def tool_run(e: Evidence) -> Finding:
    """The call that arrived in fragments runs once, whole."""
    return equal(call_lines(e.reply(0).tool_calls), call_lines([run.call for run in e.runs()]))


@TEST.check("end-to-end/usage", "end-to-end", "served")
def usage(e: Evidence) -> Finding:
    """Usage is the sum over both responses."""
    return equal(tokens(e.spent(2)), tokens(e.invocation().usage))


@TEST.check("end-to-end/requests", "end-to-end", "served")
def requests(e: Evidence) -> Finding:
    """The server is asked twice, the second time with the proposing turn and the tool message after it."""
    expected = [[_wire(message) for message in e.transcript(n)] for n in range(2)]
    return equal(expected, [[_wire_seen(m) for m in body.get("messages", ())] for body in e.observation.http])


@TEST.check("end-to-end/status", "provider-error-ends-run", "status")
def status(e: Evidence) -> Finding:
    """A server's error status ends the run: no answer, no tool, no second request."""
    return equal({"ended": "failed", "tool runs": 0, "requests": 1}, _ended(e))


@TEST.check("end-to-end/cut", "provider-error-ends-run", "cut")
def cut(e: Evidence) -> Finding:
    """A connection cut in the middle of a reply ends the run: no answer, no tool, no second request."""
    return equal({"ended": "failed", "tool runs": 0, "requests": 1}, _ended(e))


@TEST.check("end-to-end/malformed", "arguments-verbatim", "malformed")
def malformed(e: Evidence) -> Finding:
    """Arguments that are no JSON reach the tools as the model wrote them, unless the loop itself answers the call."""
    written, transcript = [call.arguments for call in e.reply(0).tool_calls], e.transcript(2)
    ran, seen = [run.call.arguments for run in e.runs()], e.invocation().transcript
    own = [replace(m, content=OWN) if m.role == "tool" else m for m in transcript]
    if not ran and seen is not None:
        seen = tuple(replace(m, content=OWN) if m.role == "tool" else m for m in seen)
    return one_of(
        {"ran": ran, "transcript": e.shown(seen)},
        {"ran": written, "transcript": e.shown(transcript)},
        {"ran": [], "transcript": e.shown(own)},
    )


def _ended(e: Evidence) -> dict[str, object]:
    return {"ended": e.invocation().status, "tool runs": len(e.runs()), "requests": len(e.observation.http)}


def _wire(message: Message) -> str:
    calls = call_lines(message.tool_calls)
    return f"{message.role} {message.tool_call_id or ''} {message.content!r} {calls}"


def _wire_seen(body: dict[str, Any]) -> str:
    functions = [(str(call.get("id")), call.get("function", {})) for call in body.get("tool_calls") or ()]
    proposed = [ToolCall(call_id, str(f.get("name")), str(f.get("arguments"))) for call_id, f in functions]
    calls = call_lines(proposed)
    return f"{body.get('role')} {body.get('tool_call_id') or ''} {(body.get('content') or '')!r} {calls}"
