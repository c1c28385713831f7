"""The suite as tests for mutmut: one for each test of the specification, observed in this process.

One for each check would do for pytest, and not for mutmut: it runs those tests on a mutant that called its function in
a first run, and of checks that share an observation only the first one calls anything.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from looptck.profile import profile_of
from looptck.session import choose, judged, observe_all
from looptck.suite import tests_of
from looptck.target import Target
from looptck_mutants.systematic.recording import PROPERTY
from looptck_mutants.systematic.settings import MUTATED, Settings, own_stage, read_settings

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["test_suite"]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One item for each test of the specification."""
    settings = read_settings(own_stage())
    names = [test.name for test in tests_of(settings.profile)]
    metafunc.parametrize("name", names)


def test_suite(name: str, record_property: Callable[[str, object], None]) -> None:
    """Observe the scenarios of a test, judge its checks, tell which did not pass."""
    settings = read_settings(own_stage())
    chosen = choose(settings.profile, name, settings.seed)
    (done,) = observe_all(chosen, lambda: _load(settings), isolation="none", limit=settings.limit)
    checks = [check for check in judged(done, lacks={}).checks if check.verdict not in {"pass", "skip"}]
    verdicts = {check.id: [check.verdict, check.message] for check in checks}
    record_property(PROPERTY, verdicts)
    if verdicts:
        pytest.fail(", ".join(verdicts), pytrace=False)


def _load(settings: Settings) -> Any:
    """The adapter of the mutated loop. An installed one in its place would let every mutant get away."""
    module, _, name = settings.loop.partition(":")
    adapter = Target(settings.loop, module, name).load(profile_of(settings.profile).adapt)
    file = str(sys.modules[module].__file__)
    if not file.startswith(str(own_stage() / MUTATED)):
        raise RuntimeError(f"{module} was imported from {file}, not from the stage")
    return adapter
