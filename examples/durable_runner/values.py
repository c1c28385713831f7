"""What a step returned, as JSON and back: the values of the contract, and dataclasses of the loop's own by their names.

Nothing is kept that would come back as something else: a value of any other type is refused.
"""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

from looptck.contract.ag03 import Message, ToolCall, ToolResult, Usage

AS_THEY_ARE = (str, int, float, bool, type(None))


class Values:
    """Writes and reads values; `types` are the loop's own dataclasses that its steps return."""

    def __init__(self, *types: type[Any]) -> None:
        self._types = {known.__name__: known for known in (Message, ToolCall, ToolResult, Usage, *types)}

    def text(self, value: Any) -> str:
        """The value as JSON, in ASCII. Raises `TypeError` for what could not be read back."""
        return json.dumps(self._plain(value))

    def value(self, text: str) -> Any:
        """The value that was written as this text."""
        return self._whole(json.loads(text))

    def _plain(self, value: Any) -> Any:
        if type(value) in AS_THEY_ARE:
            return value
        if type(value) is list:
            return [self._plain(item) for item in value]
        if type(value) is tuple:
            return {"tuple": [self._plain(item) for item in value]}
        if type(value) is dict:
            return {"dict": [[self._plain(key), self._plain(item)] for key, item in value.items()]}
        name = type(value).__name__
        if self._types.get(name) is not type(value):
            msg = f"a value of type {name} cannot be kept: the journal has to be given its dataclass"
            raise TypeError(msg)
        return {
            "type": name,
            "fields": {field.name: self._plain(getattr(value, field.name)) for field in fields(value)},
        }

    def _whole(self, plain: Any) -> Any:
        if isinstance(plain, list):
            return [self._whole(item) for item in plain]
        if not isinstance(plain, dict):
            return plain
        if "tuple" in plain:
            return tuple(self._whole(item) for item in plain["tuple"])
        if "dict" in plain:
            return {self._whole(key): self._whole(item) for key, item in plain["dict"]}
        given = {name: self._whole(item) for name, item in plain["fields"].items()}
        return self._types[plain["type"]](**given)
