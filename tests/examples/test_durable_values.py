"""What the durable runner records: it comes back as what it was, or is refused before it counts as recorded."""

from __future__ import annotations

import asyncio
import json
import math
from collections import Counter
from dataclasses import InitVar, dataclass, field, make_dataclass
from enum import IntEnum
from functools import cached_property
from types import ModuleType
from typing import Any, Generic, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples.steps import nobody, returning, run

from looptck.contract.ag03 import Message, ToolCall, ToolResult, Usage


@dataclass(frozen=True)
class Reply:
    """What a step of some loop returns."""

    message: Message
    usage: Usage


def test_a_value_that_could_not_be_read_back_is_refused_and_then_unknown(
    journals: Any, example: dict[str, ModuleType]
) -> None:
    async def reply() -> Reply:
        return Reply(Message("assistant", "hi"), Usage(1, 2))

    with journals() as journal, pytest.raises(example["journal"].JournalError, match="'llm/1' was done, and cannot be"):
        run(journal, "llm/1", "llm", reply)
    with journals(Reply) as journal:
        assert run(journal, "llm/1", "llm", reply) == asyncio.run(reply())
        assert run(journal, "llm/1", "llm", nobody) == asyncio.run(reply())


def test_a_journal_that_is_not_given_a_dataclass_says_so_where_it_is_read(
    journals: Any, example: dict[str, ModuleType]
) -> None:
    with journals(Reply) as journal:
        run(journal, "llm/1", "llm", returning(Reply(Message("assistant", "hi"), Usage(1, 2))))
    expected = "^step 'llm/1' is recorded and cannot be read: it has a value of type Reply: the journal has to be given"
    with journals() as journal, pytest.raises(example["journal"].JournalError, match=expected):
        run(journal, "llm/1", "llm", nobody)


@dataclass
class Counted:
    """A field that no constructor takes."""

    number: int
    more: int = field(init=False, default=3)


@dataclass
class Raised(Counted):
    """A subclass of such a one."""

    limit: int = 1


@dataclass
class Incremented:
    """A value that another value is made from."""

    number: int

    def __post_init__(self) -> None:
        self.number += 1


@dataclass
class Extended:
    """A list that grows each time."""

    items: list[int]

    def __post_init__(self) -> None:
        self.items.append(1)


@dataclass
class Hidden:
    """Fields that are not compared, and are changed."""

    number: float = field(compare=False)

    def __post_init__(self) -> None:
        self.number = float(self.number)


@dataclass
class Opened:
    """Something that is given and not kept."""

    number: int
    key: InitVar[int]


@dataclass
class Scaled:
    """Something that is given, not kept, and has a default."""

    number: int
    by: InitVar[int] = 1

    def __post_init__(self, by: int) -> None:
        self.number *= by

    @cached_property
    def double(self) -> int:
        """Made again when it is asked for."""
        return 2 * self.number


@dataclass
class Checked:
    """A check that a later change can get behind."""

    number: int

    def __post_init__(self) -> None:
        if self.number < 0:
            msg = "not\nbelow"
            raise ValueError(msg)


@dataclass(eq=False)
class Unequal:
    """No two of them are equal."""

    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Exact:
    """Made by name alone, without a dictionary of attributes."""

    number: int
    rest: object = None


S = TypeVar("S")


@dataclass
class Box(Generic[S]):
    """Of anything."""

    content: S


class Subclass(Box[int]):
    """Decorated by its base alone."""


class Colour(IntEnum):
    """A number that is more than a number."""

    RED = 1


class Name(str):
    """A text that is more than a text."""

    __slots__ = ()


DATACLASSES = (Counted, Raised, Incremented, Extended, Hidden, Opened, Scaled, Checked, Unequal, Exact, Box, Subclass)


def changed(value: Any, **attributes: Any) -> Any:
    for name, attribute in attributes.items():
        setattr(value, name, attribute)
    return value


def nested(levels: int, around: Any) -> Any:
    value = None
    for _ in range(levels):
        value = around(value)
    return value


def scaled() -> Scaled:
    value = Scaled(2, by=3)
    assert value.double == 12
    return value


