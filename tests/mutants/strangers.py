"""What the tests of other people's projects share: a folder with a small loop, its patches and their manifest.

The loop is the reference with one knob of its own, so that a patch of one line makes a mutant of it.
"""

from __future__ import annotations

import difflib
import textwrap
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from looptck import session
from looptck_mutants import harness

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from looptck.session import ChosenTest

AGENT = textwrap.dedent("""\
    from looptck_reference import Agent as Reference


    class Agent(Reference):
        def __init__(self, *seams, max_iter=8, **options):
            super().__init__(*seams, max_iter=max_iter + EXTRA, **options)
    """)
IN_A_PACKAGE = {"__init__.py": "", "agent.py": f"from .limits import EXTRA\n{AGENT}", "limits.py": "EXTRA = 0\n"}
IN_ONE_FILE = f"EXTRA = 0\n{AGENT}"
ONE_MORE = ("EXTRA = 0", "EXTRA = 1")
"""The cap allows one model call more than it says."""
SAME = ("EXTRA = 0", "EXTRA = 00")
CAP, HAND = "TestMaxIterStops", "TestHandExample"
CALLS = f"{{ test = '{CAP}', check = 'max-iter/model-calls' }}"
ANSWER = f"{{ test = '{HAND}', check = 'hand/answer' }}"


class Stranger:
    """A project in a folder: `src`, which its loop is imported from, and `mutants` with its manifest."""

    def __init__(self, folder: Path, files: dict[str, str] | str = "", name: str = "odd_loop") -> None:
        self.name, self.root, self.mutants = name, folder / "src", folder / "mutants"
        self.one_file = isinstance(files, str)
        self.table = {"profile": "ag03", "loop": f"{name}:Agent", "package": name, "root": "../src"}
        self.mutants.mkdir(parents=True)
        self.root.mkdir()
        if isinstance(files, str):
            self.write(f"{name}.py", files or IN_ONE_FILE)
        else:
            self.table["loop"] = f"{name}.agent:Agent"
            for file, text in files.items():
                self.write(f"{name}/{file}", text)
        self._entries: list[str] = []
        self.save()

    def write(self, path: str, text: str) -> None:
        """Write a file of the sources, its line endings as they are."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8", newline="")

    def diff(self, path: str, old: str, new: str) -> str:
        """The patch that changes one text of a file; its path is that of a checkout around the project."""
        text = (self.root / path).read_bytes().decode()
        assert old in text, "the patch would change nothing"
        before, after = (each.splitlines(keepends=True) for each in (text, text.replace(old, new)))
        return "".join(difflib.unified_diff(before, after, f"a/their/src/{path}", f"b/their/src/{path}"))

    def put(self, name: str, change: tuple[str, str] = ONE_MORE, killer: str = CALLS, *, path: str = "") -> None:
        """Add a mutant."""
        self.add(name, self.diff(path or (f"{self.name}.py" if self.one_file else f"{self.name}/limits.py"), *change))
        self.entry(name, f"killer = {killer}")

    def add(self, name: str, patch: str) -> None:
        """Write a patch."""
        (self.mutants / f"{name}.patch").write_text(patch, encoding="utf-8", newline="")

    def entry(self, name: str, fate: str) -> None:
        """Add an entry to the manifest."""
        self._entries.append(f"[[mutant]]\nid = '{name}'\ntitle = 'about {name}'\npatch = '{name}.patch'\n{fate}\n")
        self.save()

    def save(self) -> None:
        """Write the manifest."""
        lines = ["[project]", *(f"{key} = '{value}'" for key, value in self.table.items()), ""]
        (self.mutants / "manifest.toml").write_text("\n".join([*lines, *self._entries]), encoding="utf-8")

    def files(self) -> list[str]:
        """Every file and folder of it, to see whether any was added."""
        return sorted(str(path) for path in self.root.parent.rglob("*"))


@contextmanager
def small_suite(*names: str) -> Iterator[None]:
    """While it is open, the suite has these tests or checks."""

    def few(profile: str, _pattern: str, seed: int) -> Sequence[ChosenTest]:
        return [test for name in names for test in session.choose(profile, name, seed)]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(harness, "choose", few)
        yield
