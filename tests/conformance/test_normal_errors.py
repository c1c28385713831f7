"""Errors made plain: their kind and fields, and whether the one that the scenario asked for is in them."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, TypeVar

import pytest
from tests.conformance.hostile import CALL, PROPOSAL

from looptck.contract.ag03 import ApprovalError, BudgetError, LoopError, MaxIterError, Pending, Usage
from looptck.observation import ErrorSeen, PendingSeen
from looptck.observe import normal
from looptck_fakes import ScriptExhaustedError

E = TypeVar("E", bound=BaseException)


def test_each_error_of_a_rule_is_seen_with_its_fields() -> None:
    paid: dict[str, Any] = {"message": PROPOSAL, "transcript": [PROPOSAL], "usage": Usage(10, 5)}
    carried: dict[str, Any] = {"message": PROPOSAL, "transcript": (PROPOSAL,), "usage": Usage(10, 5)}
    pending = [Pending(CALL, "m1", "costs money")]
    assert normal.error(MaxIterError(**paid), ()) == ErrorSeen(
        "max_iter", "MaxIterError: the iteration cap was reached", **carried
    )
    assert normal.error(BudgetError("tokens", 110, 100, **paid), ()) == ErrorSeen(
        "budget", "BudgetError: tokens budget: 110 against 100", resource="tokens", used=110, limit=100, **carried
    )
    assert normal.error(ApprovalError(pending, **paid), ()) == ErrorSeen(
        "approval",
        "ApprovalError: approval needed: m1",
        pending=(PendingSeen(CALL, "m1", "costs money"),),
        **carried,
    )
    assert normal.error(LoopError("over", **paid), ()) == ErrorSeen("other", "LoopError: over", **carried)


def test_other_errors_are_seen_with_their_type_and_text() -> None:
    assert normal.error(ValueError("boom"), ()) == ErrorSeen("other", "ValueError: boom")
    assert normal.error(ScriptExhaustedError("no more"), ()).kind == "script_exhausted"
    assert len(normal.error(ValueError("a" * 9999), ()).text) < 600


def raised_from(error: E, cause: BaseException) -> E:
    """As `raise error from cause` makes it, in the handler of the cause."""
    error.__cause__ = error.__context__ = cause
    return error


def raised_during(error: E, other: BaseException) -> E:
    """As `raise error` makes it, in the handler of the other one."""
    error.__context__ = other
    return error


def wrapped(cause: Exception, times: int) -> Exception:
    for number in range(times):
        cause = raised_from(RuntimeError(f"wrapper {number}"), cause)
    return cause


SCRIPTED = ValueError("scripted")
RELATED: dict[str, Callable[[], BaseException]] = {
    "a cause": lambda: wrapped(SCRIPTED, 1),
    "an error that was being handled": lambda: raised_during(RuntimeError("while handling"), SCRIPTED),
    "a cause of a cause": lambda: wrapped(SCRIPTED, 12),
    "in a group": lambda: ExceptionGroup("several", [KeyError("a"), SCRIPTED]),
    "in a group in a group": lambda: ExceptionGroup("several", [ExceptionGroup("inner", [SCRIPTED]), KeyError("a")]),
    "beside an error of many causes": lambda: ExceptionGroup("several", [SCRIPTED, wrapped(KeyError("a"), 12)]),
    "the cause of a group": lambda: raised_from(ExceptionGroup("several", [KeyError("a")]), SCRIPTED),
}


@pytest.mark.parametrize("make", RELATED.values(), ids=RELATED.keys())
def test_a_scripted_error_is_found_in_what_wraps_it(make: Callable[[], BaseException]) -> None:
    assert normal.error(make(), (KeyError("other"), SCRIPTED)).scripted == "cause"


def test_only_the_very_object_is_the_scripted_error() -> None:
    assert normal.error(SCRIPTED, (SCRIPTED,)).scripted == "same"
    assert normal.error(ValueError("scripted"), (SCRIPTED,)).scripted == "no"
    assert normal.error(wrapped(ValueError("scripted"), 3), (SCRIPTED,)).scripted == "no"


def test_errors_that_cause_each_other_are_read_once() -> None:
    first, second = ValueError("a"), ValueError("b")
    first.__cause__, second.__cause__ = second, first
    assert normal.error(first, (SCRIPTED,)).scripted == "no"
    assert normal.error(first, (second,)).scripted == "cause"


def test_a_chain_without_an_end_is_read_to_some_depth() -> None:
    reads = itertools.count(1)

    class EndlessError(Exception):
        @property
        def __cause__(self) -> BaseException | None:  # type: ignore[override]
            return EndlessError() if next(reads) < 10_000 else None

    assert normal.error(EndlessError(), (SCRIPTED,)).scripted == "no"
    assert next(reads) < 1000


def test_an_error_that_hides_what_it_is_can_still_be_told() -> None:
    class HidingError(BudgetError):
        @property  # type: ignore[misc]
        def __class__(self) -> Any:
            raise RuntimeError("no")

        @property
        def __cause__(self) -> BaseException | None:  # type: ignore[override]
            raise RuntimeError("no")

    seen = normal.error(HidingError("tokens", 110, 100), (SCRIPTED,))
    assert (seen.kind, seen.used, seen.limit, seen.scripted) == ("budget", 110, 100, "no")
