"""The suites: one for each profile, looked up by the profile's name."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from looptck.suite.model import Test

PROFILES = ("ag03", "lesson4")
SEEDS = 1_000_000
"""Seeds that are drawn are smaller; given ones may be any number from 0."""


def tests_of(profile: str) -> tuple[Test, ...]:
    """The tests of a profile, in the order of its specification. Raises `KeyError` for an unknown profile."""
    if profile not in PROFILES:
        raise KeyError(profile)
    tests: tuple[Test, ...] = import_module(f"looptck.suite.{profile}").TESTS
    return tests


def extras_of(profile: str, *, scenarios: bool = True) -> tuple[Test, ...]:
    """The tests of a profile that run only where they are asked for. Raises `KeyError` for an unknown profile.

    Without `scenarios` the checks name none, for whoever only asks what there is: making them takes a fifth of a
    second.
    """
    if profile not in PROFILES:
        raise KeyError(profile)
    if profile != "ag03":  # nothing else has a step runner, so there is no journal to go on from
        return ()
    module = import_module("looptck.suite.ag03.crash_sweep")
    return (module.sweep_test() if scenarios else module.TEST,)


tests_of.__test__ = False  # type: ignore[attr-defined]  # pytest must not collect it where it is imported
