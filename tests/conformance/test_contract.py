"""The contract: the literals of its specification, values that nobody can change, and errors that lose nothing."""

from __future__ import annotations

import asyncio
import copy
import inspect
import pickle
import typing
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import FrozenInstanceError, fields, is_dataclass
from typing import Any

import pytest

from looptck.contract import ag03, messages
from looptck.contract.ag03 import (
    Allow,
    ApprovalError,
    Budget,
    BudgetError,
    CallChunk,
    CallContext,
    Deny,
    Direct,
    Event,
    LoopError,
    MaxIterError,
    Message,
    NeedApproval,
    Pending,
    StepRunner,
    TextChunk,
    ToolCall,
    ToolDefinition,
    ToolResult,
    Usage,
    UsageChunk,
)

CALL = ToolCall("call_1", "get_weather", '{"city":"Paris"}')
PROPOSAL = Message("assistant", "Let me see.", (CALL,))

LITERALS = {
    "DEFAULT_MAX_ITER": 8,
    "DEFAULT_MAX_PARALLEL_TOOLS": 4,
    "DENIED_PREFIX": "error: denied by policy: ",
    "SPAN_RUN": "agent.run",
    "SPAN_LLM": "agent.llm_call",
    "SPAN_TOOL": "agent.tool",
    "AGENT_NAME": "gen_ai.agent.name",
    "ITERATIONS": "tl.agent.iterations",
    "REQUEST_MODEL": "gen_ai.request.model",
    "INPUT_TOKENS": "gen_ai.usage.input_tokens",
    "OUTPUT_TOKENS": "gen_ai.usage.output_tokens",
    "TOOL_NAME": "gen_ai.tool.name",
    "OUTCOME": "tl.tool.outcome",
    "OUTCOME_OK": "ok",
    "OUTCOME_ERROR": "error",
    "OUTCOME_DENIED": "denied",
    "OUTCOME_NEEDS_APPROVAL": "needs_approval",
}

VALUES: list[Any] = [
    CALL,
    ToolResult("sunny, 21 C"),
    PROPOSAL,
    Usage(10, 5),
    TextChunk("It "),
    CallChunk(0, "call_1", "get_weather", "{}"),
    UsageChunk(Usage(10, 5)),
    Allow(),
    Deny("read only"),
    NeedApproval("m1", "costs money"),
    CallContext(tainted=True, iter=2),
    Budget(100, 2),
    Event("tool_result", 1, call=CALL, result=ToolResult("sunny, 21 C")),
    Pending(CALL, "m1", "costs money"),
]


def kind_of(value: object) -> str:
    return type(value).__name__


# ------------------------------------------------------------------------------------------------------------ literals


@pytest.mark.parametrize("name", LITERALS)
def test_a_constant_is_the_literal_of_the_specification(name: str) -> None:
    assert getattr(ag03, name) == LITERALS[name]


def test_every_constant_is_among_those_tested() -> None:
    assert set(LITERALS) == {name for name in ag03.__all__ if name.isupper()}


def test_steps_and_spans_are_named_as_in_the_worked_example() -> None:
    assert ag03.llm_step(2) == "llm/2"
    assert ag03.tool_step(1, 0, "get_weather") == "tool/1/0/get_weather"
    assert ag03.tool_span("get_weather") == "agent.tool get_weather"


def test_event_kinds_are_the_six_of_the_specification() -> None:
    kinds = {"text", "usage", "tool_call", "tool_result", "done", "error"}
    assert set(typing.get_args(ag03.EventKind)) == kinds


# ------------------------------------------------------------------------------------------------------------- exports


def test_one_import_offers_every_public_name_of_both_modules() -> None:
    public = {
        name
        for module in (messages, ag03)
        for name, value in vars(module).items()
        if callable(value) and not name.startswith("_") and value.__module__.startswith("looptck.contract")
    }
    assert public <= set(ag03.__all__)
    assert all(hasattr(ag03, name) for name in ag03.__all__)
    assert len(set(ag03.__all__)) == len(ag03.__all__)


