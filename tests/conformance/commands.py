"""What the tests of the command line share: a command that was run, and bad targets to point it at."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

TARGETS = Path(__file__).parent / "targets"
ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("conformance", "fakes", "reference", "mutants")
PARALLEL = "TestParallelToolsBoundedOrderPreserved"
LIMIT, GRACE = 0.8, 0.4
"""Seconds that a loop has in these tests where it has to be stopped; a correct scenario takes a hundredth of them."""


class Ran:
    """A command that was run: its exit code, and what it printed where."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err
        for stream in (out, err):
            assert "Traceback" not in stream

    @property
    def last(self) -> str:
        """The last line on standard output, without what differs from run to run."""
        return self.out.rstrip().splitlines()[-1].split(" in ")[0]


def started(*arguments: str, folder: Path = ROOT, program: Path | None = None) -> subprocess.Popen[str]:
    """The command in a process of its own, as a shell would start it, or another program in its place."""
    path = os.pathsep.join(str(ROOT / name) for name in PACKAGES)
    return subprocess.Popen(
        [sys.executable, *(["-m", "looptck"] if program is None else [str(program)]), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        preexec_fn=_listen,  # noqa: PLW1509 - no thread of ours holds a lock here
    )


def _listen() -> None:
    """Ctrl-C arrives, also where the tests themselves were started in the background, with it ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def command(*arguments: str, stdin: str = "", folder: Path = ROOT) -> Ran:
    """Run the command in a process of its own."""
    with started(*arguments, folder=folder) as process:
        out, err = process.communicate(stdin)
    return Ran(process.returncode, out, err)


def bad(name: str) -> str:
    return str(TARGETS / f"{name}.py")
