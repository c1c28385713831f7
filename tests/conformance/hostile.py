"""A zoo of values that a loop may give back, most of which raise when they are looked at, and mixtures of them."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, TypeAlias
from unittest.mock import Mock

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from looptck.contract.ag03 import Message, ToolCall

COMMON = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])

CALL = ToolCall("call_1", "get_weather", '{"city":"Paris"}')
PROPOSAL = Message("assistant", "Let me see.", (CALL,))


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
