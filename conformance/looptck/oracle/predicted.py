"""A predicted run of ag03 as plain data: its rounds, how it ends, what is left. `looptck.oracle.ag03` makes it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from looptck.contract.ag03 import Message, Usage

if TYPE_CHECKING:
    from looptck.scenario import Call, Turn

Ending: TypeAlias = Literal[
    "answered", "max_iter", "tokens", "tool_calls", "approval", "provider", "step", "gate", "input", "turn"
]
"""What ends a run: its answer, the cap, a budget, a missing approval; an error of the provider, the step runner or the
gate; or an input that the loop may refuse: one without messages, or one whose last turn has some answers."""

REFUSED: frozenset[Ending] = frozenset({"input", "turn"})


@dataclass(frozen=True, slots=True)
class Line:
    """A message of a run. Of a `loose` one the text may stand behind a prefix; of one that is `any_text` it is open."""

    message: Message
    loose: bool = False
    any_text: bool = False


@dataclass(frozen=True, slots=True)
class Planned:
    """A call of a turn at its place: it runs, is denied, waits for approval, or is kept from running by a sibling.

    One that is `invalid` has arguments that the loop itself refuses: it answers the call, and no tool runs.
    """

    index: int
    call: Call
    fate: Literal["runs", "denied", "waits", "held back", "invalid"]


@dataclass(frozen=True, slots=True)
class Ask:
    """A model step: what is sent, what comes back. It is replayed or refused where the step runner does that."""

    messages: tuple[Line, ...]
    turn: Turn | None
    how: Literal["asked", "replayed", "refused"]


@dataclass(slots=True)
class Round:
    """A model step and the turn that it proposes; the first round of a resumed run has a turn alone.

    `number` is that of the iteration. `proposed` are the calls of the turn with their places, `asked` tells whether the
    gate has to be asked about them, and `planned` what becomes of them. Only where the turn is `dispatched` do any of
    them run, but for the places in `refused`, whose steps the runner refuses, and not where they are `replayed`.
    `tainted` is what the gate is told, `tainted_by_input` that the input alone makes it so.
    """

    number: int
    ask: Ask | None = None
    proposed: tuple[tuple[int, Call], ...] = ()
    asked: Literal["all", "some", "none"] = "none"
    tainted: bool = False
    tainted_by_input: bool = False
    planned: tuple[Planned, ...] = ()
    dispatched: bool = False
    refused: frozenset[int] = frozenset()
    replayed: bool = False

    def running(self) -> list[Planned]:
        """The calls whose tools run: those that may, where their steps are done."""
        runs = [one for one in self.planned if one.fate == "runs" and one.index not in self.refused]
        return [] if self.replayed else runs

    def must_show(self) -> bool:
        """Whether some call of the turn has to be a step or a run: the others a loop may answer itself."""
        return self.dispatched and (bool(self.refused) or any(one.fate == "runs" for one in self.planned))


@dataclass(slots=True)
class Predicted:
    """A run: its rounds, how it ends, and what is left.

    `transcripts` and `usages` are alternatives. `number` is that of its last iteration. `used` are those of
    `BudgetError.used`, `limit` is its ceiling. `journal` maps the names of recorded steps to the places of their calls'
    turns, or of the replies. `doubtful` is the id of the record of good sense that the run rests on from round
    `doubtful_from` on: a loop that sees that point in another way may go any way behind it.
    """

    rounds: list[Round] = field(default_factory=list)
    ending: Ending = "answered"
    answer: Message | None = None
    last: Message | None = None
    transcripts: tuple[tuple[Line, ...], ...] = ()
    usages: tuple[Usage, ...] = ()
    used: tuple[int, ...] = ()
    limit: int = 0
    pending: tuple[Call, ...] = ()
    model_calls: int = 0
    number: int = 0
    journal: dict[str, Turn | None] = field(default_factory=dict)
    replayed: bool = False
    doubtful: str | None = None
    doubtful_from: int = 0

    def doubt(self, record: str) -> None:
        """From the round that is being made on, the run rests on good sense alone."""
        if self.doubtful is None:
            self.doubtful, self.doubtful_from = record, max(len(self.rounds) - 1, 0)


def final_usage(turn: Turn) -> Usage:
    """What a reply cost: the last report counts."""
    return turn.usage.usage() if turn.usage is not None else early_usage(turn)


def reported_twice(turn: Turn) -> bool:
    """Whether a reply reports its usage before its text and again at its end: good sense says that the last counts."""
    return turn.early_usage is not None and turn.usage is not None


def early_usage(turn: Turn) -> Usage:
    """What a reply reported before its text; nothing where it did not."""
    return turn.early_usage.usage() if turn.early_usage is not None else Usage()
