"""A correct loop with a mistake written into it, and what the oracle says of it in one scenario."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.conformance.implementations_harness import ROOT, forget_import

from looptck.oracle.judging import Judged, judge_one
from looptck.profile import profile_of
from looptck.target import parse_target

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def altered(folder: Path, loop: str, *changes: tuple[str, str]) -> Path:
    """A copy of a correct loop in which each of these texts, which has to stand there once, is another."""
    source = (ROOT / f"correct/{loop}.py").read_text(encoding="utf-8")
    for old, new in changes:
        assert source.count(old) == 1, old
        source = source.replace(old, new)
    file = folder / f"{loop}_altered.py"
    file.write_text(source, encoding="utf-8")
    return file


def judged_of(file: Path | str, scenario: Any, monkeypatch: pytest.MonkeyPatch) -> Judged:
    """The verdict on a loop in a file, in one scenario."""
    forget_import(monkeypatch)
    profile = profile_of("ag03")
    adapter = parse_target(str(file), {}).load(profile.adapt)
    return judge_one(profile, scenario, profile.observe(adapter, scenario, 10))
