"""The fakes of one scenario, wired together: what a loop is given while the kit watches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from looptck.canonical import canonical
from looptck.contract.ag03 import (
    DEFAULT_MAX_PARALLEL_TOOLS,
    Allow,
    Budget,
    CallContext,
    Deny,
    Message,
    NeedApproval,
    ToolCall,
    ToolDefinition,
)
from looptck.observe.spans import SpanLog
from looptck.observe.stopping import until_stopped
from looptck.open_turn import open_calls
from looptck_fakes import (
    DurableRunner,
    ModelAnswered,
    ModelAsked,
    Raises,
    Recorder,
    RecordingRunner,
    RecordingTools,
    RefusingRunner,
    ReplayingRunner,
    ScriptedProvider,
    Stage,
    StopAt,
    TableGate,
    ToolEnded,
)
from looptck_fakes import Turn as FakeTurn

if TYPE_CHECKING:
    from looptck.scenario import Invocation, Scenario, Turn
    from looptck_fakes import Answer
    from looptck_fakes.gates import Rule


class ScriptedError(Exception):
    """An error that the scenario asked for."""


MODEL = "scripted-model"
UNKNOWN = "the runner refuses a write of unknown outcome"


class Rig:
    """Recorder, stages, provider, tools, gate, runners and tracer for one scenario."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.spans = SpanLog(lambda: len(self.recorder)) if scenario.tracer else None
        self.recorder = Recorder(self.spans.current if self.spans is not None else None)
        self.tool_stage, self.model_stage = Stage(), Stage()
        self.scripted: list[BaseException] = []
        self.active: list[int] = []
        self.given: dict[int, Sequence[Message]] = {}
        self._counted_from = 0
        self._not_coming: Counter[int] = Counter()
        self.http_requests: Callable[[], tuple[dict[str, Any], ...]] = tuple
        self._calls = {key_of(call.call()): call for call in scenario.calls()}
        self._served = [0] * len(scenario.invocations)
        self._turns = [tuple(self.fake_turn(turn) for turn in inv.turns) for inv in scenario.invocations]
        self._runners: dict[int, RecordingRunner] = {}
        self.holds_tools = scenario.finish != "at_once" or any(
            invocation.cancel == "tools" for invocation in scenario.invocations
        )
        definitions = [definition(name) for name in dict.fromkeys(call.name for call in scenario.calls())]
        self.provider: Any = ScriptedProvider(
            self._next_turn, model=MODEL, recorder=self.recorder, stage=self.model_stage
        )
        self.tools = RecordingTools(
            self._answer,
            definitions=definitions,
            recorder=self.recorder,
            stage=self.tool_stage if self.holds_tools else None,
        )
        self.gate = TableGate(self._rule, recorder=self.recorder)

    def options(self, place: int) -> dict[str, Any]:
        """Keyword arguments for the agent of an invocation: the seams, and the options that the scenario sets."""
        scenario, invocation = self.scenario, self.scenario.invocations[place]
        names = ("system", "name", "call_options", "max_iter", "max_parallel_tools")
        given = {name: getattr(scenario.options, name) for name in names}
        tokens, tool_calls = scenario.options.max_tokens, scenario.options.max_tool_calls
        runner = self._runner(place, invocation)
        given |= {
            "budget": None if tokens is None and tool_calls is None else Budget(tokens, tool_calls),
            "gate": self.gate if scenario.gate else None,
            "step_runner": runner,
            "tracer": self.spans.tracer if self.spans is not None else None,
            "approvals": invocation.approvals,
        }
        seams = {"provider": self.provider, "tools": self.tools} | {k: v for k, v in given.items() if v is not None}
        return seams if invocation.stop is None else until_stopped(seams, runner)

    def stopping(self) -> DurableRunner | None:
        """The runner of an active invocation that has been stopped, or that waits to be."""
        for place in self.active:
            runner = self._runners.get(place)
            if isinstance(runner, DurableRunner) and (runner.stopped or runner.waiting):
                return runner
        return None

    def begin(self, group: list[int]) -> None:
        """From now on these invocations are made, at once."""
        self.active = group
        self._counted_from = len(self.recorder)

    def target_in_flight(self) -> int:
        """How many tools a loop that uses all its slots has in flight now: what a lower bound waits for."""
        bound = self.scenario.options.max_parallel_tools or DEFAULT_MAX_PARALLEL_TOOLS
        since = self._turn_began()
        calls = sum(self._may_run(place, call) for place in self.active for call in self._dispatched(place))
        ended = sum(record.at >= since for record in self.recorder.of(ToolEnded))
        return min(bound, calls - ended - self._not_coming[since])

    def conclude(self) -> None:
        """No more tools came, for a long time: those that were missing are not waited for again in this turn.

        A loop may answer a call itself, or leave it open.
        """
        missing = self.target_in_flight() - len(self.tool_stage.held)
        self._not_coming[self._turn_began()] += max(missing, 0)

    def _turn_began(self) -> int:
        """The place in the log from which what ended is of the present turn; of runs at once all turns are one."""
        if len(self.active) > 1:
            return self._counted_from
        replies = (record.at for place in self.active for record in self._replies(place))
        return max(replies, default=self._counted_from)

    def _dispatched(self, place: int) -> list[ToolCall]:
        """The calls that an invocation has come to: of its last reply or, before one, those its input leaves open.

        What a loop has not called by the next reply it will not call any more. Of runs at once it is all so far.
        """
        turns = self.scenario.invocations[place].turns[: len(self._replies(place))]
        if len(self.active) == 1 and turns:
            return [call.call() for call in turns[-1].calls]
        return [*open_calls(self.given.get(place, ())), *(call.call() for turn in turns for call in turn.calls)]

    def _may_run(self, place: int, call: ToolCall) -> bool:
        known, approvals = self._calls.get(key_of(call)), self.scenario.invocations[place].approvals or ()
        verdict = known.verdict if known is not None and self.scenario.gate else "allow"
        return verdict == "allow" or (verdict == "need_approval" and known is not None and known.marker in approvals)

    def _replies(self, place: int) -> list[ModelAnswered]:
        asked = {record.number for record in self.recorder.of(ModelAsked) if record.script == str(place)}
        return [record for record in self.recorder.of(ModelAnswered) if record.number in asked]

    def _runner(self, place: int, invocation: Invocation) -> RecordingRunner | None:
        runner: RecordingRunner
        if invocation.runner == "none":
            return None
        if invocation.runner == "resume" or invocation.stop is not None:
            runner = self._durable_runner(place, invocation)
        elif invocation.runner == "record":
            runner = RecordingRunner(recorder=self.recorder)
        elif invocation.runner == "replay":
            runner = ReplayingRunner(self._runners[place - 1].journal, recorder=self.recorder)
        else:
            error = ScriptedError("the runner refuses this step")
            self.scripted.append(error)
            runner = RefusingRunner(frozenset(invocation.refuse), error=error, recorder=self.recorder)
        self._runners[place] = runner
        return runner

    def _durable_runner(self, place: int, invocation: Invocation) -> DurableRunner:
        """A runner that goes on from the journal before it, if it is to; the model goes on where that ends."""
        before = self._runners[place - 1] if invocation.runner == "resume" else None
        at = None if invocation.stop is None else StopAt(**invocation.stop.model_dump())
        runner = DurableRunner(before, stop=at, error=self._scripted_error(UNKNOWN), recorder=self.recorder)
        self._served[place] = sum(runner.begun.get(name) == "llm" for name in runner.journal)
        return runner

    def fake_turn(self, turn: Turn) -> FakeTurn:
        """A reply of the scenario in the fakes' form."""
        error = None if turn.error is None else self._scripted_error(turn.error)
        return FakeTurn(
            text=turn.text,
            calls=tuple(call.call() for call in turn.calls),
            usage=None if turn.usage is None else turn.usage.usage(),
            early_usage=None if turn.early_usage is None else turn.early_usage.usage(),
            error=error,
            error_at=turn.error_at,
            fragments=turn.fragments,
            hold=turn.hold,
        )

    def _scripted_error(self, text: str) -> ScriptedError:
        error = ScriptedError(text)
        self.scripted.append(error)
        return error

    def _next_turn(self, messages: Sequence[Message]) -> tuple[str, FakeTurn | None]:
        place = self.active[0] if len(self.active) == 1 else self._whose(messages)
        number = self._served[place]
        self._served[place] += 1
        turns = self._turns[place]
        return str(place), turns[number] if number < len(turns) else None

    def _whose(self, messages: Sequence[Message]) -> int:
        """Which of several invocations at once this request belongs to: the one whose input it starts from."""
        asked = {getattr(message, "content", None) for message in messages}
        for place in self.active:
            if all(said.content in asked for said in self.scenario.invocations[place].messages):
                return place
        return self.active[0]

    def _answer(self, call: ToolCall) -> Answer:
        known = self._calls.get(key_of(call))
        if known is None:
            return ValueError(f"no such call in the scenario: {call}")
        if known.raises is not None:
            return Raises(self._scripted_error(known.raises))
        return known.result()

    def _rule(self, call: ToolCall, _context: CallContext) -> Rule:
        known = self._calls.get(key_of(call))
        if known is None or known.verdict == "allow":
            return Allow()
        if known.verdict == "deny":
            return Deny(known.reason)
        if known.verdict == "raise":
            return self._scripted_error(known.reason)
        return NeedApproval(known.marker, known.reason)


def key_of(call: ToolCall) -> tuple[str, str, str]:
    """What a call is looked up by."""
    return call.id, call.name, canonical(call.arguments)


def definition(name: str) -> ToolDefinition:
    """The definition of a scenario's tool: any JSON object will do as arguments."""
    return ToolDefinition(name, f"The tool {name} of this scenario.", {"type": "object"})
