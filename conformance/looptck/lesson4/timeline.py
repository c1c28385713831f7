"""The timeline of the runs of lesson4, where a model call or a dispatch too many shows. Pure.

The fakes of this profile keep no common log. Nothing runs at once, so the order follows from what was asked: a model
call, then the calls of its reply that were dispatched, as in the worked rows. Beyond a limit is only what no reading of
the specification allows, and only where the scenario sets the limit.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from looptck.contract.messages import Usage
from looptck.lesson4.evidence import calls_as_written, dispatched, written
from looptck.report.lanes import Bar, Line, cut, lanes_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from looptck.lesson4.evidence import Evidence
    from looptck.lesson4.observation import SpanSeen
    from looptck.lesson4.scenario import Ask, Meter, Reply
    from looptck.report.lanes import Timeline

_PRICED = 1000
_ROUNDING = 1e-9


def timeline(evidence: Evidence) -> Timeline | None:
    """The timeline of an observation; None where no run was made."""
    seen, drawn = evidence.observation, _Drawn()
    if not seen.runs:
        return None
    for place in range(len(seen.runs)):
        _Run(evidence, place, drawn).draw()
    lanes = lanes_of("run", "run", drawn.runs) + lanes_of("model", "model", drawn.models)
    lanes += lanes_of("tool", "tool", drawn.tools) + lanes_of("span", "spans", _spans(seen.spans))
    return cut(drawn.size, lanes, drawn.lines)


def _spans(spans: tuple[SpanSeen, ...]) -> Iterator[Bar]:
    for span in spans:
        if span.began is not None:
            told = f"span {span.name}{'' if span.ended else ', never ended'}"
            yield Bar(span.began, span.finished, span.name, told, "" if span.ended else "broken")


@dataclass(slots=True)
class _Drawn:
    """What has been drawn so far; `size` is the next place."""

    size: int = 0
    runs: list[Bar] = field(default_factory=list)
    models: list[Bar] = field(default_factory=list)
    tools: list[Bar] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)

    def bar(self, lane: list[Bar], text: str, told: str, beyond: str = "") -> None:
        """The next place as a bar; `beyond` says why it should not be there, if it should not."""
        told = f"{told}; {beyond}" if beyond else told
        lane.append(Bar(self.size, self.size + 1, text, told, "beyond" if beyond else ""))
        self.size += 1

    def line(self, kind: Literal["cap", "budget", "end"], text: str) -> None:
        """A line before the next place."""
        self.lines.append(Line(self.size, kind, text))


class _Run:
    """One run as it is drawn: what it has spent and asked for so far, and the limit that it has reached."""

    def __init__(self, evidence: Evidence, place: int, drawn: _Drawn) -> None:
        self.evidence, self.place, self.drawn = evidence, place, drawn
        self.meter = evidence.scenario.meter
        self.spent = Usage()
        self.times: Counter[str] = Counter()
        self.rest = list(evidence.run(place).dispatched)
        self.reached = ""

    def draw(self) -> None:
        """Its model calls with what was dispatched, and the run around them."""
        began, replies = self.drawn.size, self.evidence.task(self.place).replies
        self._ceilings(0)
        for number in range(len(self.evidence.run(self.place).requests)):
            self.drawn.bar(self.drawn.models, str(number), f"model call of step {number}", self.reached)
            if number < len(replies):
                self._turn(replies[number])
            self._ceilings(number + 1)
        shown = calls_as_written(self.evidence.scenario)
        for line in self.rest:
            name, told = line.partition(" = ")[2].partition("(")[0], f"also dispatched: {shown.get(line, line)}"
            self.drawn.bar(self.drawn.tools, name, told)
        several = len(self.evidence.observation.runs) > 1
        name, ending = f"run {self.place + 1}" if several else "the run", self.evidence.ending(self.place)
        self.drawn.runs.append(Bar(began, self.drawn.size, f"{name}: {ending}", f"{name} ends: {ending}"))
        self.drawn.line("end", f"end of {name}")

    def _turn(self, reply: Reply) -> None:
        """The calls of a reply that were dispatched. From the one that passes the repeat limit on, none should be."""
        limit = self.meter.repeat_limit if self.meter is not None else None
        late, fatal = self.reached, False
        for ask, line, shown in zip(reply.asks, dispatched(reply.asks), written(reply.asks), strict=True):
            self.times[_same(ask)] += 1
            if limit is not None and self.times[_same(ask)] > limit and not late:
                late = f"a call had passed the repeat limit of {limit}"
                self.drawn.line("cap", f"repeats: {self.times[_same(ask)]} > {limit}")
            if line in self.rest:
                self.rest.remove(line)
                self.drawn.bar(self.drawn.tools, ask.name, f"dispatched: {shown}, {ask.outcome}", late)
                fatal = fatal or ask.outcome == "fatal"
        self.spent += reply.usage.usage()
        self.reached = late or ("a fatal tool error came before it" if fatal else "")

    def _ceilings(self, steps: int) -> None:
        """What is reached after so many steps: no model call should follow."""
        if self.meter is None or self.reached:
            return
        for kind, text in _passed(self.meter, steps, self.spent):
            self.drawn.line(kind, text)
            self.reached = "a ceiling was reached before it"


def _passed(meter: Meter, steps: int, spent: Usage) -> Iterator[tuple[Literal["cap", "budget"], str]]:
    """The ceilings that so many steps and tokens have reached or passed."""
    if meter.max_total_tokens is not None and spent.total > meter.max_total_tokens:
        yield "budget", f"tokens: {spent.total} > {meter.max_total_tokens}"
    price = meter.price_per_1k_input or 0.0, meter.price_per_1k_output or 0.0
    cost = (spent.input_tokens * price[0] + spent.output_tokens * price[1]) / _PRICED
    if meter.max_cost is not None and cost > meter.max_cost + _ROUNDING:
        yield "budget", f"cost: {cost:.6g} > {meter.max_cost:.6g}"
    if meter.max_steps is not None and steps >= meter.max_steps:
        yield "cap", f"steps: {meter.max_steps}"


def _same(ask: Ask) -> str:
    """The same for calls that are the same: name and arguments, whatever the order of keys."""
    return json.dumps([ask.name, ask.arguments, ask.opaque], sort_keys=True)
