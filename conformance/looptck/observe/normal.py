"""Turns what a loop gave back into plain, well-typed values. A loop may hand over anything; nothing here raises."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from looptck.contract.ag03 import (
    Allow,
    ApprovalError,
    BudgetError,
    Deny,
    LoopError,
    MaxIterError,
    Message,
    NeedApproval,
    ToolCall,
    ToolDefinition,
    ToolResult,
    Usage,
)
from looptck.observation import ErrorSeen, EventSeen, PendingSeen
from looptck_fakes import GateAsked, ModelAsked, ScriptExhaustedError, StepStarted, ToolStarted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ODD = "(not text) "
CHAIN_LIMIT = 100
COUNT_LIMIT = 2**63
"""Where counts end: JSON readers refuse integers of thousands of digits."""
MOST = 100_000
"""How many elements of an iterable are read: one without an end must not fill the memory."""
DEPTH_LIMIT = 50
"""How deep a value may be nested to be kept: JSON readers refuse deeper ones at some point."""


def text(value: Any) -> str:
    """A string that survives JSON; anything that is no string is shown by its repr, marked as odd."""
    if type(value) is str and value.isascii():  # nearly every text, and every observation has hundreds
        return value
    shown = value if is_a(value, str) else ODD + _shown(value, repr)
    return str.encode(shown, "utf-8", "backslashreplace").decode("utf-8")


def is_a(value: Any, kind: type | tuple[type, ...]) -> bool:
    """Like `isinstance`, without asking the value, which may claim to be anything."""
    return issubclass(type(value), kind)


def _shown(value: Any, show: Callable[[Any], str], most: int = 200) -> str:
    try:
        return show(value)[:most]
    except Exception as error:  # noqa: BLE001 - a hostile __repr__ or __str__
        return f"<{type(value).__name__} whose {show.__name__} raises {type(error).__name__}>"


def _is_plain(value: Any) -> bool:
    return type(value) is str and value.isascii()


def get(value: Any, name: str, otherwise: Any = None) -> Any:
    """An attribute, or `otherwise` where there is none or it cannot be read."""
    try:
        return getattr(value, name, otherwise)
    except Exception:  # noqa: BLE001 - a property that raises
        return otherwise


def _truth(value: Any) -> bool:
    try:
        return bool(value)
    except Exception:  # noqa: BLE001 - a hostile __bool__
        return False


def count(value: Any) -> int:
    """An integer; -1 for anything else, and for one that no count can reach."""
    number = int.__index__(value) if is_a(value, int) else -1
    return number if abs(number) < COUNT_LIMIT else -1


def call(value: Any) -> ToolCall:
    """A tool call, read by its attributes."""
    if type(value) is ToolCall and all(_is_plain(part) for part in (value.id, value.name, value.arguments)):
        return value
    return ToolCall(text(get(value, "id", value)), text(get(value, "name", "")), text(get(value, "arguments", "")))


def message(value: Any) -> Message:
    """A message, read by its attributes; what is no message at all gets its repr as content."""
    role: Any = text(get(value, "role"))
    if role not in {"system", "user", "assistant", "tool"}:
        return Message("user", text(ODD + _shown(value, repr)))
    tool_call_id = get(value, "tool_call_id")
    return Message(
        role,
        text(get(value, "content", "")),
        tuple(call(item) for item in many(get(value, "tool_calls", ()))),
        None if tool_call_id is None else text(tool_call_id),
    )


def many(value: Any) -> tuple[Any, ...]:
    """The elements of an iterable, the first `MOST` of them; empty for None, one odd element for anything else."""
    if value is None:
        return ()
    try:
        return tuple(islice(value, MOST))
    except Exception:  # noqa: BLE001 - not iterable, or an iterator that raises
        return (value,)


def messages(value: Any) -> tuple[Message, ...]:
    """A transcript."""
    return tuple(message(item) for item in many(value))


def record(value: Any) -> Any:
    """A record of the fakes' log, with everything in it that came from the loop made plain."""
    if isinstance(value, ModelAsked):
        return replace(
            value,
            messages=messages(value.messages),
            tools=tuple(definition(item) for item in value.tools),
            options=plain(value.options),
        )
    if isinstance(value, ToolStarted):
        return replace(value, call=call(value.call))
    if isinstance(value, GateAsked):
        return replace(value, call=call(value.call), tainted=_truth(value.tainted), iter=count(value.iter))
    if isinstance(value, StepStarted):
        return replace(value, name=text(value.name), kind=text(value.kind))
    return value


