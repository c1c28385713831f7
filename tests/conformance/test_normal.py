"""Normal values: what a loop gives back becomes plain and survives JSON, however hostile it is.

A loop's mistake must be seen as the loop's. Were normalising to raise, or to let something through that JSON cannot
hold, it would be held to be the kit's own fault.
"""

from __future__ import annotations

import enum
import itertools
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, TypeAlias, TypeVar
from unittest.mock import Mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from looptck.contract.ag03 import (
    Allow,
    ApprovalError,
    BudgetError,
    Deny,
    Event,
    LoopError,
    MaxIterError,
    Message,
    NeedApproval,
    Pending,
    ToolCall,
    ToolDefinition,
    ToolResult,
    Usage,
)
from looptck.observation import ErrorSeen, EventSeen, InvocationSeen, Observation, PendingSeen, from_json, to_json
from looptck.observe import normal
from looptck_fakes import GateAsked, ModelAsked, ScriptExhaustedError, StepStarted, ToolStarted

COMMON = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])

E = TypeVar("E", bound=BaseException)

CALL = ToolCall("call_1", "get_weather", '{"city":"Paris"}')
PROPOSAL = Message("assistant", "Let me see.", (CALL,))


# ------------------------------------------------------------------------------------------------------ a hostile zoo


class Silent:
    """It raises whatever it is asked."""

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(f"no {name}")

    def _refuse(self, *_arguments: object) -> Any:
        raise RuntimeError("no")

    __repr__ = __str__ = __bool__ = __iter__ = __len__ = __eq__ = __hash__ = __int__ = __index__ = _refuse


class Surrogates:
    def __repr__(self) -> str:
        return "\ud800"


class BrokenText(str):
    __slots__ = ()

    def encode(self, *_arguments: Any, **_options: Any) -> bytes:
        raise RuntimeError("no")

    __str__ = __repr__ = encode  # type: ignore[assignment]


class BrokenNumber(int):
    def __int__(self) -> int:
        raise RuntimeError("no")

    __index__ = __abs__ = __bool__ = __repr__ = __int__  # type: ignore[assignment]


class BrokenMapping(dict[Any, Any]):
    def __iter__(self) -> Iterator[Any]:
        raise RuntimeError("no")

    items = keys = __iter__  # type: ignore[assignment]


class Role(enum.StrEnum):
    USER = "user"


def stops_midway() -> Iterator[Message]:
    yield PROPOSAL
    raise RuntimeError("no more")


def endless_list() -> list[Any]:
    inner: list[Any] = []
    inner.append(inner)
    return inner


def nested(depth: int) -> list[Any]:
    node: list[Any] = []
    for _ in range(depth):
        node = [node]
    return node


ZOO: dict[str, Callable[[], Any]] = {
    "silent": Silent,
    "its class": lambda: Silent,
    "surrogates in its repr": Surrogates,
    "a lone surrogate": lambda: "a\ud800b",
    "text that does not encode": lambda: BrokenText("user"),
    "a string of an enum": lambda: Role.USER,
    "bytes": lambda: b"\xff",
    "a huge integer": lambda: 10**5000,
    "a large integer": lambda: -(2**63) - 1,
    "an integer that is none": lambda: BrokenNumber(3),
    "a flag": lambda: True,
    "not a number": lambda: float("nan"),
    "infinity": lambda: float("-inf"),
    "nothing": lambda: None,
    "an iterator that stops midway": stops_midway,
    "a list in itself": endless_list,
    "a deep list": lambda: nested(400),
    "a very deep list": lambda: nested(100_000),
    "a mapping that raises": lambda: BrokenMapping(a=1),
    "keys of all kinds": lambda: {1: "a", None: "b", ("c",): {"d": {1, 2}}},
    "a mock of text": lambda: Mock(spec=str),
    "a mock": Mock,
    "a namespace": SimpleNamespace,
    "an error": lambda: ValueError("boom"),
    "a list of everything": lambda: [None, 1, "a", Silent(), PROPOSAL],
}
NAMES = [
    "role", "content", "tool_calls", "tool_call_id", "id", "name", "arguments", "is_error", "kind", "iter", "text",
    "call", "verdict", "result", "usage", "error", "input_tokens", "output_tokens", "description", "parameters",
]  # fmt: skip
# Recipes, since tools that look at what they draw must not meet these values themselves.
Recipe: TypeAlias = Callable[[], Any]
PLAIN: st.SearchStrategy[str] = st.text(st.characters(), max_size=3) | st.sampled_from(["user", "assistant", "text"])


