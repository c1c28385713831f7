"""The decisions of the ag03 loop that need no I/O: limits, open turns, taint. Pure functions over plain values."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from looptck.contract.ag03 import Budget, BudgetError, Message, ToolCall, Usage

if TYPE_CHECKING:
    from collections.abc import Sequence

TOKENS = "tokens"
TOOL_CALLS = "tool_calls"


def with_system(system: str, messages: Sequence[Message]) -> list[Message]:
    """M_0 (section 2.1): the system prompt first, unless there is none or the input starts with one."""
    if not system or (messages and messages[0].role == "system"):
        return list(messages)
    return [Message("system", system), *messages]


def open_turn(messages: Sequence[Message]) -> tuple[Message, tuple[tuple[int, ToolCall], ...]] | None:
    """The last assistant message whose calls are not all answered, with those calls and their places in the turn.

    None where the transcript ends with anything else than such a turn and tool messages (section 2.5).
    """
    answered: Counter[str | None] = Counter()
    for message in reversed(messages):
        if message.role == "tool":
            answered[message.tool_call_id] += 1
            continue
        if message.role != "assistant":
            return None
        rest = []
        for index, call in enumerate(message.tool_calls):
            if answered[call.id]:
                answered[call.id] -= 1
            else:
                rest.append((index, call))
        return (message, tuple(rest)) if rest else None
    return None


def is_tainted(messages: Sequence[Message]) -> bool:
    """Whether any tool message is in the context (section 2.5)."""
    return any(message.role == "tool" for message in messages)


def check_tokens_for_dispatch(budget: Budget | None, usage: Usage) -> None:
    """Raise `BudgetError` when a reply took the run past its token budget: it dispatches nothing (section 2.4)."""
    if budget is not None and budget.max_tokens is not None and usage.total > budget.max_tokens:
        raise BudgetError(TOKENS, usage.total, budget.max_tokens)


def check_tokens_for_model(budget: Budget | None, usage: Usage) -> None:
    """Raise `BudgetError` when nothing is left for another model call (section 2.4)."""
    if budget is not None and budget.max_tokens is not None and usage.total >= budget.max_tokens:
        raise BudgetError(TOKENS, usage.total, budget.max_tokens)


def check_tool_calls(budget: Budget | None, made: int, proposed: int) -> None:
    """Raise `BudgetError` when a turn would take the run past its tool-call budget: none of it runs (section 2.4)."""
    if budget is not None and budget.max_tool_calls is not None and made + proposed > budget.max_tool_calls:
        raise BudgetError(TOOL_CALLS, made + proposed, budget.max_tool_calls)
