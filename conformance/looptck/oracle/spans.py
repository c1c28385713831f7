"""The spans that a run made beside those that it has to make (section 2.7). Pure.

Spans of other names are the loop's own affair. Spans are matched by name and what they say, not by time: whether a span
lies around its step or inside it is open.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from looptck.contract import ag03
from looptck.observe.rig import MODEL
from looptck.oracle.difference import Difference
from looptck.oracle.predicted import REFUSED, final_usage, reported_twice
from looptck_fakes import ToolStarted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from looptck.observation import AnyRecord, Observation, SpanSeen
    from looptck.oracle.predicted import Predicted
    from looptck.scenario import Scenario


def differences(scenario: Scenario, runs: Sequence[Predicted], observation: Observation) -> Iterator[Difference]:
    """Every difference in the spans of all these invocations together, each by itself; none where there is no tracer.

    They are the first ones of the scenario; what a run traced that is not among them is not looked at.
    """
    if not scenario.tracer:
        return
    spans, records = _of_the_first(len(runs), observation)
    doubtful = next((run.doubtful for run in runs if run.doubtful is not None), None)
    for found in (
        _runs(scenario, runs, spans),
        _models(runs, spans),
        _tools(runs, spans),
        _parents(spans),
        _current(spans, records),
        _ended(spans),
    ):
        if found is not None:
            yield found.resting_on(doubtful)


def _of_the_first(runs: int, observation: Observation) -> tuple[Sequence[SpanSeen], Sequence[AnyRecord]]:
    """The spans and the log of so many runs, up to where the next began: one run follows the other."""
    if runs >= len(observation.invocations):
        return observation.spans, observation.records
    roots = [place for place, span in enumerate(observation.spans) if span.name == ag03.SPAN_RUN]
    end = roots[runs] if runs < len(roots) else len(observation.spans)
    return observation.spans[:end], observation.records[: observation.invocations[runs].began]


def _named(spans: Sequence[SpanSeen], name: str) -> list[SpanSeen]:
    return [span for span in spans if span.name == name]


def _runs(scenario: Scenario, runs: Sequence[Predicted], spans: Sequence[SpanSeen]) -> Difference | None:
    """One span for each run, with the agent's name and the number of iterations; of a failed run it has an error."""
    seen = _named(spans, ag03.SPAN_RUN)
    runs = _traced(runs, len(seen))
    name = scenario.options.name
    expected: list[Any] = [["INTERNAL", name] if name is not None else ["INTERNAL"] for _ in runs]
    got = [[span.kind, span.attributes.get(ag03.AGENT_NAME)][: 2 if name is not None else 1] for span in seen]
    if got != expected:
        return Difference("run-span", f"spans {ag03.SPAN_RUN}", expected, got)
    for run, span in zip(runs, seen, strict=True):
        iterations = span.attributes.get(ag03.ITERATIONS)
        if not _tells(span, run):
            about = f"{ag03.ITERATIONS} of {ag03.SPAN_RUN}"
            return Difference("run-span-iterations", about, run.model_calls, iterations)
        twice = sorted({ag03.INPUT_TOKENS, ag03.OUTPUT_TOKENS} & span.attributes.keys())
        if twice:
            return Difference("tokens-told-once", f"tokens of {ag03.SPAN_RUN}", [], twice)
        if run.ending != "answered" and span.status != "ERROR":
            return Difference("run-span-status", f"status of {ag03.SPAN_RUN}", "ERROR", span.status)
    return None


def _traced(runs: Sequence[Predicted], spans: int) -> Sequence[Predicted]:
    """The runs that have a span: whether one has that refused its input is open, for it may not have begun."""
    begun = [run for run in runs if run.ending not in REFUSED]
    return begun if spans == len(begun) else runs


def tells(run: Predicted, place: int, observation: Observation) -> bool:
    """Whether the span of invocation `place` tells the iterations that this run had; also where it has no span."""
    seen = _named(observation.spans, ag03.SPAN_RUN)[place : place + 1]
    return not seen or _tells(seen[0], run)


def _tells(span: SpanSeen, run: Predicted) -> bool:
    return span.attributes.get(ag03.ITERATIONS) in tuple(_iterations(run))  # a loop may give what has no hash


def _iterations(run: Predicted) -> set[int | None]:
    """Model calls, one that failed among them or not, and a resumed turn counted or not; or the last number."""
    attempts = sum(one.ask is not None for one in run.rounds)
    resumed = sum(one.ask is None for one in run.rounds)
    counted: set[int | None] = {calls + extra for calls in (run.model_calls, attempts) for extra in {0, resumed}}
    if run.ending in REFUSED:
        counted.add(None)
    return counted | {run.number - failed for failed in {0, attempts - run.model_calls}}


