"""The three pages for strangers are followed, each in an empty folder: what they show is written, run and compared.

Beside the console blocks that every document has (`tests/test_documents.py`), a comment before a block says what is
done with it. `file: NAME` writes the block to that file. `now: NAME PROFILE/STAGE` is where the reader has written a
stage of the starter, of which the block, if it is Python, is a part. Run as a program (`python -m
tests.conformance.test_starter_pages`), this file writes shown output anew.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.conformance.starters import staged
from tests.test_documents import GAP, ROOT, matches, now, timeless

METERED = "examples/my_metered_loop.py"
MISTAKEN = "tests/implementations/lesson4/wrong/bottom_checked.py"
PAGES = {
    "docs/i-wrote-a-loop.md": {},
    "docs/i-grade-loops.md": {"submissions/ada.py": METERED, "submissions/ben.py": MISTAKEN},
    "docs/i-maintain-a-loop.md": {"my_loop.py": MISTAKEN},
}
"""The pages, and the files of this repository that each takes to be there."""
UNIMPORTABLE = {"docs/i-grade-loops.md": "submissions/cyd.py"}
BLOCK = re.compile(r"(?:^<!-- (file|now): ([^\n]*) -->\n)?^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
COMMANDS = {"looptck": ["-m", "looptck"], "pytest": ["-m", "pytest", "-p", "no:cacheprovider"], "python": []}


def prepared(page: str, folder: Path) -> None:
    """What the page takes to be there, and the commands that it shows, as scripts."""
    for name, source in PAGES[page].items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / source, folder / name)
    if page in UNIMPORTABLE:
        (folder / UNIMPORTABLE[page]).write_text("class Agent:\n    def run(self, task)\n", encoding="utf-8")
    (folder / ".bin").mkdir()
    for name, arguments in COMMANDS.items():
        script = folder / ".bin" / name
        script.write_text(f'#!/bin/sh\nexec {shlex.join([sys.executable, *arguments])} "$@"\n', encoding="utf-8")
        script.chmod(0o755)


def run(command: str, folder: Path) -> tuple[int, list[str]]:
    """Exit code and lines of standard output of a command that is typed in the folder."""
    left_out = {"FORCE_COLOR", "LOOPTCK_TRACEBACK", "GITHUB_STEP_SUMMARY", "PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER"}
    env = {key: value for key, value in os.environ.items() if key not in left_out}
    env |= {"PYTHONIOENCODING": "utf-8", "PYTHONPATH": os.pathsep.join(sys.path), "COLUMNS": "140"}
    env["PATH"] = f"{folder / '.bin'}{os.pathsep}{env['PATH']}"
    done = subprocess.run(["/bin/sh", "-c", command], cwd=folder, env=env, capture_output=True, check=False)
    return done.returncode, [line.rstrip() for line in done.stdout.decode().splitlines()]


def followed(page: str, folder: Path) -> Iterator[tuple[str, int, list[str], int, list[str]]]:
    """Do what the page says; for each command the exit code and lines that are shown, and those that there are."""
    prepared(page, folder)
    for what, told, language, block in BLOCK.findall((ROOT / page).read_text(encoding="utf-8")):
        name, _, stage = told.partition(" ")
        if what == "file":
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(block, encoding="utf-8")
        elif what == "now":
            text = staged(*stage.split("/"))
            (folder / name).write_text(text, encoding="utf-8")
            if language == "python":
                assert any(textwrap.indent(block, " " * width) in text for width in (0, 4, 8, 12)), block
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
    assert len(text.splitlines()) <= 150


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
