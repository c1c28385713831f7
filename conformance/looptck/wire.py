"""The way of an observation through JSON, the same for every type of observation."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, TypeVar

from pydantic import TypeAdapter

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


def json_of(kind: type[T]) -> tuple[Callable[[T], bytes], Callable[[bytes], T]]:
    """The functions `to_json` and `from_json` of a type.

    `to_json` raises `ValueError` for a value that would not come back as it was, `from_json` for anything that
    `to_json` did not write.
    """

    @cache
    def adapter() -> TypeAdapter[T]:  # made when first used: it resolves every type that the observation holds
        return TypeAdapter(kind)

    def to_json(value: T) -> bytes:
        return adapter().dump_json(value, warnings="error")

    def from_json(data: bytes) -> T:
        return adapter().validate_json(data)

    return to_json, from_json


def sayable(text: str) -> str:
    """The text, which has a form in JSON also where it is the name of a file and no Unicode."""
    return text.encode("utf-8", "backslashreplace").decode()
