"""What ends a run of a scenario, as far as its model could notice: nothing is asked behind it. Pure.

Where the specification leaves open whether a run ends at some place, it ends there perhaps: then it may be over, and
may go on.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from looptck.contract.ag03 import DEFAULT_MAX_ITER, llm_step, tool_step

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from looptck.scenario import Call, Invocation, Scenario, Turn

Kind: TypeAlias = Literal[
    "answer", "error", "cap", "default-cap", "tool-calls", "tokens", "approval", "refused", "replay", "open"
]
"""Why a run ends; `open` is whatever the specification leaves open, and never sure."""


@dataclass(frozen=True, slots=True)
class Stop:
    """What may end the run at one place: for sure, or perhaps. Both are empty where the run has to go on."""

    sure: frozenset[Kind] = frozenset()
    perhaps: frozenset[Kind] = frozenset()

    @property
    def any(self) -> bool:
        """Whether the run may be over here."""
        return bool(self.sure or self.perhaps)


def stops_of(
    scenario: Scenario, place: int, turns: Sequence[Turn | None], opening: tuple[Call, ...] | None
) -> list[Stop]:
    """What ends the invocation `place`, before its first model call and behind each of `turns`.

    A turn that is None is a request beyond the script. `opening` are the calls that the input leaves unanswered; None
    where that cannot be known.
    """
    return list(_Walk(scenario, place, resumed=opening != ()).stops(turns, opening))


def broken(turn: Turn) -> bool | None:
    """Whether a reply fails on its way; None where it is cut off so late that a client may have it whole."""
    if turn.status is not None or turn.error is not None:
        return True
    if turn.cut_after is None:
        return False
    role_and_reason = 2
    return None if turn.cut_after >= role_and_reason + len(turn.text) + turn.fragments * len(turn.calls) else True


class _Walk:
    """Counts what a run has spent, turn by turn."""

    def __init__(self, scenario: Scenario, place: int, *, resumed: bool) -> None:
        self._scenario, self._options, self._place = scenario, scenario.options, place
        self._invocation: Invocation = scenario.invocations[place]
        self._resumed = resumed
        self._markers: Counter[str] = Counter()
        self._asked = self._tokens = self._calls = self._allowed = 0
        self._found: dict[Kind, bool] = {}

    def stops(self, turns: Sequence[Turn | None], opening: tuple[Call, ...] | None) -> Iterator[Stop]:
        self._start(opening)
        yield self._told()
        for turn in turns:
            self._behind(turn)
            yield self._told()

    def _told(self) -> Stop:
        """What was found since the last time."""
        found, self._found = self._found, {}
        sure = frozenset(kind for kind, certain in found.items() if certain)
        return Stop(sure, frozenset(found) - sure)

    def _find(self, kind: Kind, *, sure: bool = True) -> None:
        self._found[kind] = self._found.get(kind, False) or sure

    def _start(self, opening: tuple[Call, ...] | None) -> None:
        if opening is None:
            self._find("open", sure=False)
        elif opening:
            self._dispatch(opening, fresh=False)
        if self._invocation.runner == "replay":
            same = _same_run(self._scenario, self._place)
            self._find("replay" if same else "open", sure=same)
        self._before_next()

    def _behind(self, turn: Turn | None) -> None:
        self._asked += 1
        failed = True if turn is None else broken(turn)
        if failed is not False:
            self._find("error", sure=failed is True)
        if turn is None or failed:
            return
        if not turn.calls:
            self._find("answer")
            return
        self._spend(turn)
        self._dispatch(turn.calls, fresh=True)
        self._before_next()

    def _spend(self, turn: Turn) -> None:
        limit = self._options.max_tokens
        self._tokens += turn.usage.usage().total if turn.usage is not None else 0
        if limit is not None and self._tokens >= limit:
            self._find("tokens", sure=self._tokens > limit > 0)

    def _dispatch(self, calls: Sequence[Call], *, fresh: bool) -> None:
        """The budget of tool calls, the gate and the step runner, about the calls of one turn."""
        limit = self._options.max_tool_calls
        self._calls += len(calls)
        self._allowed += sum(not (self._scenario.gate and call.verdict == "deny") for call in calls)
        if limit is not None and self._calls > limit:
            self._find("tool-calls", sure=self._allowed > limit > 0)
        for index, call in enumerate(calls):
            if self._scenario.gate:
                self._ask_gate(call, fresh=fresh)
            if tool_step(self._asked, index, call.name) in self._invocation.refuse:
                self._refuse(sure=not (self._scenario.gate and call.verdict == "deny"))
            if call.raises is not None:
                self._find("open", sure=False)

    def _ask_gate(self, call: Call, *, fresh: bool) -> None:
        if call.verdict == "raise":
            self._find("open", sure=False)
        if call.verdict != "need_approval":
            return
        approved = call.marker in (self._invocation.approvals or ())
        self._markers[call.marker] += 1
        if not approved:
            self._find("approval")
        elif fresh or self._markers[call.marker] > 1:  # whether it frees fresh calls, or a second one, is left open
            self._find("approval", sure=False)

    def _before_next(self) -> None:
        """What may forbid the next model call."""
        cap = self._options.max_iter
        if cap is not None and cap <= 0:
            self._find("open", sure=False)  # a limit of zero may allow nothing, or be none
        elif self._asked >= (DEFAULT_MAX_ITER if cap is None else cap):
            self._find("default-cap" if cap is None else "cap")
        if llm_step(self._asked + 1) in self._invocation.refuse:
            self._refuse(sure=True)
        if self._invocation.cancel != "never":
            self._find("open", sure=False)
        if self._resumed and self._invocation.refuse:  # the numbers in the names of its steps are left open
            self._find("refused", sure=False)

    def _refuse(self, *, sure: bool) -> None:
        if self._invocation.runner == "refuse":
            self._find("refused", sure=sure and not self._resumed)


def _same_run(scenario: Scenario, place: int) -> bool:
    """Whether the journal that is replayed is that of the same run."""
    this, before = scenario.invocations[place], scenario.invocations[place - 1]
    if before.runner == "refuse" or "never" not in {this.cancel} & {before.cancel}:
        return False
    fields = ("messages", "continues", "turns", "approvals")
    return all(getattr(this, name) == getattr(before, name) for name in fields)
