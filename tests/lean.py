"""A process that imports little, for what forks hundreds of children: a fork costs what the forking process weighs.

Run as a program, this file is that process: it takes a function and its arguments, and sends back what that returns.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import traceback
from pathlib import Path
from typing import IO, TYPE_CHECKING, Self, TypeVar

from tests.measuring import measured, way_in

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")
ROOT = Path(__file__).parents[1]


class Lean:
    """The process, for as long as the `with` block lasts."""

    def __enter__(self) -> Self:
        command, ends = [sys.executable, "-m", "tests.lean"], subprocess.PIPE
        self._process = subprocess.Popen(command, cwd=ROOT, env=os.environ | way_in, stdin=ends, stdout=ends)
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()  # it ends when there is nothing more to read

    def __call__(self, function: Callable[..., T], *arguments: object) -> T:
        """Call it there. Function, arguments and result have to be such as pickle takes."""
        requests, answers = self._process.stdin, self._process.stdout
        assert requests is not None
        assert answers is not None
        pickle.dump((function, arguments), requests)
        requests.flush()
        result: T
        result, problem = pickle.load(answers)  # noqa: S301 - a process of ours
        assert problem == "", problem
        return result


def serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    """One call after the other."""
    process = measured()
    while True:
        try:
            function, arguments = pickle.load(requests)  # noqa: S301 - a process of ours
        except EOFError:
            return
        if process is not None:
            process.begin()
        try:
            answer = (function(*arguments), "")
        except Exception:  # noqa: BLE001 - whoever asked is told
            answer = (None, traceback.format_exc())
        pickle.dump(answer, answers)
        answers.flush()


if __name__ == "__main__":
    serve(sys.stdin.buffer, sys.stdout.buffer)
