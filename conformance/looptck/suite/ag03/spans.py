"""TestSpans: a run can be read from its trace (section 2.7)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from looptck.contract import ag03
from looptck.observe.rig import MODEL
from looptck.scenario import Call, Invocation, Options, Said, Scenario, Tokens, Turn
from looptck.suite.evidence import Evidence
from looptck.suite.model import Finding, Test, equal, one_of

if TYPE_CHECKING:
    from looptck.observation import SpanSeen
    from looptck.suite.labels import Labels


def scenarios(labels: Labels) -> tuple[Scenario, ...]:
    """A traced run with every outcome, one that waits for approval, one that is capped, one whose model fails."""
    names = [*labels.tools(4), *labels.tools(4)]
    ok, failing, denied, waiting, looping, again, approved, raising = (
        Call(id=labels.call_id(), name=name, arguments=labels.arguments(), answer=labels.text()) for name in names
    )
    failing = failing.model_copy(update={"is_error": True})
    denied = denied.model_copy(update={"verdict": "deny", "reason": labels.text()})
    raising = raising.model_copy(update={"raises": labels.text()})
    approved = approved.model_copy(update={"verdict": "need_approval", "marker": labels.marker()})
    waiting = waiting.model_copy(update={"verdict": "need_approval", "marker": labels.marker()})
    answer = Turn(text=labels.pieces(), usage=_spent(labels))
    agent = labels.text().replace(" ", "-")

    def traced(scenario: str, *turns: Turn, gate: bool = False, max_iter: int | None = None) -> Scenario:
        run = Invocation(messages=(Said(content=labels.text()),), turns=turns)
        options = Options(name=agent, max_iter=max_iter)
        return Scenario(name=scenario, options=options, tracer=True, gate=gate, invocations=(run,))

    return (
        traced("outcomes", Turn(calls=(ok, failing, denied), usage=_spent(labels)), answer, gate=True),
        traced("pending", Turn(calls=(waiting,), usage=_spent(labels)), gate=True),
        _approved(traced("approved", Turn(calls=(approved,)), gate=True), approved.marker, answer),
        traced("raising", Turn(calls=(raising,)), answer),
        _cancelled(traced("cancelled", Turn(calls=(ok,)), answer)),
        traced("capped", Turn(calls=(looping,)), Turn(calls=(again,)), answer, max_iter=2),
        traced("failing", Turn(error=labels.text())),
    )


def _approved(scenario: Scenario, marker: str, answer: Turn) -> Scenario:
    """The scenario with a second run that resumes the first with its approval."""
    resumed = Invocation(continues=0, approvals=(marker,), turns=(answer,))
    return scenario.model_copy(update={"invocations": (*scenario.invocations, resumed)})


def _cancelled(scenario: Scenario) -> Scenario:
    """The scenario with its run cancelled while a tool runs."""
    run = scenario.invocations[0].model_copy(update={"cancel": "tools"})
    return scenario.model_copy(update={"invocations": (run,)})


def _spent(labels: Labels) -> Tokens:
    return Tokens(input=labels.number(30, 90), output=labels.number(3, 29))


TEST = Test("TestSpans", "2.7", scenarios)


def _attributes(span: SpanSeen, *names: str) -> dict[str, object]:
    return {"kind": span.kind} | {name: span.attributes.get(name) for name in names}


@TEST.check("spans/run", "run-span", "outcomes", "capped", "failing")
def run(e: Evidence) -> Finding:
    """One agent.run span, INTERNAL, with the agent's name."""
    expected = {"kind": "INTERNAL", ag03.AGENT_NAME: e.scenario.options.name}
    return equal([expected], [_attributes(span, ag03.AGENT_NAME) for span in e.spans(ag03.SPAN_RUN)])


@TEST.check("spans/iterations", "run-span-iterations", "outcomes", "capped")
def iterations(e: Evidence) -> Finding:
    """The run's span counts its iterations, also when the cap ends it."""
    return equal([len(e.requests())], [span.attributes.get(ag03.ITERATIONS) for span in e.spans(ag03.SPAN_RUN)])


@TEST.check("spans/llm-calls", "llm-spans", "outcomes", "capped")
def llm_calls(e: Evidence) -> Finding:
    """One agent.llm_call span for each model call, CLIENT, with the model's name."""
    expected = {"kind": "CLIENT", ag03.REQUEST_MODEL: MODEL}
    calls = max(len(e.requests()), 1)
    return equal([expected] * calls, [_attributes(span, ag03.REQUEST_MODEL) for span in e.spans(ag03.SPAN_LLM)])


@TEST.check("spans/tokens", "llm-spans-tokens", "outcomes")
def llm_tokens(e: Evidence) -> Finding:
    """Each agent.llm_call span carries the tokens of its own call."""
    spent = [turn.usage.usage() for turn in e.asked().turns if turn.usage is not None]
    expected = [[usage.input_tokens, usage.output_tokens] for usage in spent][: max(len(e.requests()), 1)]
    names = (ag03.INPUT_TOKENS, ag03.OUTPUT_TOKENS)
    return equal(expected, [[span.attributes.get(name) for name in names] for span in e.spans(ag03.SPAN_LLM)])


