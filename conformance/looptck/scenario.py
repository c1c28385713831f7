"""A scenario: everything that happens around a loop in one observation, as plain data.

A scenario says what the model replies, what each tool answers, what the gate and the step runner do, which options the
loop is given, and how often it is invoked. There are no callables in it, so the same scenario runs in process, in
another process, and can be kept in a file. Only options that a scenario sets are passed to the loop.
"""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from looptck.contract.ag03 import Message, ToolCall, ToolResult, Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Data(BaseModel):
    """Plain data: frozen, and nothing but its fields."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Tokens(Data):
    """Usage of one model call, in tokens."""

    input: int = Field(default=0, ge=0)
    output: int = Field(default=0, ge=0)

    def usage(self) -> Usage:
        """The contract's form."""
        return Usage(self.input, self.output)


class Call(Data):
    """A tool call that the model proposes, what its tool would answer, and what the gate says of it.

    Fakes look a call up by id, name and arguments, so calls that differ in any of them may answer differently.
    """

    id: str
    name: str
    arguments: str = "{}"
    answer: str = "ok"
    is_error: bool = False
    raises: str | None = None
    """Text of an exception that the tools seam raises although it promises not to."""
    verdict: Literal["allow", "deny", "need_approval", "raise"] = "allow"
    reason: str = ""
    marker: str = ""

    def call(self) -> ToolCall:
        """What the model writes."""
        return ToolCall(self.id, self.name, self.arguments)

    def result(self) -> ToolResult:
        """What the tool answers where it does not raise."""
        return ToolResult(self.answer, self.is_error)


class Turn(Data):
    """One reply of the model; see `looptck_fakes.Turn` for how it is cut into chunks.

    Over HTTP, `status` makes the server answer with that status instead, and `cut_after` ends the connection after so
    many events of the reply.
    """

    text: tuple[str, ...] = ()
    calls: tuple[Call, ...] = ()
    usage: Tokens | None = None
    early_usage: Tokens | None = None
    fragments: int = Field(default=1, ge=1)
    error: str | None = None
    error_at: Literal["before", "middle", "after"] = "before"
    hold: bool = False
    status: int | None = Field(default=None, ge=200, le=599)
    cut_after: int | None = Field(default=None, ge=0)

    def message(self) -> Message:
        """The assistant message that the whole reply amounts to."""
        return Message("assistant", "".join(self.text), tuple(call.call() for call in self.calls))


class Said(Data):
    """A message of the input; `calls` are those that an assistant message proposed."""

    role: Literal["system", "user", "assistant", "tool"] = "user"
    content: str = ""
    calls: tuple[Call, ...] = ()
    tool_call_id: str | None = None

    def message(self) -> Message:
        """The contract's form."""
        return Message(self.role, self.content, tuple(call.call() for call in self.calls), self.tool_call_id)


class Options(Data):
    """The loop's options; what stays None is not passed to it. `max_tokens` and `max_tool_calls` make its budget."""

    system: str | None = None
    name: str | None = None
    call_options: dict[str, Any] | None = None
    max_iter: int | None = None
    max_parallel_tools: int | None = None
    max_tokens: int | None = None
    max_tool_calls: int | None = None

    def limits(self) -> dict[str, int]:
        """Those limits that are set, by their names."""
        names = ("max_iter", "max_parallel_tools", "max_tokens", "max_tool_calls")
        return {name: limit for name in names if (limit := getattr(self, name)) is not None}


class Stop(Data):
    """Where an invocation is stopped as if its process ended; see `looptck_fakes.StopAt`."""

    after: int = Field(ge=0)
    lost: bool = False
    overtaken: bool = False

    @model_validator(mode="after")
    def _consistent(self) -> Stop:
        if self.after == 0 and (self.lost or self.overtaken):
            msg = "after 0 steps there is none to be lost or overtaken"
            raise ValueError(msg)
        return self


class Invocation(Data):
    """One call of `invoke`.

    The input is `messages`, after the transcript of the invocation `continues` where that is set. `read` is how many
    events are read before the result is awaited (none, all, or a number after which the iterator is abandoned).
    `cancel` cancels the caller while a tool runs or while the model's reply is held. `reuse_agent` invokes the agent of
    the invocation before; `alongside` starts together with it, on the same agent.

    A runner that is to `record` or `resume` may `stop`: nothing of that invocation counts from then on. One that is to
    `resume` goes on from the journal of the invocation before, as `looptck_fakes.DurableRunner` does; `turns` are then
    those of the whole run, and the model goes on with the first that the journal does not hold.
    """

    messages: tuple[Said, ...] = ()
    continues: int | None = None
    turns: tuple[Turn, ...] = ()
    approvals: tuple[str, ...] | None = None
    runner: Literal["none", "record", "replay", "refuse", "resume"] = "none"
    refuse: tuple[str, ...] = ()
    stop: Stop | None = None
    read: Literal["none", "all"] | Annotated[int, Field(ge=1)] = "none"
    cancel: Literal["never", "tools", "stream"] = "never"
    reuse_agent: bool = False
    alongside: bool = False
    result_twice: bool = False

    def calls(self) -> Iterator[Call]:
        """The calls of its messages, then those that the model proposes."""
        for said in self.messages:
            yield from said.calls
        for turn in self.turns:
            yield from turn.calls


