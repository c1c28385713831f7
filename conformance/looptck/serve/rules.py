"""What a check of requests is, and what it says of one conversation."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from looptck.requirements import requirements

if TYPE_CHECKING:
    from looptck.requirements import Level, Requirement
    from looptck.serve.conversation import Conversation
    from looptck.suite.model import Finding

_ID = re.compile(r"requests/[a-z]+(-[a-z]+)*")


@dataclass(frozen=True, slots=True)
class Unjudged:
    """Why a conversation says nothing of a check."""

    reason: str


RuleFunction: TypeAlias = "Callable[[Conversation], Finding | Unjudged]"


@dataclass(frozen=True, slots=True)
class Rule:
    """A check of requests: its permanent id, the requirement that it serves, its statement.

    A `note` is a should whatever the requirement is: the requests give it away less surely than the loop would. One
    that is `about_input` is not looked at where a client asks a question of its own. One that `needs_end` fails only
    where the client was done by itself: before that, what is missing may still come.
    """

    id: str
    requirement: str
    statement: str
    function: RuleFunction
    note: bool = False
    about_input: bool = False
    needs_end: bool = False

    @property
    def record(self) -> Requirement:
        """The requirement that it serves."""
        return requirements("ag03")[self.requirement]

    @property
    def level(self) -> Level:
        """How much it weighs."""
        return "should" if self.note else self.record.level


class Rules(list[Rule]):
    """Checks in their order."""

    def check(self, check_id: str, requirement: str, **marks: bool) -> Callable[[RuleFunction], RuleFunction]:
        """Register the decorated function as a check. Its docstring is the statement; `marks` are fields of `Rule`."""
        if not _ID.fullmatch(check_id):
            msg = f"not the id of a check of requests: {check_id!r}"
            raise ValueError(msg)

        def register(function: RuleFunction) -> RuleFunction:
            statement = " ".join((function.__doc__ or "").split())
            self.append(Rule(check_id, requirement, statement, function, **marks))
            return function

        return register