def _models(runs: Sequence[Predicted], spans: Sequence[SpanSeen]) -> Difference | None:
    """One span for each model call, with its own tokens; a replayed or refused one may have a span or not."""
    seen = _named(spans, ag03.SPAN_LLM)
    asks = [one.ask for run in runs for one in run.rounds if one.ask is not None]
    made = [ask for ask in asks if ask.how == "asked"]
    if not len(made) <= len(seen) <= len(asks):
        return Difference("llm-spans", f"spans {ag03.SPAN_LLM}", len(made), len(seen))
    for span in seen:
        said = [span.kind, span.attributes.get(ag03.REQUEST_MODEL)]
        if said != ["CLIENT", MODEL]:
            return Difference("llm-spans", f"a span {ag03.SPAN_LLM}", ["CLIENT", MODEL], said)
    whole = [ask.turn for ask in made if ask.turn is not None and ask.turn.error is None]
    expected = [[final_usage(turn).input_tokens, final_usage(turn).output_tokens] for turn in whole]
    got = [[span.attributes.get(ag03.INPUT_TOKENS), span.attributes.get(ag03.OUTPUT_TOKENS)] for span in seen]
    # Of a call that cost nothing there need not be any: zero-usage-in-spans.
    missing = Counter(map(str, expected)) - Counter(str([0, 0] if said == [None, None] else said) for said in got)
    twice = any(reported_twice(turn) for turn in whole)
    requirement = "usage-last-report-counts" if twice else "llm-spans-tokens"
    return Difference(requirement, f"tokens of {ag03.SPAN_LLM}", expected, got) if missing else None


def _tools(runs: Sequence[Predicted], spans: Sequence[SpanSeen]) -> Difference | None:
    """One span for each call of a turn, with its outcome; for calls that were never dispatched it is open."""
    must, may, own = Counter[tuple[str, str]](), Counter[str](), Counter[str]()
    for run in runs:
        for one in run.rounds:
            settled = one.dispatched and not one.refused and not one.replayed
            for item in one.planned:
                if settled or item.fate == "waits":
                    must[ag03.tool_span(item.call.name), _outcome(item.fate, failed=_failed(item))] += 1
                own[ag03.tool_span(item.call.name)] += settled and item.fate == "invalid"
            may.update(ag03.tool_span(call.name) for _, call in one.proposed)
    seen = [span for span in spans if span.name.startswith(f"{ag03.SPAN_TOOL} ") or span.name == ag03.SPAN_TOOL]
    got = Counter((span.name, str(span.attributes.get(ag03.OUTCOME))) for span in seen)
    expected, shown = ([f"{name}: {outcome}" for name, outcome in sorted(side.elements())] for side in (must, got))
    about = f"spans {ag03.SPAN_TOOL}"
    names = Counter(name for name, _ in must.elements())
    if names - Counter(span.name for span in seen) or Counter(span.name for span in seen) - may:
        return Difference("tool-spans", about, expected, shown)
    short, more = must - got, got - must
    for name, number in own.items():  # what a loop refuses it may call denied
        short[name, ag03.OUTCOME_ERROR] -= min(number, more[name, ag03.OUTCOME_DENIED])
    if +short:
        return Difference("tool-span-outcome", about, expected, shown)
    for span in seen:
        said = [span.kind, span.attributes.get(ag03.TOOL_NAME)]
        wanted = ["INTERNAL", span.name.removeprefix(f"{ag03.SPAN_TOOL} ")]
        if said != wanted:
            return Difference("tool-spans", f"a span {span.name}", wanted, said)
    return None


def _failed(item: Any) -> bool:
    return bool(item.call.is_error or item.call.raises is not None)


def _outcome(fate: str, *, failed: bool) -> str:
    if fate == "runs":
        return ag03.OUTCOME_ERROR if failed else ag03.OUTCOME_OK
    outcomes = {"denied": ag03.OUTCOME_DENIED, "waits": ag03.OUTCOME_NEEDS_APPROVAL, "invalid": ag03.OUTCOME_ERROR}
    return outcomes[fate]


def _parents(spans: Sequence[SpanSeen]) -> Difference | None:
    """Spans of model calls and tools lie below that of their run."""
    by_id = {span.id: span for span in spans}
    for span in spans:
        if span.name != ag03.SPAN_LLM and not span.name.startswith(ag03.SPAN_TOOL):
            continue
        above, steps = span, 0
        while above.parent in by_id and above.name != ag03.SPAN_RUN and steps < len(spans):
            above, steps = by_id[above.parent], steps + 1
        if above.name != ag03.SPAN_RUN:
            return Difference("span-parents", f"parent of {span.name}", ag03.SPAN_RUN, above.name or "none")
    return None


def _current(spans: Sequence[SpanSeen], records: Sequence[AnyRecord]) -> Difference | None:
    """While a tool runs the current span is that call's own."""
    names = {span.id: span.name for span in spans}
    for record in records:
        if isinstance(record, ToolStarted) and names.get(record.context or "") != ag03.tool_span(record.call.name):
            about, seen = f"the current span while {record.call.id} runs", names.get(record.context or "", "none")
            return Difference("tool-span-current", about, ag03.tool_span(record.call.name), seen)
    return None


def _ended(spans: Sequence[SpanSeen]) -> Difference | None:
    open_ones = [span.name for span in spans if not span.ended]
    return Difference("spans-ended", "spans that have not ended", [], open_ones) if open_ones else None
