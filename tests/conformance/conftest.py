"""Fixtures of several test modules: the command line run in this process, and a model server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.conformance.commands import GRACE, Ran

from looptck import cli, isolate
from looptck_fakes.server import ModelServer


@pytest.fixture
def looptck(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run the command in this process."""
    monkeypatch.setattr(isolate, "GRACE", GRACE)

    def run(*arguments: str) -> Ran:
        code = cli.run(arguments)
        return Ran(code, *capsys.readouterr())

    return run


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    """A server with which no test of another module talks."""
    with ModelServer() as running:
        yield running
