"""The suite as part of somebody's own tests: the items of a conftest.py that calls `conformance`."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from looptck.adapter import NoInterfaceError
from looptck.adapting import NoAdapterError, called, looking
from looptck.profile import profile_of
from looptck.pytest_suite.items import items
from looptck.pytest_suite.plugin import plugin_of
from looptck.pytest_suite.settings import Given, known_target, settings
from looptck.pytest_suite.suite import Suite
from looptck.target import Loader

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Request:
    """The arguments of `conformance`."""

    loop: Any
    profile: str
    requirements: int | None
    known_failures: str | None


def embed(file_path: Path, parent: pytest.Collector, request: Request) -> pytest.Collector:
    """The node of a conftest.py with a loop. Nothing is read of the request before it is collected."""
    plugin_of(parent.config).conftests.add(file_path)
    return Embedded.from_parent(parent, path=file_path, request=request)


class Embedded(pytest.File):
    """A conftest.py with a loop."""

    def __init__(self, *, request: Request, **rest: Any) -> None:
        super().__init__(**rest)
        self._request = request

    def collect(self) -> Iterator[pytest.Item]:
        """The checks. What is wrong with the request is one line."""
        try:
            suite = self._suite()
        except pytest.UsageError as error:
            raise self.CollectError(f"conformance: {error}") from None
        plugin_of(self.config).embedded.append(suite)
        yield from items(self, suite)

    def _suite(self) -> Suite:
        asked, folder = self._request, self.path.parent
        pinned = None if asked.requirements is None else Given(str(asked.requirements), "requirements", folder)
        known = None if asked.known_failures is None else Given(asked.known_failures, "known_failures", folder)
        how = settings(self.config, asked.profile, pinned, known)
        if isinstance(asked.loop, str):
            target = known_target(Given(asked.loop, "loop", folder), how.profile)
            return Suite(target.text, Loader(target, how.profile), how, repeatable=False)
        if how.isolation == "process":
            raise pytest.UsageError("another process can be told a target's name alone: give loop as text")
        return Suite(_name(asked.loop), partial(_load, asked.loop, how.profile), how, repeatable=False)


def _name(loop: Any) -> str:
    try:
        return str(getattr(loop, "__qualname__", None) or getattr(loop, "name", None) or type(loop).__qualname__)
    except Exception:  # noqa: BLE001 - a property of the loop's own may raise anything
        return type(loop).__qualname__


def _load(loop: Any, profile: str) -> Any:
    """The adapter of what a conftest.py has in hand; a function is called first, for the module of what it gives."""
    try:
        with looking():
            maker = callable(loop) and not isinstance(loop, type) and not hasattr(loop, "lacks")
            made = called(loop) if maker else loop
            thing = made if isinstance(made, type) else type(made)
            module = inspect.getmodule(thing) or ModuleType(thing.__module__)
        return profile_of(profile).adapt(made, module)
    except NoAdapterError as error:
        msg = f"{_name(loop)} {error}"
        raise NoInterfaceError(msg) from error
