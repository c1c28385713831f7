"""What the tests of the harness share: a folder of small mutants in place of those that ship, and a small suite.

A mutant is code at the end of a module of the reference.
"""

from __future__ import annotations

import difflib
import sys
import textwrap
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from looptck import session
from looptck_mutants import harness, profiles
from looptck_mutants.mutated_import import installed_sources
from looptck_mutants.patchfile import PACKAGE
from looptck_mutants.project import reference_project

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from looptck.session import ChosenTest
    from looptck_mutants.outcome import MutantReport, MutantsReport

PROFILE = "ag03"
SEED = 3
SOURCES = installed_sources(PACKAGE)

HAND, CAP = "TestHandExample", "TestMaxIterStops"
CALLS = (CAP, "max-iter/model-calls")
ANSWER = (HAND, "hand/answer")

ONE_MORE = """
    class OneMore(Agent):
        def __init__(self, *seams, max_iter=8, **options):
            super().__init__(*seams, max_iter=max_iter + 1, **options)


    Agent = OneMore
    """
"""Its cap allows one model call more than it says."""
SAME = "AGENTS = [Agent]"
"""A change that changes nothing."""


def when_invoked(statement: str) -> str:
    """An agent that does this in place of a run."""
    return f"""
    class Invoked(Agent):
        def invoke(self, messages):
            {statement}


    Agent = Invoked
    """


def patch(code: str, module: str = PACKAGE) -> str:
    """The patch that puts code at the end of a module."""
    before = SOURCES[module].splitlines(keepends=True)
    after = [*before, *f"\n\n{textwrap.dedent(code).strip()}\n".splitlines(keepends=True)]
    file = module.replace(".", "/") + ("/__init__.py" if module == PACKAGE else ".py")
    return "".join(difflib.unified_diff(before, after, f"a/{file}", f"b/{file}"))


def wrong_loop(folder: Path, patched: pytest.MonkeyPatch) -> str:
    """The name of a loop with that mistake which is no mutant, but a module of its own in a folder on the path."""
    code = f"from looptck_reference import Agent\n\n{textwrap.dedent(ONE_MORE)}"
    (folder / "one_more.py").write_text(code, encoding="utf-8")
    patched.syspath_prepend(folder)
    return "one_more:OneMore"


STALE = patch(SAME).replace("import Agent", "import Agents")


class Shelf:
    """A folder of mutants."""

    def __init__(self, root: Path) -> None:
        self.folder = root / "patches" / PROFILE
        self.folder.mkdir(parents=True)
        self._entries: list[str] = []

    def put(self, name: str, text: str, killer: tuple[str, str] = CALLS, equivalent: str = "") -> None:
        """Add a mutant; `text` is its patch."""
        (self.folder / f"{name}.patch").write_text(text, encoding="utf-8")
        test, check = killer
        fate = f"killer = {{ test = '{test}', check = '{check}' }}"
        fate = f"equivalent = '{equivalent}'" if equivalent else fate
        self._entries.append(f"[[mutant]]\nid = '{name}'\ntitle = 'about {name}'\npatch = '{name}.patch'\n{fate}\n")
        (self.folder / "manifest.toml").write_text("\n".join(self._entries), encoding="utf-8")
        profiles.mutants_of.cache_clear()

    def run(self, done: Callable[[MutantReport], None] = lambda _report: None) -> MutantsReport:
        """All of them."""
        judge = harness.Harness(reference_project(PROFILE), SEED)
        return judge.run(profiles.mutants_of(PROFILE), judge.baseline(), done)


@contextmanager
def shelf_in(root: Path, *suite: str) -> Iterator[Shelf]:
    """While it is open, the harness knows only the mutants of this shelf, and of the suite these tests or checks.

    The reference is forgotten for so long: tests that ran before may have imported it.
    """

    def few(profile: str, pattern: str, seed: int) -> Sequence[ChosenTest]:
        return [test for name in ([pattern] if pattern else suite) for test in session.choose(profile, name, seed)]

    with pytest.MonkeyPatch.context() as patched:
        for module in _imported():
            patched.delitem(sys.modules, module)
        patched.setattr(profiles, "files", lambda _package: root)
        patched.setattr(harness, "choose", few)
        profiles.mutants_of.cache_clear()
        yield Shelf(root)
        for module in _imported():
            del sys.modules[module]
    profiles.mutants_of.cache_clear()


def _imported() -> list[str]:
    return [name for name in sys.modules if name.partition(".")[0] == PACKAGE]
