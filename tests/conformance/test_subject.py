"""The loop that a suite is run on: what `looptck.subject` gives, and the fixtures that bring it."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from looptck import subject
from looptck.target import BrokenTargetError, UnknownTargetError

LOOP = "class Meter: pass\nclass Mine: pass\nclass Agent: pass\n"


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing is set, nothing is remembered, and nothing stays on the path."""
    monkeypatch.delenv(subject.SUBJECT, raising=False)
    monkeypatch.delenv(subject.SUBJECT_PROFILE, raising=False)
    monkeypatch.setattr(sys, "path", list(sys.path))
    subject._loaded.cache_clear()
    yield
    sys.modules.pop("looptck_target", None)
    subject._loaded.cache_clear()


@pytest.fixture
def loop(tmp_path: Path) -> Path:
    (tmp_path / "loop.py").write_text(LOOP, encoding="utf-8")
    return tmp_path / "loop.py"


def test_where_nothing_is_set_it_is_the_reference_of_ag03() -> None:
    agent = subject.Agent
    assert agent is importlib.import_module("looptck_reference").Agent


def test_of_lesson4_what_stands_beside_the_loop_is_there_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(subject.SUBJECT_PROFILE, "lesson4")
    given = (subject.Agent, subject.Budget, subject.Run, subject.Step)
    metered = importlib.import_module("looptck_reference.metered")
    assert given == (metered.Agent, metered.Budget, metered.Run, metered.Step)


def test_a_file_is_executed_once_and_its_loop_may_have_any_name(loop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(subject.SUBJECT, f"{loop}:Mine")
    assert subject.Agent.__name__ == "Mine"
    assert subject.Agent is subject.Mine
    assert sys.modules[subject.Meter.__module__].Meter is subject.Meter


def test_what_does_not_stand_beside_the_loop_cannot_be_imported(loop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(subject.SUBJECT, str(loop))
    with pytest.raises(ImportError, match=r"loop\.py has no Step beside its loop"):
        from looptck.subject import Step  # noqa: F401, PLC0415 - what is tested
    with pytest.raises(ImportError, match=r"loop\.py has no Step beside its loop"):
        _ = subject.Step


@pytest.mark.parametrize(
    ("target", "error"), [("nowhere.py", UnknownTargetError), ("looptck_nowhere:Agent", BrokenTargetError)]
)
def test_a_target_that_is_none_is_told(target: str, error: type[Exception], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(subject.SUBJECT, target)
    with pytest.raises(error, match="nowhere"):
        _ = subject.Agent


def test_a_profile_that_is_none_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(subject.SUBJECT_PROFILE, "ag04")
    with pytest.raises(ValueError, match="there is no profile 'ag04'; there are ag03 and lesson4"):
        _ = subject.Agent


def test_looking_at_the_module_loads_no_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(subject.SUBJECT, "looptck_nowhere:Agent")
    assert not hasattr(subject, "__wrapped__")


@pytest.mark.parametrize(("options", "code"), [(("-p", "looptck.pytest_subject"), 0), ((), 1)])
def test_the_fixtures_are_there_only_where_the_plugin_is_named(
    options: tuple[str, ...], code: int, loop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slower than others: it starts a pytest of its own."""
    named = "(loop_class.__name__, budget_class.__name__)"
    text = f"def test(loop_class, budget_class):\n    assert {named} == ('Mine', 'Meter')"
    loop.write_text(f"{LOOP}Budget = Meter\n", encoding="utf-8")
    file = loop.with_name("test_it.py")
    file.write_text(text, encoding="utf-8")
    monkeypatch.setenv(subject.SUBJECT, f"{loop}:Mine")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, str(file)]
    done = subprocess.run(command, cwd=loop.parent, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout
    assert ("fixture 'loop_class' not found" in done.stdout) is bool(code)