@TEST.check("spans/tools", "tool-spans", "outcomes")
def tools(e: Evidence) -> Finding:
    """One `agent.tool <name>` span for each call of the turn, INTERNAL, with the tool's name; a denied call too."""
    expected = {ag03.tool_span(c.name): {"kind": "INTERNAL", ag03.TOOL_NAME: c.name} for c in e.asked().turns[0].calls}
    spans = e.spans(ag03.SPAN_TOOL + "*")
    seen = {span.name: _attributes(span, ag03.TOOL_NAME) for span in spans}
    return equal({"spans": len(expected), **expected}, {"spans": len(spans), **seen})


def _outcomes(e: Evidence, place: int) -> list[object]:
    name = ag03.tool_span(e.asked().turns[0].calls[place].name)
    return [span.attributes.get(ag03.OUTCOME) for span in e.spans(name)]


@TEST.check("spans/outcome-ok", "tool-span-outcome", "outcomes")
def outcome_ok(e: Evidence) -> Finding:
    """The outcome of a call that ran well is ok."""
    return equal([ag03.OUTCOME_OK], _outcomes(e, 0))


@TEST.check("spans/outcome-error", "tool-span-outcome", "outcomes")
def outcome_error(e: Evidence) -> Finding:
    """The outcome of a call whose tool failed is error."""
    return equal([ag03.OUTCOME_ERROR], _outcomes(e, 1))


@TEST.check("spans/outcome-raised", "tool-raise-is-result", "raising")
def outcome_raised(e: Evidence) -> Finding:
    """The outcome of a call whose tools raise is error, as that of any call that fails."""
    return equal([ag03.OUTCOME_ERROR], _outcomes(e, 0))


@TEST.check("spans/outcome-denied", "tool-span-outcome", "outcomes")
def outcome_denied(e: Evidence) -> Finding:
    """The outcome of a denied call is denied."""
    return equal([ag03.OUTCOME_DENIED], _outcomes(e, 2))


@TEST.check("spans/outcome-needs-approval", "tool-span-outcome", "pending")
def outcome_needs_approval(e: Evidence) -> Finding:
    """The outcome of a call that waits for approval is needs_approval."""
    return equal([ag03.OUTCOME_NEEDS_APPROVAL], _outcomes(e, 0))


@TEST.check("spans/failed-call", "llm-spans", "failing")
def failed_call(e: Evidence) -> Finding:
    """A model call that fails has its span like any other."""
    expected = {"kind": "CLIENT", ag03.REQUEST_MODEL: MODEL}
    return equal([expected], [_attributes(span, ag03.REQUEST_MODEL) for span in e.spans(ag03.SPAN_LLM)])


@TEST.check("spans/outcome-approved", "tool-span-outcome", "approved")
def outcome_approved(e: Evidence) -> Finding:
    """A call that waited and is approved has a span in each run: needs_approval, then ok."""
    return equal([ag03.OUTCOME_NEEDS_APPROVAL, ag03.OUTCOME_OK], _outcomes(e, 0))


@TEST.check("spans/ended", "spans-ended", "outcomes", "pending", "capped", "failing")
def ended(e: Evidence) -> Finding:
    """Every span has ended when the run has, however it ended."""
    spans = e.observation.spans
    seen = {"spans": bool(spans), "open": [span.name for span in spans if not span.ended]}
    return equal({"spans": True, "open": []}, seen)


@TEST.check("spans/ended-when-cancelled", "spans-ended-when-cancelled", "cancelled")
def ended_when_cancelled(e: Evidence) -> Finding:
    """Every span has ended when a run was cancelled while a tool ran."""
    return ended(e)


@TEST.check("spans/parents", "span-parents", "outcomes", "capped")
def parents(e: Evidence) -> Finding:
    """Model calls are children of the run; tools are children of the run or of a model call."""
    names = {span.id: span.name for span in e.observation.spans}
    wrong = []
    for span in e.observation.spans:
        parent = names.get(span.parent, "nothing")
        allowed = {ag03.SPAN_RUN} | ({ag03.SPAN_LLM} if span.name.startswith(ag03.SPAN_TOOL + " ") else set())
        if span.name != ag03.SPAN_RUN and parent not in allowed:
            wrong.append(f"{span.name} is a child of {parent}")
    return equal({"spans": True, "wrong": []}, {"spans": bool(e.observation.spans), "wrong": wrong})


@TEST.check("spans/current", "tool-span-current", "outcomes", "capped")
def current(e: Evidence) -> Finding:
    """While a tool runs, the current span is that tool's."""
    names = {span.id: span.name for span in e.observation.spans}
    ran = {run.call.name: names.get(run.context or "") for run in e.runs()}
    return equal({name: ag03.tool_span(name) for name in ran} if ran else "tools ran", ran)


@TEST.check("spans/failed-run", "run-span-status", "failing")
def failed_run(e: Evidence) -> Finding:
    """The span of a run that an error ended has the status ERROR."""
    return one_of([span.status for span in e.spans(ag03.SPAN_RUN)], ["ERROR"])