COME_BACK = {
    "infinite": math.inf,
    "negative zero": -0.0,
    "half a pair": "\ud800",
    "a pair in halves": "\ud83d\ude00 and \N{GRINNING FACE}",
    "halves in a key": {"\ud83d\ude00": 1},
    "numbers as keys": {1: "one", 2.5: "more", None: "none", (1, True): [False, 0, 0.0]},
    "a key that is a dataclass": {Exact(number=1): 1},
    "keys that stand for other types": {"tuple": [1], "dict": [[1, 2]], "characters": "x", "type": "Box", "fields": {}},
    "by name alone, with slots": Exact(number=2, rest=(1, [Exact(number=3)])),
    "a generic one": Box(Box([1])),
    "a subclass": Subclass(1),
    "given for the constructor": scaled(),
    "many levels": nested(99, lambda inner: [inner]),
    "many levels of dataclasses": nested(99, Box),
    "many levels of items": nested(99, lambda inner: {"x": inner}),
    "a wide value": [[0] * 1000] * 10,
}
REFUSED = {
    "a field that no constructor takes": (Counted(1), "Counted cannot be made again from its fields: TypeError"),
    "a subclass of it": (Raised(1), "Raised cannot be made again"),
    "within others": ({"a": [(Counted(1),)]}, "Counted cannot be made again"),
    "another value": (Incremented(1), "int comes back as one that does not equal it"),
    "another length": (Extended([]), "list comes back as one that does not equal it"),
    "another type, not compared": (changed(Hidden(1), number=2), "int comes back as one of type float"),
    "a variable without default": (Opened(1, key=2), "Opened cannot be made again"),
    "a check": (changed(Checked(1), number=-1), r"Checked cannot be made again from its fields: ValueError\('not\\nb"),
    "no equality": (Unequal(1), "Unequal comes back as one that does not equal it"),
    "an attribute that is no field": (changed(Box(1), note="!"), "Box comes back without its attribute note"),
    "no number": ([math.nan], "float comes back as one that does not equal it"),
    "no number, the very object that JSON makes": (json.loads("[NaN]"), "float comes back as one that does not equal"),
    "an enum": (Colour.RED, "type Colour cannot be kept"),
    "an enum as a key": ({Colour.RED: 1}, "type Colour cannot be kept"),
    "a subclass of text": ([Name("x")], "type Name cannot be kept"),
    "a set": ({1}, "type set cannot be kept"),
    "bytes": (b"x", "type bytes cannot be kept"),
    "a subclass of dict": (Counter("x"), "type Counter cannot be kept"),
    "a class": (Box, "type type cannot be kept"),
    "a number with too many digits": (10**5000, "it cannot be kept: ValueError"),
    "too many levels": (nested(100, lambda inner: [inner]), "more than 100 levels deep"),
    "far too many levels": (nested(5000, lambda inner: {"x": inner}), "more than 100 levels deep"),
}


@pytest.mark.parametrize("case", COME_BACK)
def test_what_is_recorded_comes_back_equal_and_of_its_type(journals: Any, case: str) -> None:
    value = COME_BACK[case]
    for work in (returning(value), nobody):
        with journals(*DATACLASSES) as journal:
            again = run(journal, "tool/1/0/x", "tool", work)
        assert (again, type(again), repr(again)) == (value, type(value), repr(value))


@pytest.mark.parametrize("case", REFUSED)
def test_what_would_not_come_back_is_refused_before_it_counts_as_recorded(
    journals: Any, example: dict[str, ModuleType], case: str
) -> None:
    value, why = REFUSED[case]
    with (
        journals(*DATACLASSES) as journal,
        pytest.raises(example["journal"].JournalError, match=rf"^step 'tool/1/0/x' was done, and cannot be .*{why}"),
    ):
        run(journal, "tool/1/0/x", "tool", returning(value))
    with journals(*DATACLASSES) as journal:
        assert journal.unknown() == ["tool/1/0/x"]
        with pytest.raises(example["journal"].JournalError, match=why):
            journal.settle("tool/1/0/x", value)
        journal.settle("tool/1/0/x", ToolResult("looked"))
        assert run(journal, "tool/1/0/x", "tool", nobody) == ToolResult("looked")


@pytest.mark.parametrize("name", ["tool/1/0/\ud800", "tool/1/0/\ud83d\ude00"])
def test_a_name_that_is_no_text_is_refused_before_the_step_begins(
    journals: Any, example: dict[str, ModuleType], name: str
) -> None:
    with journals() as journal:
        with pytest.raises(example["journal"].JournalError, match=r"^step 'tool/1/0/\\ud8.*' cannot be recorded: "):
            run(journal, name, "tool", nobody)
        assert journal.unknown() == []


def test_an_input_that_would_not_come_back_is_refused(journals: Any, example: dict[str, ModuleType]) -> None:
    with (
        journals() as journal,
        pytest.raises(example["journal"].JournalError, match=r"^the input cannot be recorded: "),
    ):
        journal.input([Message("user", Name("hello"))])
    with journals() as journal:
        assert journal.input([Message("user", "hello")]) == (Message("user", "hello"),)


@pytest.mark.parametrize(
    ("types", "why"),
    [
        ((Colour,), "Colour'> is no dataclass"),
        ((Box[int],), r"Box\[int\] is no dataclass"),
        ((make_dataclass("Message", ["text"]),), "two dataclasses have the name Message"),
        ((Reply, make_dataclass("Reply", ["text"])), "two dataclasses have the name Reply"),
    ],
)
def test_types_that_no_journal_could_tell_are_refused_at_once(journals: Any, types: Any, why: str) -> None:
    with pytest.raises(TypeError, match=why), journals(*types):
        pass


CALLS = st.builds(ToolCall, st.text(), st.text(), st.text())
MESSAGES = st.builds(Message, st.sampled_from(["user", "assistant"]), st.text(), st.lists(CALLS).map(tuple))
TEXTS = st.text() | st.text("a\ud83d\ude00\N{GRINNING FACE}")
NUMBERS = st.integers() | st.floats(allow_nan=False)
LEAVES = st.none() | st.booleans() | NUMBERS | TEXTS | MESSAGES | st.builds(ToolResult, st.text())
ANYTHING = st.recursive(
    LEAVES, lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(TEXTS | NUMBERS, inner)
)


@given(ANYTHING)
def test_a_value_comes_back_as_what_it_was(example: dict[str, ModuleType], value: object) -> None:
    values = example["values"].Values()
    text = values.text(value)
    assert text.isascii()
    again = values.value(text)
    assert (again, type(again), repr(again)) == (value, type(value), repr(value))
