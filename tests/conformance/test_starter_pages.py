"""The three pages for strangers are followed, each in an empty folder: what they show is written, run and compared.

Beside the console blocks that every document has (`tests/test_documents.py`), these are followed, as a reader would:

* a block whose first line is `# NAME.EXT` is saved as that file;
* a block that starts with `class C:  # in FILE` is typed into that file: each of its methods takes the place of the
  statements of the method of its name, and the comments above those stay;
* a block of sh below the comment `run` is typed into a shell;
* at the comment `complete: FILE SOURCE` the reader has the complete loop that the page names.

Run as a program (`python -m tests.conformance.test_starter_pages`), this file writes shown output anew.
"""

from __future__ import annotations

import ast
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.test_documents import GAP, ROOT, matches, now, timeless

PAGES = ("docs/i-wrote-a-loop.md", "docs/i-grade-loops.md", "docs/i-maintain-a-loop.md")
LONGEST = 180
"""Lines of a page."""
BLOCK = re.compile(r"(?:^<!-- (run|complete: [^\n]*) -->\n)?^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FILE = re.compile(r"# (\S+\.\w+)\n")
METHODS = re.compile(r"class (\w+):  # in (\S+)\n")
COMMANDS = {"looptck": ["-m", "looptck"], "pytest": ["-m", "pytest", "-p", "no:cacheprovider"], "python": []}


def prepared(folder: Path) -> None:
    """The commands that the pages show, as scripts."""
    (folder / ".bin").mkdir()
    for name, arguments in COMMANDS.items():
        script = folder / ".bin" / name
        script.write_text(f'#!/bin/sh\nexec {shlex.join([sys.executable, *arguments])} "$@"\n', encoding="utf-8")
        script.chmod(0o755)


def methods(source: str, name: str) -> dict[str, ast.FunctionDef]:
    """The methods of a class in a source text."""
    (found,) = [node for node in ast.parse(source).body if isinstance(node, ast.ClassDef) and node.name == name]
    return {node.name: node for node in found.body if isinstance(node, ast.FunctionDef)}


def statements(method: ast.FunctionDef) -> slice:
    """The lines of a method below its docstring, if it has one, and the comments behind that."""
    first = method.body[ast.get_docstring(method) is not None]
    return slice(first.lineno - 1, method.end_lineno)


def typed(source: str, block: str, name: str) -> str:
    """A source text with the methods of a block in place of those of the same names in the class."""
    lines, new = source.splitlines(), block.splitlines()
    theirs = methods(source, name)
    for method in reversed(methods(block, name).values()):
        assert ast.unparse(method.args) == ast.unparse(theirs[method.name].args), method.name
        lines[statements(theirs[method.name])] = new[statements(method)]
    return "\n".join([*lines, ""])


def written(page: str, folder: Path, block: str, mark: str) -> None:
    """Write what a block or its mark asks the reader to write."""
    if mark.startswith("complete: "):
        name, source = mark.split()[1:]
        assert f"(../{source})" in (ROOT / page).read_text(encoding="utf-8"), "a complete loop that the page names"
        shutil.copy(ROOT / source, folder / name)
    elif found := FILE.match(block):
        (folder / found[1]).parent.mkdir(parents=True, exist_ok=True)
        (folder / found[1]).write_text(block, encoding="utf-8")
    elif found := METHODS.match(block):
        file = folder / found[2]
        file.write_text(typed(file.read_text(encoding="utf-8"), block, found[1]), encoding="utf-8")


LEFT_OUT = {"CI", "FORCE_COLOR", "LOOPTCK_TRACEBACK", "GITHUB_STEP_SUMMARY", "PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER"}
"""What changes what a command prints, and is of the machine that the tests run on."""


def run(command: str, folder: Path) -> tuple[int, list[str]]:
    """Exit code and lines of standard output of a command that is typed in the folder."""
    env = {key: value for key, value in os.environ.items() if key not in LEFT_OUT}
    env |= {"PYTHONIOENCODING": "utf-8", "PYTHONPATH": os.pathsep.join(sys.path), "COLUMNS": "140"}
    env["PATH"] = f"{folder / '.bin'}{os.pathsep}{env['PATH']}"
    done = subprocess.run(["/bin/sh", "-c", command], cwd=folder, env=env, capture_output=True, check=False)
    return done.returncode, [line.rstrip() for line in done.stdout.decode().splitlines()]


def followed(page: str, folder: Path) -> Iterator[tuple[str, int, list[str], int, list[str]]]:
    """Do what the page says; for each command the exit code and lines that are shown, and those that there are."""
    prepared(folder)
    for mark, language, block in BLOCK.findall((ROOT / page).read_text(encoding="utf-8")):
        written(page, folder, block, mark)
        if mark == "run":
            yield block, 0, [], *run(block, folder)
        if language == "console":
            for part in re.split(r"^\$ (?!echo \$\?)", block, flags=re.MULTILINE)[1:]:
                shown, _, code = part.partition("$ echo $?\n")
                command, *lines = shown.splitlines()
                yield command, int(code or 0), lines, *run(command, folder)


@pytest.mark.parametrize("page", PAGES)
def test_whoever_follows_the_page_sees_what_it_shows(page: str, tmp_path: Path) -> None:
    commands = 0
    for command, code, lines, real_code, output in followed(page, tmp_path):
        assert (command, real_code) == (command, code), "\n".join(output)
        assert matches(lines, output), "\n".join(["$ " + command, *output])
        commands += 1
    assert commands


@pytest.mark.parametrize("page", PAGES)
def test_a_page_ends_with_a_verdict_and_is_short(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    assert re.findall(r"^\$ echo \$\?\n\d$", text, re.MULTILINE)
    assert len(text.splitlines()) <= LONGEST


def rewrite() -> None:
    """Write what is shown between gaps anew, where its first and last line still have their shapes."""
    for page in PAGES:
        with tempfile.TemporaryDirectory() as folder:
            for _, _, shown, _, output in followed(page, Path(folder)):
                for part in "\n".join(shown).split(GAP):
                    old = part.strip("\n").splitlines()
                    new = now(old, output) if old else old
                    if [*map(timeless, new)] != [*map(timeless, old)]:
                        text = (ROOT / page).read_text(encoding="utf-8")
                        (ROOT / page).write_text(text.replace("\n".join(old), "\n".join(new)), encoding="utf-8")


if __name__ == "__main__":
    rewrite()
