"""What no reading allows, whatever else of a run is open or rests on good sense: verdicts (section 2.5), and limits.

Where a run rests on good sense, since arguments are no JSON object or two calls share an id, a prediction holds no more
than that against it. What a call is does not make it run, though: one that is denied, or waits for an approval that was
not given, never does, nor does anything beside one that waits, nor what is past a limit however its calls are counted.
So this asks no prediction. It only counts what was seen, in the favour of the loop wherever that is not clear. Pure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from looptck.contract.ag03 import DEFAULT_MAX_ITER
from looptck.oracle.difference import Difference
from looptck.oracle.lines import unfit
from looptck.oracle.predicted import early_usage, final_usage
from looptck.oracle.seen import SeenRound, seen_rounds
from looptck.scenario import Turn
from looptck.suite.evidence import call_line
from looptck_fakes import GateAsked, ToolStarted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from looptck.observation import AnyRecord
    from looptck.scenario import Call, Scenario


def forbidden(scenario: Scenario, place: int, records: Sequence[AnyRecord]) -> Iterator[Difference]:
    """What invocation `place` did that is forbidden under every reading, round by round; `records` are its own."""
    run = _Run(scenario, place)
    for one in seen_rounds(records):
        yield from run.round(one)


class _Run:
    """One invocation: `made` calls and `spent` tokens count at least, `asked` are its requests so far."""

    def __init__(self, scenario: Scenario, place: int) -> None:
        self.scenario, self.invocation = scenario, scenario.invocations[place]
        self.known = {call_line(call.call()): call for call in scenario.calls()}
        self.place, self.made, self.spent, self.asked = place, 0, 0, 0

    def round(self, one: SeenRound) -> Iterator[Difference]:
        """What is forbidden of a model step and what followed it."""
        turns = self.invocation.turns
        turn = turns[self.asked] if one.request is not None and self.asked < len(turns) else Turn()
        self.asked += one.request is not None
        self.spent += _least(turn)
        about = f"invocation {self.place + 1}, tool runs behind model request {self.asked}"
        runs = sorted({call_line(record.call) for record in one.of(ToolStarted)})
        for requirement, ran in (*self._verdicts(one, runs), *self._limits(turn, runs)):
            if ran:
                yield Difference(requirement, about, [], ran)
        cap = DEFAULT_MAX_ITER if self.scenario.options.max_iter is None else self.scenario.options.max_iter
        if one.request is not None and self.asked > cap > 0:
            yield Difference("iteration-cap", f"invocation {self.place + 1}, model requests", cap, self.asked)

    def _verdicts(self, one: SeenRound, runs: list[str]) -> Iterator[tuple[str, list[str]]]:
        """Runs of calls that are denied or wait, and runs beside one that the gate told to wait."""
        if not self.scenario.gate:
            return
        barred = [line for line in runs if self._barred(self.known.get(line)) and not self._written_anew(line, runs)]
        yield "denied-not-run", [line for line in barred if self.known[line].verdict == "deny"]
        yield "approval-runs-nothing", [line for line in barred if self.known[line].verdict == "need_approval"]
        asked = (self.known.get(call_line(record.call)) for record in one.of(GateAsked))
        waits = any(call is not None and call.verdict == "need_approval" and self._barred(call) for call in asked)
        yield "approval-runs-nothing", runs if waits else []

    def _barred(self, call: Call | None) -> bool:
        """Whether a call must not run. What becomes of one about which the gate raises is for good sense."""
        if call is None or call.verdict not in {"deny", "need_approval"}:
            return False
        return call.verdict == "deny" or call.marker not in (self.invocation.approvals or ())

    def _written_anew(self, line: str, runs: list[str]) -> bool:
        """Whether a run may be that of an allowed sibling whose arguments were made into an object: both look the same.

        That is so where no more calls of this id and name ran than are allowed.
        """
        call = self.known[line]
        alike = {other: known for other, known in self.known.items() if (known.id, known.name) == (call.id, call.name)}
        allowed = {other: known for other, known in alike.items() if not self._barred(known)}
        ran = sum(other.startswith(f"{call.id} = {call.name}(") for other in runs)
        missing = any(unfit(known) for other, known in allowed.items() if other not in runs)
        return not unfit(call) and missing and ran <= len(allowed)

    def _limits(self, turn: Turn, runs: list[str]) -> Iterator[tuple[str, list[str]]]:
        """Runs past a budget. Calls that failed count by good sense alone, and what zero means is open."""
        options, made = self.scenario.options, self.made
        self.made += sum(line in self.known and not _fails(self.known[line]) for line in runs)
        if options.max_tool_calls and max(made + self._certain(turn), self.made) > options.max_tool_calls:
            yield "tool-call-budget", runs
        if options.max_tokens and self.spent > options.max_tokens:
            yield "token-budget", runs

    def _certain(self, turn: Turn) -> int:
        """How many calls of a turn have to find room in the budget, in whatever way the others are counted."""
        allowed = (call for call in turn.calls if not self.scenario.gate or call.verdict == "allow")
        return 0 if turn.error is not None else len({call.id for call in allowed if not unfit(call)})


def _fails(call: Call) -> bool:
    return call.is_error or call.raises is not None


def _least(turn: Turn) -> int:
    """The fewest tokens that a reply can be said to cost; of one that failed it is open whether it cost any."""
    if turn.error is not None:
        return 0
    return min(usage(turn).total for usage in ((final_usage, early_usage) if turn.early_usage else (final_usage,)))
