"""The contract's limits as the framework's, and the framework's error at a limit in the contract's words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pydantic_ai import UsageLimitExceeded, UsageLimits

from looptck.contract.ag03 import Budget, BudgetError, LoopError, MaxIterError

_TOLD = re.compile(r"(request|total_tokens|tool_calls)_limit of (\d+)(?: \(\w+=(\d+)\))?")
"""How the framework's error says which limit it was, how high, and, but for requests, what was counted."""


def limits_of(options: Mapping[str, Any]) -> UsageLimits:
    """The limits that are set. Where none is, the framework's own defaults stand."""
    limits = UsageLimits()
    if "max_iter" in options:
        limits.request_limit = options["max_iter"]
    budget: Budget = options.get("budget") or Budget()
    limits.total_tokens_limit, limits.tool_calls_limit = budget.max_tokens, budget.max_tool_calls
    return limits


def in_contract_words(error: BaseException) -> BaseException:
    """The error of a limit as the contract's, with the framework's as its cause; any other as it is.

    The framework has one type for all limits and says in its text which it was. Its error carries neither message nor
    transcript nor usage, so the contract's carries none of them either.
    """
    told = _TOLD.search(str(error)) if isinstance(error, UsageLimitExceeded) else None
    if told is None:
        return error
    resource, limit, used = told.groups()
    translated: LoopError
    if resource == "request":
        translated = MaxIterError(str(error))
    else:
        translated = BudgetError(resource.replace("_", " "), int(used or 0), int(limit))
    translated.__cause__ = error
    return translated
