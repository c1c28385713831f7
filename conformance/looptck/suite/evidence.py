"""The evidence that a check looks at: one scenario and what was seen of it. Every accessor is total."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from looptck.canonical import as_written, canonical, in_order
from looptck.contract.ag03 import DENIED_PREFIX, Message, ToolCall, Usage
from looptck.observation import InvocationSeen
from looptck_fakes import GateAsked, ModelAsked, StepEnded, StepStarted, ToolEnded, ToolStarted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from looptck.observation import EventSeen, Observation, SpanSeen
    from looptck.scenario import Call, Invocation, Scenario

_NEVER = InvocationSeen(status="unfinished", began=0, ended=0, input=(), problems=("this invocation was never made",))


class Evidence:
    """A scenario beside its observation. `place` arguments number the invocations from 0."""

    def __init__(self, scenario: Scenario, observation: Observation) -> None:
        self.scenario = scenario
        self.observation = observation
        self._by_id: dict[str, Call] = {call.id: call for call in scenario.calls()}

    def invocation(self, place: int = 0) -> InvocationSeen:
        """How an invocation went."""
        seen = self.observation.invocations
        return seen[place] if place < len(seen) else _NEVER

    def asked(self, place: int = 0) -> Invocation:
        """What the scenario asks for."""
        return self.scenario.invocations[place]

    # what the fakes were asked

    def requests(self, place: int = 0) -> tuple[ModelAsked, ...]:
        """The model requests of an invocation."""
        return tuple(r for r in self.observation.records if isinstance(r, ModelAsked) and r.script == str(place))

    def runs(self, place: int | None = None) -> tuple[ToolStarted, ...]:
        """The tool runs, of one invocation or of all."""
        return tuple(r for r in self._span_of(place) if isinstance(r, ToolStarted))

    def questions(self, place: int | None = None) -> tuple[GateAsked, ...]:
        """The gate questions, of one invocation or of all."""
        return tuple(r for r in self._span_of(place) if isinstance(r, GateAsked))

    def steps(self, place: int | None = None) -> tuple[StepStarted, ...]:
        """The steps, of one invocation or of all."""
        return tuple(r for r in self._span_of(place) if isinstance(r, StepStarted))

    def replies_kept(self, place: int) -> int:
        """How many replies the journal holds that an invocation resumes from: the model goes on behind them."""
        if self.asked(place).runner != "resume":
            return 0
        how = {record.step: record.how for record in self.observation.records if isinstance(record, StepEnded)}
        return sum(s.kind == "llm" and how.get(s.step) in {"done", "replayed"} for s in self.steps(place - 1))

    def _span_of(self, place: int | None) -> tuple[Any, ...]:
        records = self.observation.records
        if place is None:
            return records
        if place >= len(self.observation.invocations):
            return ()
        following = place + 1
        end = self.invocation(following).began if following < len(self.observation.invocations) else len(records)
        return records[self.invocation(place).began : end]

    def peak(self) -> int:
        """The most tools that were in flight at once."""
        level = highest = 0
        for record in self.observation.records:
            level += isinstance(record, ToolStarted) - isinstance(record, ToolEnded)
            highest = max(highest, level)
        return highest

    def outside_steps(self, kind: str) -> list[str]:
        """Model requests (`llm`) or tool runs (`tool`) that happened while no step of that kind was open."""
        open_steps: dict[int, str] = {}
        outside = []
        for record in self.observation.records:
            if isinstance(record, StepStarted):
                open_steps[record.step] = record.kind
            elif isinstance(record, StepEnded):
                open_steps.pop(record.step, None)
            elif isinstance(record, ModelAsked if kind == "llm" else ToolStarted) and kind not in open_steps.values():
                outside.append(f"at {record.at}")
        return outside

    def spans(self, name: str) -> list[SpanSeen]:
        """The spans of that name, in the order they started; with a trailing `*`, of that prefix."""
        spans = self.observation.spans
        if name.endswith("*"):
            return [span for span in spans if span.name.startswith(name[:-1])]
        return [span for span in spans if span.name == name]

    def events(self, kind: str, place: int = 0) -> list[EventSeen]:
        """The events of a kind."""
        return [event for event in self.invocation(place).events if event.kind == kind]

    # what the scenario makes right

    def reply(self, number: int, place: int = 0) -> Message:
        """The assistant message of a reply, counted from 0."""
        return self.asked(place).turns[number].message()

    def turn(self, number: int, place: int = 0) -> list[Message]:
        """The reply and the answers to its calls, in call order."""
        turn = self.asked(place).turns[number]
        return [turn.message(), *(answer(call) for call in turn.calls)]

    def transcript(self, turns: int, place: int = 0) -> list[Message]:
        """The input, the system prompt where one is set and none leads, and so many whole turns."""
        given = [said.message() for said in self.asked(place).messages]
        system = self.scenario.options.system
        if system and not (given and given[0].role == "system"):
            given.insert(0, Message("system", system))
        return given + [message for number in range(turns) for message in self.turn(number, place)]

    def spent(self, turns: int, place: int = 0) -> Usage:
        """The usage of so many replies together."""
        used = [turn.usage.usage() for turn in self.asked(place).turns[:turns] if turn.usage is not None]
        return sum(used, Usage())

    # both as plain values

    def shown(self, messages: Iterable[Message] | None) -> list[str] | None:
        """Messages as lines. A failed tool's text counts as its own whatever prefix stands before it."""
        return None if messages is None else [self._line(message) for message in messages]

    def _line(self, message: Message) -> str:
        known = self._by_id.get(message.tool_call_id or "")
        text = message.content
        if message.role == "tool" and known is not None:
            failed = known.raises if known.raises is not None else known.answer if known.is_error else None
            if failed is not None and failed in text:
                text = failed
        return line(Message(message.role, text, message.tool_calls, message.tool_call_id))

    def ending(self, place: int = 0) -> str:
        """How an invocation ended, in a few words."""
        seen = self.invocation(place)
        if seen.status == "failed" and seen.error is not None:
            return seen.error.kind if seen.error.kind != "other" else seen.error.text
        return seen.status