def test_the_shared_words_are_the_same_objects_in_both_modules() -> None:
    shared = [name for name in ag03.__all__ if hasattr(messages, name)]
    assert "Message" in shared
    assert all(getattr(ag03, name) is getattr(messages, name) for name in shared)


@pytest.mark.parametrize("name", [name for name in ag03.__all__ if is_dataclass(getattr(ag03, name))])
def test_whoever_turns_values_into_json_can_resolve_their_annotations(name: str) -> None:
    kind = getattr(ag03, name)
    assert typing.get_type_hints(kind).keys() >= {field.name for field in fields(kind)}


def test_an_agent_takes_what_section_4_names_with_its_defaults() -> None:
    parameters = list(inspect.signature(ag03.Agent.__init__).parameters.values())[1:]
    assert [parameter.name for parameter in parameters if parameter.default is parameter.empty] == ["provider", "tools"]
    assert {p.name: p.default for p in parameters if p.default is not p.empty} == {
        "system": "",
        "name": "agent",
        "call_options": None,
        "max_iter": 8,
        "max_parallel_tools": 4,
        "budget": None,
        "gate": None,
        "step_runner": None,
        "tracer": None,
        "approvals": (),
    }


# -------------------------------------------------------------------------------------------------------------- values


@pytest.mark.parametrize("value", VALUES, ids=kind_of)
def test_a_value_cannot_be_changed(value: Any) -> None:
    for field in fields(value):
        with pytest.raises(FrozenInstanceError):
            setattr(value, field.name, getattr(value, field.name))
    assert not hasattr(value, "__dict__")


@pytest.mark.parametrize("value", VALUES, ids=kind_of)
def test_values_with_the_same_fields_are_equal_and_hash_alike(value: Any) -> None:
    twin = type(value)(**{field.name: getattr(value, field.name) for field in fields(value)})
    assert twin is not value
    assert twin == value
    assert len({twin, value}) == 1


@pytest.mark.parametrize("value", VALUES, ids=kind_of)
def test_a_value_survives_copying_and_pickling(value: Any) -> None:
    assert copy.deepcopy(value) == value
    assert pickle.loads(pickle.dumps(value)) == value  # noqa: S301 - pickled one line above


def test_every_value_of_the_contract_is_among_those_tested() -> None:
    tested = {type(value) for value in VALUES} | {ToolDefinition}  # its schema is a mapping, so it has no hash
    assert {getattr(ag03, name) for name in ag03.__all__ if is_dataclass(getattr(ag03, name))} == tested


def test_two_definitions_do_not_share_their_empty_schema() -> None:
    first, second = ToolDefinition("a"), ToolDefinition("b")
    assert first.parameters == second.parameters == {}
    assert first.parameters is not second.parameters


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Message("user"), Message("user", "", (), None)),
        (ToolResult("x"), ToolResult("x", is_error=False)),
        (Usage(), Usage(0, 0)),
        (CallChunk(3), CallChunk(3, "", "", "")),
        (NeedApproval("m1"), NeedApproval("m1", "")),
        (Pending(CALL, "m1"), Pending(CALL, "m1", "")),
        (Budget(), Budget(None, None)),
        (Event("done", 2), Event("done", 2, "", None, None, None, None, None)),
    ],
    ids=kind_of,
)
def test_what_is_left_out_is_empty(value: object, expected: object) -> None:
    assert value == expected


def test_usage_adds_up_to_that_of_the_worked_example() -> None:
    assert Usage(10, 5) + Usage(20, 4) == Usage(30, 9)
    assert sum([Usage(10, 5), Usage(20, 4)], Usage()).total == 39


@pytest.mark.parametrize("other", [1, (1, 2), None, "1", UsageChunk(Usage(1, 2))], ids=kind_of)
def test_usage_adds_to_nothing_but_usage(other: Any) -> None:
    with pytest.raises(TypeError):
        Usage(1, 2) + other
    with pytest.raises(TypeError):
        other + Usage(1, 2)


# -------------------------------------------------------------------------------------------------------------- errors