def listed(recipes: list[Recipe]) -> Recipe:
    return lambda: [make() for make in recipes]


def with_fields(recipes: dict[str, Recipe]) -> Recipe:
    return lambda: SimpleNamespace(**{name: make() for name, make in recipes.items()})


RECIPES: st.SearchStrategy[Recipe] = st.recursive(
    st.sampled_from(list(ZOO.values())) | PLAIN.map(lambda text: lambda: text),
    lambda inner: (
        st.lists(inner, max_size=3).map(listed)
        | st.dictionaries(st.sampled_from(NAMES), inner, min_size=1, max_size=6).map(with_fields)
    ),
    max_leaves=6,
)


def seen_of(value: Any) -> Observation:
    """An observation of a loop that gives back nothing but the value, wherever it has something to give."""
    error = normal.error(failure(value), ())
    return Observation(
        normal.text(value),
        records=(
            normal.record(ModelAsked(0, 0, "", (value,), (value,), {"a": value})),
            normal.record(ToolStarted(1, 0, value)),
            normal.record(ToolStarted(2, 1, ToolCall(value, value, value))),
            normal.record(GateAsked(3, value, value, value, "allow")),
            normal.record(StepStarted(4, 0, value, value)),
        ),
        invocations=(
            InvocationSeen(
                "answered",
                normal.count(value),
                0,
                normal.messages([Message(value, value, value, value)]),
                message=normal.message(value),
                error=error,
                transcript=normal.messages(value),
                usage=normal.usage(value),
                events=(normal.event(value), normal.event(Event(*[value] * 8))),
            ),
        ),
        http=({"a": normal.plain(value)},),
    )


def failure(value: Any) -> BaseException:
    """An error of a rule with the value in each of its fields."""

    class ConfusedError(ApprovalError, BudgetError):
        def __init__(self) -> None:  # as subclasses do that forget their base
            self.pending = self.resource = self.used = self.limit = value
            self.message = self.transcript = self.usage = value

        def __str__(self) -> str:
            return value  # type: ignore[no-any-return]

    return ConfusedError()


def survives(observation: Observation) -> bool:
    return from_json(to_json(observation)) == observation


@pytest.mark.parametrize("make", ZOO.values(), ids=ZOO.keys())
def test_nothing_that_a_loop_gives_back_raises_or_is_lost_on_the_way(make: Recipe) -> None:
    assert survives(seen_of(make()))


@COMMON
@given(RECIPES)
def test_no_mixture_of_them_raises_or_is_lost_on_the_way(make: Recipe) -> None:
    assert survives(seen_of(make()))


# ------------------------------------------------------------------------------------------------- values as they are

CLEAN = st.text(max_size=4)
CALLS = st.builds(ToolCall, CLEAN, CLEAN, CLEAN)
MESSAGES = st.builds(
    Message,
    st.sampled_from(["system", "user", "assistant", "tool"]),
    CLEAN,
    st.lists(CALLS, max_size=2).map(tuple),
    st.none() | CLEAN,
)
USAGES = st.builds(Usage, st.integers(0, 2**40), st.integers(0, 2**40))


@COMMON
@given(MESSAGES, USAGES, CALLS)
def test_a_correct_value_stays_what_it_is(message: Message, usage: Usage, call: ToolCall) -> None:
    assert normal.message(message) == message
    assert normal.messages([message, message]) == (message, message)
    assert normal.usage(usage) == usage
    assert normal.call(call) == call


def test_what_cannot_be_encoded_is_written_out() -> None:
    assert normal.text("a\ud800b") == "a\\ud800b"


@COMMON
@given(st.text(st.characters(), max_size=8))
def test_text_stays_what_it_is_but_for_what_cannot_be_encoded(value: str) -> None:
    said = normal.text(value)
    assert said.encode("utf-8").decode("utf-8") == said
    assert (said == value) == all(not "\ud800" <= letter <= "\udfff" for letter in value)


@COMMON
@given(st.recursive(st.none() | st.booleans() | st.integers(-(2**62), 2**62) | st.floats(-9, 9) | CLEAN, st.lists))
def test_a_json_value_stays_what_it_is(value: Any) -> None:
    assert normal.plain({"a": value}) == {"a": value}
    assert type(normal.plain(value)) is type(value)


