"""A turn as it was seen beside the predicted one: questions, runs, what was in flight, steps. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from looptck.contract.ag03 import DEFAULT_MAX_PARALLEL_TOOLS, tool_step
from looptck.oracle.difference import Difference
from looptck.suite.evidence import call_line
from looptck_fakes import GateAsked, StepEnded, StepStarted, ToolEnded, ToolStarted

if TYPE_CHECKING:
    from collections.abc import Callable

    from looptck.oracle.predicted import Ending, Round
    from looptck.oracle.seen import SeenRound
    from looptck.scenario import Scenario

_RAN_TOO_MUCH = {
    "answered": "loop-repeats",
    "max_iter": "iteration-cap",
    "tokens": "token-budget",
    "tool_calls": "tool-call-budget",
    "approval": "approval-runs-nothing",
    "provider": "provider-error-no-tools",
    "step": "step-error-ends-run",
    "gate": "gate-raises",
}
"""By what ends a run: the requirement that a tool run of the turn that is not dispatched breaks."""


def difference(scenario: Scenario, one: Round, seen: SeenRound, ending: Ending, *, runner: bool) -> Difference | None:
    """The first difference of a turn; `runner` tells whether there is a step runner to see its steps.

    Its `at` is the place of what differs in this list.
    """
    looks: tuple[Callable[[], Difference | None], ...] = (
        lambda: _questions(one, seen),
        lambda: _runs(one, seen, ending),
        lambda: _in_flight(scenario, one, seen),
        lambda: _steps(one, seen, ending) if runner else None,
        lambda: _verbatim(one, seen),
    )
    for at, look in enumerate(looks, 1):
        if (found := look()) is not None:
            return replace(found, at=at)
    return None


def _questions(one: Round, seen: SeenRound) -> Difference | None:
    """The gate is asked about each call, before any runs; twice about one is no harm."""
    about = f"the gate in iteration {one.number}"
    asked = seen.of(GateAsked)
    lines = sorted({call_line(record.call) for record in asked})
    calls = sorted({call_line(call.call()) for _, call in one.proposed}) if one.asked != "none" else []
    if lines != calls and not (one.asked == "some" and set(lines) <= set(calls)):
        return Difference("gate-asked-every-call", about, calls, lines)
    for record in asked:
        if record.iter != one.number:
            requirement = "gate-context-iter" if one.ask is not None else "resumed-number-everywhere"
            return Difference(requirement, f"{about}, iter", one.number, record.iter)
        if record.tainted != one.tainted:
            requirement = "taint-from-input" if one.tainted_by_input else "taint-after-tool-message"
            return Difference(requirement, f"{about}, tainted", one.tainted, record.tainted)
    started = seen.of(ToolStarted)
    if asked and started and started[0].at < asked[-1].at:
        return Difference("gate-before-dispatch", about, "all questions, then the runs", seen.told())
    return None


def _runs(one: Round, seen: SeenRound, ending: Ending) -> Difference | None:
    """Each call that may run does, once; beside a refused step its siblings may run or not."""
    runs = Counter(call_line(record.call) for record in seen.of(ToolStarted))
    wanted = Counter(call_line(item.call.call()) for item in one.running())
    too_many, too_few = runs - wanted, wanted - runs
    if not too_many and (not too_few or one.refused):
        return None
    about = f"tool runs in iteration {one.number}"
    return Difference(_ran(one, ending, too_many), about, sorted(wanted.elements()), sorted(runs.elements()))


def _ran(one: Round, ending: Ending, too_many: Counter[str]) -> str:
    """The requirement that runs break which are not the predicted ones."""
    fates = {call_line(item.call.call()): item.fate for item in one.planned}
    if one.replayed:
        return "replay-calls-nothing"
    if too_many and not one.dispatched:
        return _RAN_TOO_MUCH[ending]
    if "denied" in {fates.get(line) for line in too_many}:
        return "denied-not-run"
    if too_many and one.refused:
        return "step-error-ends-run"
    return "loop-runs-calls" if one.ask is not None else "resume-dispatches"


def _in_flight(scenario: Scenario, one: Round, seen: SeenRound) -> Difference | None:
    """Never more than the bound; and as many as it allows, where the scenario holds tools until no more start."""
    given = scenario.options.max_parallel_tools
    bound = DEFAULT_MAX_PARALLEL_TOOLS if given is None else given
    held = scenario.finish != "at_once" and not one.refused
    about, runs = f"tools in flight in iteration {one.number}", len(one.running())
    level = peak = 0
    idle = False
    for record in seen.rest:
        level += isinstance(record, ToolStarted) - isinstance(record, ToolEnded)
        peak = max(peak, level)
        idle = idle or (isinstance(record, ToolEnded) and level < min(bound, runs) - 1 and runs > bound)
        runs -= isinstance(record, ToolEnded)
    least = min(bound, len(one.running())) if held else 0
    if given == 0:  # what that means is open
        return None
    if not least <= peak <= bound:
        requirement = "parallel-at-once" if len(one.running()) <= bound else "parallel-bound"
        requirement = "parallel-bound-default" if given is None and peak > bound else requirement
        return Difference(requirement, about, f"{least} to {bound}", str(peak))
    if held and idle:
        return Difference("parallel-slots-refilled", about, "a slot that is left is taken at once", seen.told())
    return None


def _steps(one: Round, seen: SeenRound, ending: Ending) -> Difference | None:
    """Every run lies within a step of its own name; a denial may be a step too."""
    about = f"steps in iteration {one.number}"
    started = seen.of(StepStarted)
    names = Counter(record.name for record in started)
    must, may = _names(one)
    if must - names or names - may:
        return Difference(_misnamed(one, names, must, ending), about, sorted(must), sorted(names.elements()))
    kinds = sorted({record.kind for record in started} - {"tool"})
    if kinds:
        return Difference("step-kinds", about, ["tool"], kinds)
    opened = running = 0
    for record in seen.rest:
        opened += isinstance(record, StepStarted) - isinstance(record, StepEnded)
        running += isinstance(record, ToolStarted) - isinstance(record, ToolEnded)
        if running > opened:
            return Difference("every-call-a-step", about, "each run within a step", seen.told())
    return None


def _names(one: Round) -> tuple[Counter[str], Counter[str]]:
    """The steps that a turn has to be, and those that it may be; a refused one ends it before the others."""
    if not one.dispatched:
        return Counter(), Counter()
    names = {item.index: tool_step(one.number, item.index, item.call.name) for item in one.planned}
    runs = [names[item.index] for item in one.planned if item.fate == "runs"]
    return Counter([] if one.refused else runs), Counter(names.values())


def _misnamed(one: Round, names: Counter[str], must: Counter[str], ending: Ending) -> str:
    if not one.dispatched:
        return _RAN_TOO_MUCH[ending]
    if max(names.values(), default=0) > 1:
        return "step-names-distinct"
    if any(item.fate == "denied" for item in one.planned) and names.total() == must.total():
        return "step-index-in-turn"
    if one.ask is None:
        return "resumed-number-everywhere"
    return "step-names" if names.total() >= must.total() else "every-call-a-step"


def _verbatim(one: Round, seen: SeenRound) -> Difference | None:
    """Arguments reach the tools letter by letter; that their values are the same was looked at before."""
    written = sorted(item.call.arguments for item in one.running())
    got = sorted(record.call.arguments for record in seen.of(ToolStarted))
    if one.refused or written == got:
        return None
    return Difference("arguments-verbatim", f"arguments in iteration {one.number}", written, got)
