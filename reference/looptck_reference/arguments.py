"""Read the JSON text that a model wrote as the arguments of a call, strictly, and write it again for validation.

Nothing is guessed: what two readers of JSON could understand differently (a key that occurs twice, NaN, a number out
of range, half of a surrogate pair) is refused with a line that tells the model what to mend.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, NoReturn

__all__ = ["TOO_DEEP", "ArgumentsError", "decode_arguments", "encode_arguments", "one_line"]

TOO_DEEP = "the arguments are nested too deeply"
LINE_LENGTH = 1_000
"""Characters after which a line for the model is cut."""


class ArgumentsError(ValueError):
    """Arguments that a tool cannot be called with. The text is one line, written for the model."""

    def __init__(self, text: str) -> None:
        super().__init__(one_line(text))


def one_line(text: str) -> str:
    """The text with each run of white space made one blank, cut at `LINE_LENGTH` characters."""
    line = " ".join(text.split())
    return line if len(line) <= LINE_LENGTH else f"{line[: LINE_LENGTH - 1]}…"


def decode_arguments(text: str) -> dict[str, Any]:
    """The JSON object that `text` holds. Blank text, which models send for a tool without arguments, is `{}`.

    Raises `ArgumentsError` for anything that is not one JSON object, for a key that occurs twice in any object of it,
    NaN and infinities, numbers too long or too large to hold, and nesting beyond what the interpreter can follow.
    """
    if not text.strip():
        return {}
    try:
        value = _DECODER.decode(text)
    except ArgumentsError:
        raise
    except json.JSONDecodeError as error:
        place = f"line {error.lineno} column {error.colno}"
        raise ArgumentsError(f"the arguments are not JSON: {error.msg} at {place}") from error
    except RecursionError as error:
        raise ArgumentsError(TOO_DEEP) from error
    except ValueError as error:
        raise ArgumentsError(_TOO_LONG) from error
    if not isinstance(value, dict):
        raise ArgumentsError(f"the arguments must be a JSON object, not {_json_type(value)}")
    return value


def encode_arguments(arguments: Mapping[str, Any]) -> bytes:
    """The arguments as JSON in UTF-8. Raises `ArgumentsError` where they have no such form."""
    try:
        return _ENCODER.encode(arguments).encode()
    except UnicodeEncodeError as error:
        raise ArgumentsError("the arguments hold text that is not Unicode: half of a surrogate pair") from error
    except RecursionError as error:
        raise ArgumentsError(TOO_DEEP) from error
    except (TypeError, ValueError) as error:
        raise ArgumentsError(f"the arguments are not JSON: {error}") from error


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object, unless one of its keys occurs twice: which of the two was meant is not ours to choose."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ArgumentsError(f"the arguments hold the key {key!r} more than once")
        found[key] = value
    return found


def _number(text: str) -> float:
    """A number with a fraction or an exponent, unless it is too large for one."""
    value = float(text)
    if math.isinf(value):
        raise ArgumentsError(f"the arguments hold a number that is out of range: {text}")
    return value


def _constant(name: str) -> NoReturn:
    """Refuse NaN and the infinities, which Python's reader would let through."""
    raise ArgumentsError(f"the arguments are not JSON: {name} is not a JSON number")


def _json_type(value: object) -> str:
    """What JSON calls the type of a decoded value that is no object."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, str):
        return "a string"
    return "an array" if isinstance(value, list) else "a number"


def _mapping(value: object) -> dict[str, Any]:
    """A mapping that is no dictionary, as one: JSON's writer knows only those."""
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} has no form in it")


_TOO_LONG = "the arguments hold a number of too many digits"
_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_float=_number, parse_constant=_constant)
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=_mapping, separators=(",", ":"))
