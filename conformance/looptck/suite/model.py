"""What a suite is made of: tests with the names of the specification, checks with permanent ids, findings.

A check is one pure function of the evidence of one scenario: one fact, expected beside seen. It never looks at
anything else, never stops another check, and is evaluated on each scenario that it names.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from looptck.suite.labels import Labels

_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*/[a-z0-9]+(-[a-z0-9]+)*")

JsonValue: TypeAlias = Any
"""Strings, numbers, booleans, None, and lists and string-keyed mappings of them."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check found. `expected` and `seen` are JSON values; `alternatives` are further values that would pass.

    A check of many facts says with `requirement` which record broke, and with `about` where; else it is its own.
    """

    ok: bool
    expected: JsonValue
    seen: JsonValue
    alternatives: tuple[JsonValue, ...] = ()
    requirement: str = ""
    about: str = ""


class UndecidedError(Exception):
    """A check cannot tell, since too much is left open; the text is one line that says why. It is then incomplete."""


def equal(expected: JsonValue, seen: JsonValue) -> Finding:
    """Passes when both are the same."""
    return Finding(_plain(expected) == _plain(seen), _plain(expected), _plain(seen))


def one_of(seen: JsonValue, first: JsonValue, *others: JsonValue) -> Finding:
    """Passes when `seen` is any of the values: where the specification leaves a choice, the reference's comes first."""
    seen, first, others = _plain(seen), _plain(first), tuple(_plain(other) for other in others)
    return Finding(seen in (first, *others), first, seen, others)


def _plain(value: JsonValue) -> JsonValue:
    """Tuples and sets as lists, so that a value looks the same before and after JSON."""
    if isinstance(value, (tuple, list)):
        return [_plain(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted(_plain(item) for item in value)
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    return value


CheckFunction: TypeAlias = Callable[[Any], Finding]
"""A check takes the evidence of its profile."""


@dataclass(frozen=True, slots=True)
class Check:
    """A check: its permanent id, the requirement it serves, what it states, and the scenarios it is evaluated on.

    `since` is the version of the requirement set that it came with: who pinned an earlier one is told of it as news.
    """

    id: str
    requirement: str
    statement: str
    on: tuple[str, ...]
    function: CheckFunction
    since: int = 1


@dataclass(slots=True)
class Test:
    """A named test of the specification: a few scenarios and the checks over them.

    `build` makes the scenarios from seeded labels, so that a loop cannot have learnt their values.
    """

    __test__ = False  # pytest must not collect it
    name: str
    section: str
    build: Callable[[Labels], tuple[Any, ...]]
    checks: list[Check] = field(default_factory=list)

    def check(
        self, check_id: str, requirement: str, *on: str, since: int = 1
    ) -> Callable[[CheckFunction], CheckFunction]:
        """Register the decorated function as a check on the named scenarios. Its docstring is the statement."""
        if not _ID.fullmatch(check_id):
            msg = f"not a check id: {check_id!r}"
            raise ValueError(msg)

        def register(function: CheckFunction) -> CheckFunction:
            statement = " ".join((function.__doc__ or "").split())
            self.checks.append(Check(check_id, requirement, statement, on, function, since))
            return function

        return register
