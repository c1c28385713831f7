"""Turns what a loop gave back into plain, well-typed values. A loop may hand over anything; nothing here raises."""

from __future__ import annotations

from dataclasses import replace
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
    from collections.abc import Iterator

ODD = "(not text) "
CHAIN_LIMIT = 20


def text(value: Any) -> str:
    """A string that survives JSON; anything that is no string is shown by its repr, marked as odd."""
    shown = value if isinstance(value, str) else ODD + _repr(value)
    return shown.encode("utf-8", "backslashreplace").decode("utf-8")


def _repr(value: Any) -> str:
    try:
        return repr(value)[:200]
    except Exception as error:  # noqa: BLE001 - a hostile __repr__
        return f"<{type(value).__name__} whose repr raises {type(error).__name__}>"


def count(value: Any) -> int:
    """An integer; -1 for anything else."""
    return int(value) if isinstance(value, int) else -1


def call(value: Any) -> ToolCall:
    """A tool call, read by its attributes."""
    return ToolCall(
        text(getattr(value, "id", value)), text(getattr(value, "name", "")), text(getattr(value, "arguments", ""))
    )


def message(value: Any) -> Message:
    """A message, read by its attributes; what is no message at all gets its repr as content."""
    role = getattr(value, "role", None)
    if role not in {"system", "user", "assistant", "tool"}:
        return Message("user", ODD + _repr(value))
    tool_call_id = getattr(value, "tool_call_id", None)
    return Message(
        role,
        text(getattr(value, "content", "")),
        tuple(call(item) for item in many(getattr(value, "tool_calls", ()))),
        None if tool_call_id is None else text(tool_call_id),
    )


def many(value: Any) -> tuple[Any, ...]:
    """The elements of an iterable; an empty tuple for None, one odd element for anything else."""
    if value is None:
        return ()
    try:
        return tuple(value)
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
    if isinstance(value, ToolStarted | GateAsked) and type(value.call) is not ToolCall:
        return replace(value, call=call(value.call))
    if isinstance(value, StepStarted):
        return replace(value, name=text(value.name), kind=text(value.kind))
    return value


def definition(value: Any) -> ToolDefinition:
    """A tool definition, read by its attributes."""
    parameters = plain(getattr(value, "parameters", None))
    return ToolDefinition(
        text(getattr(value, "name", value)),
        text(getattr(value, "description", "")),
        parameters if isinstance(parameters, dict) else {},
    )


def plain(value: Any) -> Any:
    """A JSON value: what is none is shown by its repr."""
    if isinstance(value, dict):
        return {text(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, (bool, int, float)) or value is None:
        return value
    return text(value)


def usage(value: Any) -> Usage | None:
    """Usage, read by its attributes; None where there is none."""
    if value is None:
        return None
    return Usage(count(getattr(value, "input_tokens", None)), count(getattr(value, "output_tokens", None)))


def event(value: Any) -> EventSeen:
    """An event, read by its attributes."""
    verdict = getattr(value, "verdict", None)
    result = getattr(value, "result", None)
    proposed = getattr(value, "call", None)
    error = getattr(value, "error", None)
    names = {Allow: "allow", Deny: "deny", NeedApproval: "need_approval"}
    return EventSeen(
        kind=text(getattr(value, "kind", value)),
        iter=count(getattr(value, "iter", None)),
        text=text(getattr(value, "text", None) or ""),
        call=None if proposed is None else call(proposed),
        verdict=None if verdict is None else names.get(type(verdict), _repr(verdict)),
        result=None if result is None else ToolResult(text(getattr(result, "content", result)), _error_flag(result)),
        usage=usage(getattr(value, "usage", None)),
        error=None if error is None else type(error).__name__,
    )


def _error_flag(result: Any) -> bool:
    return bool(getattr(result, "is_error", False))


def error(value: BaseException, scripted: tuple[BaseException, ...]) -> ErrorSeen:
    """An exception that ended a run; `scripted` are the errors that the scenario made its fakes raise."""
    relation = "no"
    if any(value is item for item in scripted):
        relation = "same"
    elif any(link is item for link in _chain(value) for item in scripted):
        relation = "cause"
    seen: dict[str, Any] = {"kind": _kind(value), "text": text(f"{type(value).__name__}: {value}"[:500])}
    if isinstance(value, BudgetError):
        seen |= {"resource": text(value.resource), "used": count(value.used), "limit": count(value.limit)}
    if isinstance(value, ApprovalError):
        seen["pending"] = tuple(
            PendingSeen(
                call(getattr(item, "call", item)), text(getattr(item, "marker", "")), text(getattr(item, "reason", ""))
            )
            for item in many(value.pending)
        )
    if isinstance(value, LoopError):
        last = getattr(value, "message", None)
        seen |= {"message": None if last is None else message(last), "usage": usage(getattr(value, "usage", None))}
        seen["transcript"] = messages(getattr(value, "transcript", None))
    return ErrorSeen(scripted=relation, **seen)  # type: ignore[arg-type]


def _kind(value: BaseException) -> str:
    kinds: tuple[tuple[type[BaseException], str], ...] = (
        (MaxIterError, "max_iter"),
        (BudgetError, "budget"),
        (ApprovalError, "approval"),
        (ScriptExhaustedError, "script_exhausted"),
    )
    return next((name for kind, name in kinds if isinstance(value, kind)), "other")


def _chain(value: BaseException) -> Iterator[BaseException]:
    """The exception, its causes and contexts, and the members of exception groups."""
    todo, seen = [value], 0
    while todo and seen < CHAIN_LIMIT:
        link = todo.pop()
        seen += 1
        yield link
        todo += [link for link in (link.__cause__, link.__context__) if link is not None]
        if isinstance(link, BaseExceptionGroup):
            todo += link.exceptions
