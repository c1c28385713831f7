"""The timeline of a run of ag03, over the order of the kit's log, where a late cap or a tool too many shows. Pure.

What is drawn as beyond a limit is only what no reading of the specification allows. It explains; checks alone judge.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from looptck.contract.ag03 import DEFAULT_MAX_ITER, DEFAULT_MAX_PARALLEL_TOOLS, ToolCall, Usage
from looptck.open_turn import open_calls
from looptck.report.lanes import Bar, Lane, Line, cut, lanes_of
from looptck.suite.evidence import written_line
from looptck_fakes import GateAsked, ModelAnswered, StepEnded, StepStarted, ToolEnded, ToolStarted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from looptck.observation import InvocationSeen, SpanSeen
    from looptck.report.lanes import Timeline
    from looptck.scenario import Turn
    from looptck.suite.evidence import Evidence

_NEVER = "never ended"
_PREFIX = "agent."
"""What the names of all spans start with: in a bar there is no room for it."""
_BROKEN = frozenset({"error", "closed", "raised", "cancelled", "refused", "failed", "lost", "stopped", _NEVER})


@dataclass(frozen=True, slots=True)
class _Stretch:
    """From a record to the one that ended it, and how; `end` is None where there is none."""

    start: int
    end: int | None
    how: str

    @classmethod
    def of(cls, start: int, ended: ModelAnswered | ToolEnded | StepEnded | None) -> _Stretch:
        """The stretch between two records, both included."""
        return cls(start, None, _NEVER) if ended is None else cls(start, ended.at + 1, ended.how)

    def bar(self, text: str, what: str, beyond: str = "") -> Bar:
        """The bar of it; `beyond` tells which limit should have prevented it, if one should have."""
        place = f"from {self.start}" if self.end is None else f"{self.start} to {self.end}"
        told = f"{what}: {place}, {self.how}{f'; {beyond}' if beyond else ''}"
        return Bar(self.start, self.end, text, told, "beyond" if beyond else "broken" if self.how in _BROKEN else "")


def timeline(evidence: Evidence) -> Timeline | None:
    """The timeline of an observation; None where nothing was observed."""
    seen = evidence.observation
    if not seen.records and not seen.invocations:
        return None
    runs = [_Run(evidence, place) for place in range(len(seen.invocations))] or [_Run(evidence, 0)]
    lanes = [lane for track in _tracks(runs) for lane in _lanes(evidence, track)]
    lanes += lanes_of("step", "steps", _steps(evidence))
    lanes += _spans(seen.spans)
    return cut(len(seen.records), lanes, [line for run in runs for line in run.lines()])


class _Run:
    """One invocation: what belongs to it, and where its limits are reached."""

    def __init__(self, evidence: Evidence, place: int) -> None:
        self.evidence, self.place = evidence, place
        self.seen = evidence.invocation(place)
        self.models = list(_models(evidence, place))
        self.spent_at = list(_budgets(evidence, self.seen, self.models))

    @property
    def name(self) -> str:
        """What it is called where there are several."""
        return f"run {self.place + 1}" if len(self.evidence.observation.invocations) > 1 else "the run"

    def bar(self) -> Bar:
        """From its start to its end."""
        ending = self.evidence.ending(self.place)
        return Bar(self.seen.began, self.seen.ended, f"{self.name}: {ending}", f"{self.name} ends: {ending}")

    def model_bars(self) -> Iterator[Bar]:
        """Its model calls; those past the cap or a budget are beyond."""
        cap = self._cap()
        for number, (stretch, _) in enumerate(self.models, 1):
            late = f"beyond the cap of {cap}" if number > cap > 0 else self.late(stretch.start)
            yield stretch.bar(str(number), f"model call {number} of {self.name}", late)

    def late(self, at: int) -> str:
        """Why nothing should begin at that place any more; empty where it may."""
        if any(line.at <= at for line in self.spent_at):
            return "a budget was passed before it"
        beyond = self.models[self._cap() :] if self._cap() > 0 else []
        return "it follows a model call beyond the cap" if beyond and beyond[0][0].start < at else ""

    def lines(self) -> Iterator[Line]:
        """Where the cap and budgets are reached, and the end."""
        cap = self._cap()
        if len(self.models) >= cap > 0:
            last = self.models[cap - 1][0]
            yield Line(last.start + 1 if last.end is None else last.end, "cap", f"cap: {cap}")
        yield from self.spent_at
        if self.seen.status not in {"unfinished", "timeout", "no_interface"}:
            yield Line(self.seen.ended, "end", f"end of {self.name}")

    def _cap(self) -> int:
        """The cap. What a limit of zero means is left open, so nothing is drawn as beyond one."""
        given = self.evidence.scenario.options.max_iter
        return DEFAULT_MAX_ITER if given is None else given


def _models(evidence: Evidence, place: int) -> Iterator[tuple[_Stretch, Turn | None]]:
    """The model calls of an invocation, each with the reply that it was given."""
    answered = {r.number: r for r in evidence.observation.records if isinstance(r, ModelAnswered)}
    turns = evidence.asked(place).turns
    for number, record in enumerate(evidence.requests(place), start=evidence.replies_kept(place)):
        yield _Stretch.of(record.at, answered.get(record.number)), turns[number] if number < len(turns) else None


def _budgets(
    evidence: Evidence, seen: InvocationSeen, models: Sequence[tuple[_Stretch, Turn | None]]
) -> Iterator[Line]:
    """Where a reply takes the run past one of its budgets, the first time of each. Denied calls are not counted.

    What a budget of zero means is left open, so none is passed.
    """
    options = evidence.scenario.options
    spent, wanted = Usage(), _wanted(evidence, open_calls(seen.input))
    tokens, calls = options.max_tokens, options.max_tool_calls
    places = [(seen.began, None), *((stretch.end, turn) for stretch, turn in models)]
    for at, turn in places:
        if at is None:
            continue
        if turn is not None:
            spent += turn.usage.usage() if turn.usage is not None and turn.error is None else Usage()
            wanted += _wanted(evidence, [call.call() for call in turn.calls])
        if tokens and spent.total > tokens:
            yield Line(at, "budget", f"tokens: {spent.total} > {tokens}")
            tokens = None
        if calls and wanted > calls:
            yield Line(at, "budget", f"calls: {wanted} > {calls}")
            calls = None


def _wanted(evidence: Evidence, calls: Sequence[ToolCall]) -> int:
    denied = {call.id for call in evidence.scenario.calls() if call.verdict == "deny"} if evidence.scenario.gate else ()
    return sum(call.id not in denied for call in calls)


# lanes


@dataclass(slots=True)
class _Track:
    """Invocations that follow each other in the same lanes; those that are made at once have lanes of their own."""

    runs: list[_Run] = field(default_factory=list)
    label: str = ""


def _tracks(runs: Sequence[_Run]) -> list[_Track]:
    tracks: list[_Track] = []
    for run in runs:
        side = run.evidence.asked(run.place).alongside
        number = len([other for other in runs[: run.place] if side and other.seen.ended > run.seen.began])
        if number == len(tracks):
            tracks.append(_Track(label=f" of {run.name}" if number else ""))
        tracks[number].runs.append(run)
    return tracks


def _lanes(evidence: Evidence, track: _Track) -> list[Lane]:
    """The lanes of a track: its runs, their model calls, gate questions and tools."""
    found = lanes_of("run", "run", (run.bar() for run in track.runs))
    found += lanes_of("model", f"model{track.label}", (bar for run in track.runs for bar in run.model_bars()))
    found += lanes_of("gate", f"gate{track.label}", (bar for run in track.runs for bar in _questions(run)))
    bound = evidence.scenario.options.max_parallel_tools
    tools = [bar for run in track.runs for bar in _tools(run)]
    return found + lanes_of("tool", f"tool{track.label}", tools, DEFAULT_MAX_PARALLEL_TOOLS if bound is None else bound)


def _questions(run: _Run) -> Iterator[Bar]:
    for record in run.evidence.observation.records:
        if isinstance(record, GateAsked) and _owner(run.evidence, record.at, record.call) == run.place:
            told = f"gate asked about {written_line(record.call)}: {record.verdict}"
            yield Bar(record.at, record.at + 1, record.verdict, told, "broken" if record.verdict == "raised" else "")


def _tools(run: _Run) -> Iterator[Bar]:
    """Tools in flight; those that begin when a limit has been passed are beyond."""
    ended = {r.run: r for r in run.evidence.observation.records if isinstance(r, ToolEnded)}
    for record in run.evidence.observation.records:
        if not isinstance(record, ToolStarted) or _owner(run.evidence, record.at, record.call) != run.place:
            continue
        stretch = _Stretch.of(record.at, ended.get(record.run))
        yield stretch.bar(record.call.name, f"tool {written_line(record.call)}", run.late(record.at))


def _owner(evidence: Evidence, at: int, call: ToolCall) -> int:
    """The invocation that a call belongs to: the latest begun, and of several at once the one that knows its id."""
    seen = evidence.observation.invocations
    begun = [place for place, run in enumerate(seen) if run.began <= at]
    at_once = [place for place in begun if at < seen[place].ended]
    for place in at_once if len(at_once) > 1 else ():
        if any(known.id == call.id for known in evidence.asked(place).calls()):
            return place
    return begun[-1] if begun else 0


def _steps(evidence: Evidence) -> Iterator[Bar]:
    ended = {record.step: record for record in evidence.observation.records if isinstance(record, StepEnded)}
    for record in evidence.observation.records:
        if isinstance(record, StepStarted):
            yield _Stretch.of(record.at, ended.get(record.step)).bar(record.name, f"step {record.name}")


def _spans(spans: Sequence[SpanSeen]) -> list[Lane]:
    """Spans whose places are known, each depth below the one of its parents."""
    parents = {span.id: span.parent for span in spans}
    by_depth: dict[int, list[Bar]] = {}
    for span in spans:
        if span.began is None:
            continue
        depth, above = 0, span.parent
        while above in parents and depth < len(spans):
            depth, above = depth + 1, parents[above]
        whole = span.ended and span.status != "ERROR"
        told = f"span {span.name}, status {span.status}{'' if span.ended else f', {_NEVER}'}"
        bar = Bar(span.began, span.finished, span.name.removeprefix(_PREFIX), told, "" if whole else "broken")
        by_depth.setdefault(depth, []).append(bar)
    return [
        replace(lane, label="spans" if depth == 0 else f"spans, level {depth + 1}")
        for depth, bars in sorted(by_depth.items())
        for lane in lanes_of("span", "spans", bars)
    ]
