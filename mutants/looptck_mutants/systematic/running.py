"""mutmut in a stage, by its command line: a process group of its own, so that nothing of it outlives the run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from looptck.processes import for_others, kill_group
from looptck_mutants.systematic.settings import PLACE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

NEEDED = "mutmut>=3.8.1,<3.9"
_FIRST, _BEYOND = (3, 8, 1), (3, 9)
_COUNT = re.compile(r"(\d+)/(\d+) ")
_START = "import sys; from mutmut.__main__ import cli; sys.exit(cli())"
_SHOWN = 3
_OURS = {"MUTANT_UNDER_TEST", "PY_COLORS", "FORCE_COLOR"}


class MutmutError(Exception):
    """mutmut did not come to an end; the text is one line with its own last words."""


class NoMutmutError(Exception):
    """mutmut is not there, or not in a version whose results can be read; the text says what to install."""


def look_for_mutmut() -> str:
    """Its version. Raises `NoMutmutError`."""
    install = f'python -m pip install "{NEEDED}"'
    try:
        found = version("mutmut")
    except PackageNotFoundError:
        raise NoMutmutError(f"--systematic needs mutmut: {install}") from None
    numbers = tuple(int(part) for part in re.findall(r"\d+", found)[:3])
    if not _FIRST <= numbers < _BEYOND:
        raise NoMutmutError(f"--systematic cannot read the results of mutmut {found}: {install}")
    return found


def run_mutmut(stage: Path, beside: Path | None, jobs: int, tell: Callable[[int, int], None]) -> None:
    """Run it to its end; `tell` is given how many mutants of how many are through. Raises `MutmutError`.

    That mutants survive is no error. `beside` is a folder that imports may come from, behind everything else.
    """
    command = [sys.executable, "-P", "-c", _START, "run", "--max-children", str(jobs)]
    with subprocess.Popen(  # noqa: S603 - our own interpreter, no shell
        command,
        cwd=stage,
        env=environment(os.environ, stage, beside),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,
    ) as process:
        try:
            last = _follow(process, tell)
            process.wait()
        finally:  # what a test started may outlive mutmut, in the same group
            kill_group(process.pid)
    if process.returncode != 0:
        raise MutmutError(f"mutmut ended with {process.returncode}: {' / '.join(last)}")


def environment(ours: Mapping[str, str], stage: Path, beside: Path | None) -> dict[str, str]:
    """The environment of a run, without what is meant for pytest or the kit itself, as where a suite is run.

    No bytecode is written, and the user's folder comes last on the path.
    """
    own = {name: value for name, value in for_others(ours).items() if name not in _OURS}
    path = [own.get("PYTHONPATH", ""), str(beside or "")]
    return {
        **own,
        "PYTHONPATH": os.pathsep.join(part for part in path if part),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONIOENCODING": "utf-8",
        PLACE: str(stage),
    }


def _follow(process: subprocess.Popen[str], tell: Callable[[int, int], None]) -> list[str]:
    """Tell the counts that it prints; its last lines."""
    assert process.stdout is not None, "a pipe"  # noqa: S101 - narrows the type
    last: list[str] = []
    for line in _lines(process.stdout.read, 256):
        count = _COUNT.search(line)
        if count is not None:
            tell(int(count[1]), int(count[2]))
        elif line.strip():
            last = [*last, line.strip()][-_SHOWN:]
    return last


def _lines(read: Callable[[int], str], size: int) -> Iterator[str]:
    """What is printed, cut where a line is ended or begun anew."""
    rest = ""
    while text := read(size):
        *whole, rest = re.split(r"[\r\n]", rest + text)
        yield from whole
    yield rest
