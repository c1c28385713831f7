"""What the fakes were asked in one invocation, cut into rounds: a model step and what followed it. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from looptck.suite.evidence import call_line
from looptck_fakes import GateAsked, ModelAsked, StepEnded, StepStarted, ToolEnded, ToolStarted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from looptck.observation import AnyRecord


@dataclass(slots=True)
class SeenRound:
    """A model step and what followed it up to the next; the first may have followed none."""

    step: StepStarted | None = None
    request: ModelAsked | None = None
    rest: list[Any] = field(default_factory=list)

    def of(self, kind: type) -> list[Any]:
        """The records of a kind behind the model step."""
        return [record for record in self.rest if isinstance(record, kind)]

    def asks_model(self) -> bool:
        """Whether it begins with a model step, or a request outside one."""
        return self.step is not None or self.request is not None

    def steps(self) -> list[str]:
        """The names of its steps."""
        model = [self.step.name] if self.step is not None else []
        return model + [record.name for record in self.of(StepStarted)]

    def told(self) -> list[str]:
        """What was seen of it, in its order."""
        words = [f"step {self.step.name}"] if self.step is not None else []
        words += ["asks the model"] if self.request is not None else []
        return words + [told for record in self.rest if (told := _told(record))]


def seen_rounds(records: Iterable[AnyRecord]) -> list[SeenRound]:
    """The records of one invocation, cut before each model step."""
    rounds: list[SeenRound] = []
    for record in records:
        if isinstance(record, StepStarted) and (record.kind == "llm" or record.name.startswith("llm/")):
            rounds.append(SeenRound(step=record))
        elif isinstance(record, ModelAsked):
            if not rounds or rounds[-1].request is not None or rounds[-1].rest:
                rounds.append(SeenRound())
            rounds[-1].request = record
        elif isinstance(record, (GateAsked, StepStarted, StepEnded, ToolStarted, ToolEnded)):
            if not rounds:
                rounds.append(SeenRound())
            if not (isinstance(record, StepEnded) and rounds[-1].step and record.step == rounds[-1].step.step):
                rounds[-1].rest.append(record)
    return rounds


def _told(record: AnyRecord) -> str:
    match record:
        case GateAsked(call=call, verdict=verdict):
            return f"gate about {call.id}: {verdict}"
        case ToolStarted(call=call):
            return f"runs {call_line(call)}"
        case StepStarted(name=name):
            return f"step {name}"
        case _:
            return ""