MAKERS: list[Callable[..., LoopError]] = [
    lambda **paid: LoopError("over", **paid),
    MaxIterError,
    lambda **paid: BudgetError("tool_calls", 3, 2, **paid),
    lambda **paid: ApprovalError([Pending(CALL, "m1")], **paid),
]
KINDS = ["LoopError", "MaxIterError", "BudgetError", "ApprovalError"]


@pytest.mark.parametrize("make", MAKERS, ids=KINDS)
def test_an_error_carries_what_was_paid_for(make: Callable[..., LoopError]) -> None:
    transcript = [Message("user", "Hi"), PROPOSAL]
    error = make(message=PROPOSAL, transcript=transcript, usage=Usage(10, 5))
    transcript.append(Message("user", "later"))
    assert isinstance(error, LoopError)
    assert (error.message, error.usage) == (PROPOSAL, Usage(10, 5))
    assert error.transcript == (Message("user", "Hi"), PROPOSAL)


@pytest.mark.parametrize("make", MAKERS, ids=KINDS)
def test_an_error_before_the_first_reply_is_empty(make: Callable[..., LoopError]) -> None:
    error = make()
    assert (error.message, error.transcript, error.usage) == (None, (), Usage())


def test_no_error_of_a_rule_is_taken_for_another() -> None:
    kinds: list[type[LoopError]] = [MaxIterError, BudgetError, ApprovalError]
    assert {(a, b) for a in kinds for b in kinds if issubclass(a, b)} == {(kind, kind) for kind in kinds}


def test_a_budget_error_says_which_budget_and_by_how_much() -> None:
    error = BudgetError("tool_calls", 3, 2)
    assert (error.resource, error.used, error.limit) == ("tool_calls", 3, 2)
    assert str(error) == "tool_calls budget: 3 against 2"


def test_an_approval_error_keeps_its_own_list_of_what_is_pending() -> None:
    pending = [Pending(CALL, "m1"), Pending(CALL, "m2", "costs money")]
    error = ApprovalError(pending)
    pending.clear()
    assert error.pending == (Pending(CALL, "m1"), Pending(CALL, "m2", "costs money"))
    assert str(error) == "approval needed: m1, m2"


# --------------------------------------------------------------------------------------------------------------- seams


def test_the_direct_runner_gives_back_the_very_object() -> None:
    made: list[object] = []

    async def work() -> object:
        made.append(object())
        return made[0]

    runner: StepRunner = Direct()
    assert asyncio.run(runner.run("llm/1", "llm", work)) is made[0]
    assert len(made) == 1


def test_the_direct_runner_lets_the_error_of_the_work_through() -> None:
    error = ValueError("boom")

    async def work() -> None:
        raise error

    with pytest.raises(ValueError, match="boom") as caught:
        asyncio.run(Direct().run("tool/1/0/a", "tool", work))
    assert caught.value is error


class WholeStream:
    """Everything that a run must offer."""

    def events(self) -> AsyncIterator[Event]:
        raise NotImplementedError

    async def result(self) -> Message:
        raise NotImplementedError

    def transcript(self) -> Sequence[Message]:
        raise NotImplementedError

    def usage(self) -> Usage:
        raise NotImplementedError


def test_what_has_all_four_methods_is_a_stream() -> None:
    assert isinstance(WholeStream(), ag03.Stream)


@pytest.mark.parametrize("missing", ["events", "result", "transcript", "usage"])
def test_what_lacks_a_method_is_no_stream(missing: str) -> None:
    methods = {name: value for name, value in vars(WholeStream).items() if not name.startswith("_") and name != missing}
    assert len(methods) == 3
    assert not isinstance(type("Partial", (), methods)(), ag03.Stream)


def test_what_can_be_invoked_is_an_agent() -> None:
    assert isinstance(type("Loop", (), {"invoke": lambda _self, _messages: WholeStream()})(), ag03.Agent)
    assert not isinstance(type("Loop", (), {"run": lambda _self, _messages: WholeStream()})(), ag03.Agent)