class Scenario(Data):
    """A whole scenario. `finish` is the order in which running tools end: at once, or the first or last held first."""

    name: str
    options: Options = Options()
    gate: bool = False
    tracer: bool = False
    transport: Literal["direct", "http"] = "direct"
    finish: Literal["at_once", "first", "last"] = "at_once"
    invocations: tuple[Invocation, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _consistent(self) -> Scenario:
        for place, invocation in enumerate(self.invocations):
            first = place == 0
            if invocation.continues is not None and not 0 <= invocation.continues < place:
                msg = f"invocations.{place}.continues: {invocation.continues} is not an earlier invocation"
                raise ValueError(msg)
            goes_back = invocation.runner in {"replay", "resume"}
            if first and (invocation.reuse_agent or invocation.alongside or goes_back):
                msg = "invocations.0: the first invocation has none before it to reuse, join, replay or resume"
                raise ValueError(msg)
            if goes_back and self.invocations[place - 1].runner == "none":
                msg = f"invocations.{place}.runner: the invocation before has no step runner, so there is no journal"
                raise ValueError(msg)
            if self.transport == "http" and any(turn.hold for turn in invocation.turns):
                msg = f"invocations.{place}.turns: a reply over HTTP cannot be held"
                raise ValueError(msg)
        return self

    @model_validator(mode="after")
    def _stoppable(self) -> Scenario:
        for place, invocation in enumerate(self.invocations):
            if invocation.stop is not None and invocation.runner not in {"record", "resume"}:
                msg = f"invocations.{place}.stop: only a runner that is to record or to resume can be stopped"
                raise ValueError(msg)
            if invocation.alongside and (invocation.stop or self.invocations[place - 1].stop):
                msg = f"invocations.{place}.alongside: an invocation that is stopped has none beside it"
                raise ValueError(msg)
            if self.transport == "http" and (invocation.stop or invocation.runner == "resume"):
                msg = f"invocations.{place}: a run over HTTP can be neither stopped nor resumed"
                raise ValueError(msg)
        return self

    def calls(self) -> Iterator[Call]:
        """Every call that the scenario knows, invocation by invocation."""
        for invocation in self.invocations:
            yield from invocation.calls()

    def features(self) -> frozenset[str]:
        """What a loop must support for this scenario to mean anything to it: names that an adapter may lack."""
        options = self.options
        found = {"max_iter": options.max_iter, "max_parallel_tools": options.max_parallel_tools}
        found |= {"budget": options.max_tokens if options.max_tokens is not None else options.max_tool_calls}
        names = {name for name, value in found.items() if value is not None}
        names |= {"gate"} if self.gate else set()
        names |= {"tracer"} if self.tracer else set()
        for invocation in self.invocations:
            names |= {"approvals"} if invocation.approvals is not None else set()
            names |= {"resume"} if invocation.continues is not None else set()
            names |= {"step_runner"} if invocation.runner != "none" else set()
            names |= {"events"} if invocation.read != "none" else set()
            names |= {"cancel"} if invocation.cancel != "never" else set()
            names |= {"result_twice"} if invocation.result_twice else set()
        return frozenset(names)


class ScenarioError(Exception):
    """A scenario file that cannot be used; the text is one line that says where and why."""


def load_scenario(text: str, source: str, read: Callable[[str], Any] = Scenario.model_validate_json) -> Any:
    """Read a scenario from JSON, by `read` of its profile, that of ag03 where none is given.

    Raises `ScenarioError` naming `source` and the path of the first bad key.
    """
    try:
        scenario = read(text)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        path = ".".join(_printable(part) for part in first["loc"]) or "the file"
        more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
        msg = f"{source}: {path}: {first['msg']}{more}"
        raise ScenarioError(msg) from None
    json.loads(text, object_pairs_hook=partial(_once, source))
    return scenario


def _once(source: str, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose keys come once each; of two that are the same the last would win unseen."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            msg = f"{source}: {_printable(key)}: it comes twice in one object"
            raise ScenarioError(msg)
        found[key] = value
    return found


def _printable(part: int | str) -> str:
    """A part of a path, such that it stays on its line."""
    return part if isinstance(part, str) and part.isprintable() else json.dumps(part)
