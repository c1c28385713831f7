"""Turn what a tool returned or raised into the result that the model reads."""

from __future__ import annotations

import re

from pydantic import ConfigDict, TypeAdapter

from looptck.contract.messages import ToolResult

__all__ = ["failure", "result_of", "sendable"]

_ANY = TypeAdapter[object](object, config=ConfigDict(ser_json_inf_nan="strings"))
_HALF_PAIR = re.compile("[\ud800-\udfff]")


def result_of(value: object) -> ToolResult:
    """The result for a returned value.

    A `ToolResult` passes as it is and a string is the content. Everything else is written as compact JSON: None is
    `null`, so that no result is mistaken for a missing one, NaN and the infinities are strings. A value without such a
    form is an error result.
    """
    if isinstance(value, ToolResult):
        return value
    if isinstance(value, str):
        return ToolResult(sendable(value))
    try:
        return ToolResult(_ANY.dump_json(value).decode())
    except Exception as error:  # noqa: BLE001 - the value's own code runs here, in serialisers and generators
        return ToolResult(
            sendable(f"the tool returned a {type(value).__name__} that is not JSON: {_text_of(error)}"), is_error=True
        )


def failure(error: BaseException) -> ToolResult:
    """The error result for what a tool raised: its type and, where it has one, its message."""
    name, text = type(error).__name__, _text_of(error)
    return ToolResult(sendable(f"{name}: {text}" if text else name), is_error=True)


def _text_of(error: BaseException) -> str:
    """The message of an exception, empty where asking for it fails."""
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - an exception's own __str__
        return ""


def sendable(text: str) -> str:
    """The text with halves of surrogate pairs replaced: left in, they would break the next request to the model."""
    return text if text.isascii() else _HALF_PAIR.sub("\ufffd", text)