@pytest.mark.parametrize("value", [5, b"a", None, ["a"], 1.5], ids=repr)
def test_what_is_no_text_is_shown_and_marked(value: object) -> None:
    assert normal.text(value) == f"(not text) {value!r}"


def test_what_cannot_even_be_shown_is_named_by_its_type() -> None:
    assert normal.text(Silent()) == "(not text) <Silent whose repr raises RuntimeError>"


def test_long_reprs_are_cut_and_long_text_is_not() -> None:
    assert len(normal.text(["a" * 5000])) < 300
    assert len(normal.text("a" * 5000)) == 5000


@pytest.mark.parametrize(
    ("value", "expected"), [(0, 0), (-3, -3), (True, 1), (2**40, 2**40), (1.0, -1), ("1", -1), (None, -1)], ids=repr
)
def test_a_count_is_an_integer(value: object, expected: int) -> None:
    assert normal.count(value) == expected
    assert type(normal.count(value)) is int


@pytest.mark.parametrize("value", ["Hi", {"role": "user"}, None, SimpleNamespace(role="bot"), SimpleNamespace(role=[])])
def test_what_is_no_message_is_shown_as_content(value: object) -> None:
    assert normal.message(value) == Message("user", f"(not text) {value!r}")


def test_a_transcript_that_is_no_list_is_one_odd_message() -> None:
    assert normal.messages(7) == (Message("user", "(not text) 7"),)
    assert normal.messages(None) == ()
    assert normal.messages(iter([PROPOSAL])) == (PROPOSAL,)


def test_arguments_that_were_parsed_are_shown_as_such() -> None:
    parsed: Any = {"city": "Paris"}
    started = normal.record(ToolStarted(0, 0, ToolCall("call_1", "get_weather", parsed)))
    assert started.call == ToolCall("call_1", "get_weather", "(not text) {'city': 'Paris'}")


def test_a_record_of_a_correct_loop_stays_what_it_is() -> None:
    definition = ToolDefinition("add", "Adds.", {"type": "object", "properties": {"a": {"type": "integer"}}})
    for record in (
        ModelAsked(0, 0, "0", (PROPOSAL,), (definition,), {"temperature": 0.5}),
        ToolStarted(1, 0, CALL, "0123"),
        GateAsked(2, CALL, tainted=True, iter=3, verdict="deny"),
        StepStarted(3, 0, "tool/1/0/add", "tool"),
    ):
        assert normal.record(record) == record


# --------------------------------------------------------------------------------------------------------------- events


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (Event("text", 1, text="It "), EventSeen("text", 1, "It ")),
        (Event("usage", 2, usage=Usage(10, 5)), EventSeen("usage", 2, usage=Usage(10, 5))),
        (Event("tool_call", 1, call=CALL), EventSeen("tool_call", 1, call=CALL)),
        (Event("tool_call", 1, call=CALL, verdict=Allow()), EventSeen("tool_call", 1, call=CALL, verdict="allow")),
        (Event("tool_call", 1, call=CALL, verdict=Deny("x")), EventSeen("tool_call", 1, call=CALL, verdict="deny")),
        (
            Event("tool_call", 1, call=CALL, verdict=NeedApproval("m1")),
            EventSeen("tool_call", 1, call=CALL, verdict="need_approval"),
        ),
        (
            Event("tool_result", 1, call=CALL, result=ToolResult("no", is_error=True)),
            EventSeen("tool_result", 1, call=CALL, result=ToolResult("no", is_error=True)),
        ),
        (Event("done", 2), EventSeen("done", 2)),
        (Event("error", 2, error=ConnectionError("gone")), EventSeen("error", 2, error="ConnectionError")),
    ],
    ids=[f"{number}" for number in range(9)],
)
def test_an_event_is_read_field_by_field(event: Event, expected: EventSeen) -> None:
    assert normal.event(event) == expected


# --------------------------------------------------------------------------------------------------------------- errors


