"""What a step returned, as JSON and back: the values of the contract, and dataclasses of the loop's own by their names.

Nothing is kept that would come back as something else. A value of any other type is refused, and so is a dataclass that
its constructor does not make again from its fields: `Values.text` reads what it wrote before anybody relies on it.
"""

from __future__ import annotations

import json
import re
from dataclasses import fields, is_dataclass
from typing import Any

from looptck.contract.ag03 import Message, ToolCall, ToolResult, Usage

AS_THEY_ARE = (str, int, float, bool, type(None))
DEEPEST = 100
"""Levels of values within values. A bound of its own, since how deep Python can go depends on who calls: what was
written from a shallow stack might not be read from a deeper one."""

HALF = re.compile("[\ud800-\udfff]")
"""Half a surrogate pair. A reply has two where its chunks were cut, and JSON would read the two as one character."""


class Values:
    """Writes and reads values; `types` are the loop's own dataclasses that its steps return.

    Raises `TypeError` for a type that is no dataclass, and for two that have the same name.
    """

    def __init__(self, *types: type[Any]) -> None:
        self._types: dict[str, type[Any]] = {}
        for known in (Message, ToolCall, ToolResult, Usage, *types):
            if not isinstance(known, type) or not is_dataclass(known):
                msg = f"{known!r} is no dataclass"
                raise TypeError(msg)
            if self._types.setdefault(known.__name__, known) is not known:
                msg = f"two dataclasses have the name {known.__name__}, by which a journal knows them: rename one"
                raise TypeError(msg)

    def text(self, value: Any) -> str:
        """The value as JSON, in ASCII. Raises `TypeError` for what could not be read back as an equal of its type."""
        try:
            text = json.dumps(self._plain(value, DEEPEST))
            differs = difference(value, self.value(text))
        except TypeError:
            raise
        except Exception as error:
            msg = f"it cannot be kept: {error!r}"
            raise TypeError(msg) from error
        if differs:
            raise TypeError(differs)
        return text

    def value(self, text: str) -> Any:
        """The value that was written so. Raises `TypeError` where a dataclass is missing or has changed."""
        return self._whole(json.loads(text))

    def _plain(self, value: Any, depth: int) -> Any:
        if depth == 0:
            msg = f"it has values within values more than {DEEPEST} levels deep"
            raise TypeError(msg)
        if type(value) in AS_THEY_ARE:
            return {"characters": list(value)} if type(value) is str and HALF.search(value) else value
        if type(value) is list:
            return [self._plain(item, depth - 1) for item in value]
        if type(value) is tuple:
            return {"tuple": [self._plain(item, depth - 1) for item in value]}
        if type(value) is dict:
            pairs = value.items()
            return {"dict": [[self._plain(key, depth - 1), self._plain(item, depth - 1)] for key, item in pairs]}
        name = type(value).__name__
        if self._types.get(name) is not type(value):
            msg = f"a value of type {name} cannot be kept: the journal has to be given its dataclass"
            raise TypeError(msg)
        given = {field.name: self._plain(getattr(value, field.name), depth - 1) for field in fields(value)}
        return {"type": name, "fields": given}

    def _whole(self, plain: Any) -> Any:
        if isinstance(plain, list):
            return [self._whole(item) for item in plain]
        if not isinstance(plain, dict):
            return plain
        if "characters" in plain:
            return "".join(plain["characters"])
        if "tuple" in plain:
            return tuple(self._whole(item) for item in plain["tuple"])
        if "dict" in plain:
            return {self._whole(key): self._whole(item) for key, item in plain["dict"]}
        return self._made(plain["type"], {name: self._whole(item) for name, item in plain["fields"].items()})

    def _made(self, name: str, given: dict[str, Any]) -> Any:
        if name not in self._types:
            msg = f"it has a value of type {name}: the journal has to be given its dataclass"
            raise TypeError(msg)
        try:
            return self._types[name](**given)
        except Exception as error:  # a dataclass may check its fields, and raise whatever it likes
            msg = f"a value of type {name} cannot be made again from its fields: {error!r}"
            raise TypeError(msg) from error


def difference(value: Any, again: Any) -> str:
    """What does not come back as it was, in one line; empty if all of it does.

    Asking `==` alone is not enough: True equals 1, 0.0 equals -0.0, and a dataclass may leave fields out of it.
    """
    name = type(value).__name__
    if type(again) is not type(value):
        return f"a value of type {name} comes back as one of type {type(again).__name__}"
    for part, other in zip(parts(value), parts(again), strict=False):
        if differs := difference(part, other):
            return differs
    if value != again or (type(value) is float and repr(value) != repr(again)):
        return f"a value of type {name} comes back as one that does not equal it"
    lost = getattr(value, "__dict__", {}).keys() - getattr(again, "__dict__", {}).keys()
    unknown = sorted(
        name for name in lost if not hasattr(type(value), name)
    )  # what a class has too is a cached property
    return f"a value of type {name} comes back without its attribute {unknown[0]}" if unknown else ""


def parts(value: Any) -> list[Any]:
    """The values that a value is made of; none for a plain one."""
    if type(value) in {list, tuple}:
        return list(value)
    if type(value) is dict:
        return [part for pair in value.items() for part in pair]
    return [getattr(value, field.name) for field in fields(value)] if is_dataclass(value) else []
