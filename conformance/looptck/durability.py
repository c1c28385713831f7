"""A scenario of ag03 swept: the same run, stopped at every step in turn and gone on with from its journal. Pure.

Each swept scenario ends with three invocations of the same input, options, approvals and replies: one that runs as it
is, to compare with; one that is stopped; and one that resumes from what the journal of the stopped one holds. Where the
loop's own way has fewer steps than foreseen, nothing is stopped, and resuming then means that all is given back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from looptck.contract.ag03 import DEFAULT_MAX_ITER, DEFAULT_MAX_PARALLEL_TOOLS
from looptck.open_turn import open_calls
from looptck.scenario import Stop

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from looptck.scenario import Call, Invocation, Scenario, Turn

WHOLE, STOPPED, RESUMED = -3, -2, -1
"""The places of the three invocations, counted from the end."""
LOST_TOOL = "/lost-tool-"
"""What the names of those scenarios hold in which a tool's outcome is lost, if the loop makes the steps foreseen."""


def sweep(scenario: Scenario) -> tuple[Scenario, ...]:
    """Every swept scenario of a scenario: of each of its invocations that can be, stopped after each of its steps.

    `NAME/after-K`: K steps are recorded and no other has begun. `NAME/lost-model-K`, `NAME/lost-tool-K`: the outcome of
    step K is lost. `NAME/overtaken-K`: of calls that run at once, step K has not begun and the one behind it is
    recorded. NAME has the place of the invocation where there are several. None where there is nothing to sweep: over
    HTTP, where runs are cancelled, replayed or refused, where a tool breaks its promise and raises, and where an open
    turn and the one behind it share the names of steps, if a loop gives both the same number.
    """
    if scenario.transport != "direct":
        return ()
    return tuple(swept for place in range(len(scenario.invocations)) for swept in _of(scenario, place))


def is_swept(scenario: Scenario) -> bool:
    """Whether a scenario has the form that `sweep` gives it: its last three runs are one, stopped and gone on with."""
    if len(scenario.invocations) < -WHOLE:
        return False
    whole, stopped, resumed = (scenario.invocations[place] for place in (WHOLE, STOPPED, RESUMED))
    one, *others = (each.model_dump(exclude={"runner", "stop"}) for each in (whole, stopped, resumed))
    return stopped.stop is not None and resumed.runner == "resume" and others == [one, one]


def _of(scenario: Scenario, place: int) -> Iterator[Scenario]:
    chain = _chain(scenario, place)
    if not all(_plain(scenario.invocations[each]) for each in chain) or _shares_names(scenario, place):
        return
    *before, whole = (_alone(scenario.invocations[each], number - 1) for number, each in enumerate(chain))
    whole = whole.model_copy(update={"runner": "record"})
    name = scenario.name if len(scenario.invocations) == 1 else f"{scenario.name}.{place}"
    for kind, stop in _stops(scenario, place):
        stopped = whole.model_copy(update={"stop": stop})
        resumed = whole.model_copy(update={"runner": "resume"})
        invocations = (*before, whole, stopped, resumed)
        changes = {"name": f"{name}/{kind}", "invocations": invocations, "tracer": False, "finish": "at_once"}
        yield scenario.model_copy(update=changes)


def _chain(scenario: Scenario, place: int) -> list[int]:
    """The places of the invocations whose transcripts lead to this one, and its own."""
    chain = [place]
    while (earlier := scenario.invocations[chain[0]].continues) is not None:
        chain.insert(0, earlier)
    return chain


def _plain(invocation: Invocation) -> bool:
    calls = [call for turn in invocation.turns for call in turn.calls]
    calls += [call for said in invocation.messages for call in said.calls]
    runs = invocation.runner in {"none", "record"} and invocation.stop is None and invocation.cancel == "never"
    return runs and all(call.raises is None for call in calls)


def _alone(invocation: Invocation, before: int) -> Invocation:
    """An invocation with an agent for itself, behind the one that it continues."""
    given = {"reuse_agent": False, "alongside": False, "result_twice": False}
    return invocation.model_copy(update={**given, "continues": None if invocation.continues is None else before})


@dataclass(frozen=True, slots=True)
class _Step:
    """A step that is foreseen; `beside` tells that the next one may run at the same time."""

    kind: str
    beside: bool = False


def _stops(scenario: Scenario, place: int) -> Iterator[tuple[str, Stop]]:
    steps = list(_foreseen(scenario, place))
    yield "after-0", Stop(after=0)
    for number, step in enumerate(steps, start=1):
        yield f"after-{number}", Stop(after=number)
        yield f"lost-{step.kind}-{number}", Stop(after=number, lost=True)
        if step.beside:
            yield f"overtaken-{number}", Stop(after=number, overtaken=True)


def _foreseen(scenario: Scenario, place: int) -> Iterator[_Step]:
    """The steps of an invocation under the specification. More than a loop makes do no harm, so limits are not weighed.

    Denied calls are counted, since a denial may be a step.
    """
    invocation, options = scenario.invocations[place], scenario.options
    at_once = (options.max_parallel_tools or DEFAULT_MAX_PARALLEL_TOOLS) > 1
    approved = invocation.approvals or ()
    calls, waits = _open_calls(scenario, place), False
    cap = DEFAULT_MAX_ITER if options.max_iter is None else options.max_iter
    for turn in (None, *invocation.turns[:cap]):
        if turn is not None:
            yield _Step("model")
            calls = turn.calls
        waits = any(call.verdict == "need_approval" and call.marker not in approved for call in calls)
        if waits or (turn is not None and _ends(turn)) or len(calls) > _most(scenario):
            return
        for number in range(1, len(calls) + 1):
            yield _Step("tool", beside=at_once and number < len(calls))


def _ends(turn: Turn) -> bool:
    return turn.error is not None or not turn.calls


def _most(scenario: Scenario) -> float:
    """Calls that a turn may have at most, whatever the gate says of them."""
    if scenario.gate or scenario.options.max_tool_calls is None:
        return float("inf")
    return scenario.options.max_tool_calls


def _open_calls(scenario: Scenario, place: int) -> tuple[Call, ...]:
    """The calls that the input of an invocation proposes and leaves unanswered."""
    invocation = scenario.invocations[place]
    if not invocation.messages:
        return () if invocation.continues is None else _waiting(scenario, scenario.invocations[invocation.continues])
    known = {call.call(): call for said in invocation.messages for call in said.calls}
    return tuple(known[call] for call in open_calls([said.message() for said in invocation.messages]))


def _waiting(scenario: Scenario, earlier: Invocation) -> tuple[Call, ...]:
    """The calls of the turn that ended an invocation for want of approval."""
    approved = earlier.approvals or ()
    for turn in earlier.turns if scenario.gate else ():
        if any(call.verdict == "need_approval" and call.marker not in approved for call in turn.calls):
            return turn.calls
    return ()


def _shares_names(scenario: Scenario, place: int) -> bool:
    """Whether a call of an open turn would have the step name of a later one, if both turns had the same number."""
    resumed = _names(_open_calls(scenario, place))
    return any(resumed & _names(turn.calls) for turn in scenario.invocations[place].turns)


def _names(calls: Sequence[Call]) -> set[tuple[int, str]]:
    return {(index, call.name) for index, call in enumerate(calls)}