def test_each_error_of_a_rule_is_seen_with_its_fields() -> None:
    paid: dict[str, Any] = {"message": PROPOSAL, "transcript": [PROPOSAL], "usage": Usage(10, 5)}
    carried: dict[str, Any] = {"message": PROPOSAL, "transcript": (PROPOSAL,), "usage": Usage(10, 5)}
    pending = [Pending(CALL, "m1", "costs money")]
    assert normal.error(MaxIterError(**paid), ()) == ErrorSeen(
        "max_iter", "MaxIterError: the iteration cap was reached", **carried
    )
    assert normal.error(BudgetError("tokens", 110, 100, **paid), ()) == ErrorSeen(
        "budget", "BudgetError: tokens budget: 110 against 100", resource="tokens", used=110, limit=100, **carried
    )
    assert normal.error(ApprovalError(pending, **paid), ()) == ErrorSeen(
        "approval",
        "ApprovalError: approval needed: m1",
        pending=(PendingSeen(CALL, "m1", "costs money"),),
        **carried,
    )
    assert normal.error(LoopError("over", **paid), ()) == ErrorSeen("other", "LoopError: over", **carried)


def test_other_errors_are_seen_with_their_type_and_text() -> None:
    assert normal.error(ValueError("boom"), ()) == ErrorSeen("other", "ValueError: boom")
    assert normal.error(ScriptExhaustedError("no more"), ()).kind == "script_exhausted"
    assert len(normal.error(ValueError("a" * 9999), ()).text) < 600


def raised_from(error: E, cause: BaseException) -> E:
    """As `raise error from cause` makes it, in the handler of the cause."""
    error.__cause__ = error.__context__ = cause
    return error


def raised_during(error: E, other: BaseException) -> E:
    """As `raise error` makes it, in the handler of the other one."""
    error.__context__ = other
    return error


def wrapped(cause: Exception, times: int) -> Exception:
    for number in range(times):
        cause = raised_from(RuntimeError(f"wrapper {number}"), cause)
    return cause


SCRIPTED = ValueError("scripted")
RELATED: dict[str, Callable[[], BaseException]] = {
    "a cause": lambda: wrapped(SCRIPTED, 1),
    "an error that was being handled": lambda: raised_during(RuntimeError("while handling"), SCRIPTED),
    "a cause of a cause": lambda: wrapped(SCRIPTED, 12),
    "in a group": lambda: ExceptionGroup("several", [KeyError("a"), SCRIPTED]),
    "in a group in a group": lambda: ExceptionGroup("several", [ExceptionGroup("inner", [SCRIPTED]), KeyError("a")]),
    "beside an error of many causes": lambda: ExceptionGroup("several", [SCRIPTED, wrapped(KeyError("a"), 12)]),
    "the cause of a group": lambda: raised_from(ExceptionGroup("several", [KeyError("a")]), SCRIPTED),
}


@pytest.mark.parametrize("make", RELATED.values(), ids=RELATED.keys())
def test_a_scripted_error_is_found_in_what_wraps_it(make: Callable[[], BaseException]) -> None:
    assert normal.error(make(), (KeyError("other"), SCRIPTED)).scripted == "cause"


def test_only_the_very_object_is_the_scripted_error() -> None:
    assert normal.error(SCRIPTED, (SCRIPTED,)).scripted == "same"
    assert normal.error(ValueError("scripted"), (SCRIPTED,)).scripted == "no"
    assert normal.error(wrapped(ValueError("scripted"), 3), (SCRIPTED,)).scripted == "no"


def test_errors_that_cause_each_other_are_read_once() -> None:
    first, second = ValueError("a"), ValueError("b")
    first.__cause__, second.__cause__ = second, first
    assert normal.error(first, (SCRIPTED,)).scripted == "no"
    assert normal.error(first, (second,)).scripted == "cause"


def test_a_chain_without_an_end_is_read_to_some_depth() -> None:
    reads = itertools.count(1)

    class EndlessError(Exception):
        @property
        def __cause__(self) -> BaseException | None:  # type: ignore[override]
            return EndlessError() if next(reads) < 10_000 else None

    assert normal.error(EndlessError(), (SCRIPTED,)).scripted == "no"
    assert next(reads) < 1000


def test_an_error_that_hides_what_it_is_can_still_be_told() -> None:
    class HidingError(BudgetError):
        @property  # type: ignore[misc]
        def __class__(self) -> Any:
            raise RuntimeError("no")

        @property
        def __cause__(self) -> BaseException | None:  # type: ignore[override]
            raise RuntimeError("no")

    seen = normal.error(HidingError("tokens", 110, 100), (SCRIPTED,))
    assert (seen.kind, seen.used, seen.limit, seen.scripted) == ("budget", 110, 100, "no")