def definition(value: Any) -> ToolDefinition:
    """A tool definition, read by its attributes."""
    parameters = plain(get(value, "parameters"))
    return ToolDefinition(
        text(get(value, "name", value)),
        text(get(value, "description", "")),
        parameters if isinstance(parameters, dict) else {},
    )


def plain(value: Any, depth: int = DEPTH_LIMIT) -> Any:
    """A JSON value that a reader gives back as it is: what is none, or too deep, is shown by its repr."""
    try:
        if depth and is_a(value, dict):
            return {text(key): plain(item, depth - 1) for key, item in value.items()}
        if depth and (is_a(value, list) or is_a(value, tuple)):
            return [plain(item, depth - 1) for item in value]
    except Exception:  # noqa: BLE001 - a container that raises when it is read
        return text(value)
    return _scalar(value)


def _scalar(value: Any) -> Any:
    if value is None or type(value) is bool:
        return value
    if is_a(value, int) and abs(int.__index__(value)) < COUNT_LIMIT:
        return int.__index__(value)
    if is_a(value, float) and math.isfinite(float.__pos__(value)):
        return float.__pos__(value)
    return text(value)


def usage(value: Any) -> Usage | None:
    """Usage, read by its attributes; None where there is none."""
    if value is None:
        return None
    return Usage(count(get(value, "input_tokens")), count(get(value, "output_tokens")))


def event(value: Any) -> EventSeen:
    """An event, read by its attributes."""
    said, verdict, result = get(value, "text"), get(value, "verdict"), get(value, "result")
    proposed, error = get(value, "call"), get(value, "error")
    names = {Allow: "allow", Deny: "deny", NeedApproval: "need_approval"}
    return EventSeen(
        kind=text(get(value, "kind", value)),
        iter=count(get(value, "iter")),
        text="" if said is None else text(said),
        call=None if proposed is None else call(proposed),
        verdict=None if verdict is None else names.get(type(verdict)) or text(verdict),
        result=None if result is None else ToolResult(text(get(result, "content", result)), _error_flag(result)),
        usage=usage(get(value, "usage")),
        error=None if error is None else text(type(error).__name__),
    )


def _error_flag(result: Any) -> bool:
    return _truth(get(result, "is_error"))


def error(value: BaseException, scripted: tuple[BaseException, ...]) -> ErrorSeen:
    """An exception that ended a run; `scripted` are the errors that the scenario made its fakes raise."""
    relation = "no"
    if any(value is item for item in scripted):
        relation = "same"
    elif any(link is item for link in _chain(value) for item in scripted):
        relation = "cause"
    seen: dict[str, Any] = {"kind": _kind(value), "text": text(f"{type(value).__name__}: {_shown(value, str, 500)}")}
    if is_a(value, BudgetError):
        seen |= {name: count(get(value, name)) for name in ("used", "limit")}
        seen["resource"] = text(get(value, "resource"))
    if is_a(value, ApprovalError):
        seen["pending"] = tuple(_pending(item) for item in many(get(value, "pending")))
    if is_a(value, LoopError):
        last = get(value, "message")
        seen |= {"message": None if last is None else message(last), "usage": usage(get(value, "usage"))}
        seen["transcript"] = messages(get(value, "transcript"))
    return ErrorSeen(scripted=relation, **seen)  # type: ignore[arg-type]


def _pending(item: Any) -> PendingSeen:
    return PendingSeen(call(get(item, "call", item)), text(get(item, "marker", "")), text(get(item, "reason", "")))


def _kind(value: BaseException) -> str:
    kinds: tuple[tuple[type[BaseException], str], ...] = (
        (MaxIterError, "max_iter"),
        (BudgetError, "budget"),
        (ApprovalError, "approval"),
        (ScriptExhaustedError, "script_exhausted"),
    )
    return next((name for kind, name in kinds if is_a(value, kind)), "other")


def _chain(value: BaseException) -> Iterator[Any]:
    """The exception, its causes and contexts, and the members of exception groups, each once."""
    todo: list[Any] = [value]
    seen: list[Any] = []
    while todo and len(seen) < CHAIN_LIMIT:
        link = todo.pop()
        if link is None or any(link is other for other in seen):
            continue
        seen.append(link)
        yield link
        todo += (get(link, "__cause__"), get(link, "__context__"))
        if is_a(link, BaseExceptionGroup):
            todo += many(get(link, "exceptions"))