def answer(call: Call) -> Message:
    """The tool message that answers a call of the scenario; a failed tool's text stands bare."""
    if call.verdict == "deny":
        return Message("tool", DENIED_PREFIX + call.reason, tool_call_id=call.id)
    return Message("tool", call.raises if call.raises is not None else call.answer, tool_call_id=call.id)


def line(message: Message) -> str:
    """A message as one line; different messages give different lines."""
    text = json.dumps(message.content, ensure_ascii=False)
    if message.role == "tool":
        return f"tool({message.tool_call_id}): {text}"
    proposed = "".join(f" + {call_line(call)}" for call in message.tool_calls)
    return f"{message.role}: {text}{proposed}"


def call_line(call: ToolCall) -> str:
    """A call as `id = name(arguments)`, the same for arguments that are the same JSON value."""
    return f"{call.id} = {call.name}({canonical(call.arguments)})"


def written_line(call: ToolCall) -> str:
    """The same to be shown, its keys in the order in which they were written."""
    return f"{call.id} = {call.name}({in_order(call.arguments)})"


def calls_as_written(scenario: Scenario) -> dict[str, str]:
    """Lines of a scenario's calls with the keys in the order in which the model writes them, by those without."""
    return as_written((call_line(call.call()), written_line(call.call())) for call in scenario.calls())


def call_lines(calls: Sequence[ToolCall]) -> list[str]:
    """Calls as lines, in their order."""
    return [call_line(call) for call in calls]


def tokens(usage: Usage | None) -> str:
    """Usage as `input / output`."""
    return "none" if usage is None else f"{usage.input_tokens} / {usage.output_tokens}"
