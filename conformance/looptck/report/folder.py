"""Results on disk as they come: a folder whose one file grows by a line after each test or mutant.

`results.jsonl` opens with a header, has a line for each result, and ends with a footer. A run that was killed leaves
everything it had, and no footer. The folder of an earlier run is moved aside, to the same name with `.old` behind it.
The file of a run that is still going on is locked, and its folder stays where it is.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import weakref
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

RESULTS = "results.jsonl"
SCHEMA = "looptck-run-1"


class FolderError(Exception):
    """The folder cannot be used for results; the text is one line that says why."""


class RunFolder:
    """A folder of results being written. Every line is on disk when `add` returns, whatever happens to this process.

    Where a line cannot be written, `add` and `finish` raise `FolderError`.
    """

    def __init__(self, place: Path, header: dict[str, Any]) -> None:
        """Move what an earlier run left there aside and write the header. Raises `FolderError`.

        A place that is a link is the folder that the link leads to.
        """
        place = Path(os.path.realpath(place))
        try:
            with _locked(place):
                _make_room(place)
                place.mkdir(parents=True, exist_ok=True)
                self._file = (place / RESULTS).open("x", encoding="utf-8", errors="backslashreplace")
                _lock(self._file.fileno(), fcntl.LOCK_EX)
        except (OSError, ValueError) as error:
            msg = f"{place}: {getattr(error, 'strerror', None) or error}"
            raise FolderError(msg) from None
        _OPEN.add(self)
        self._line({"type": "header", "schema": SCHEMA, **header})

    def add(self, kind: str, result: dict[str, Any]) -> None:
        """Write one result: a JSON object with `kind` as its type."""
        self._line({"type": kind, **result})

    def finish(self, footer: dict[str, Any]) -> None:
        """Write the footer, which says that nothing is missing."""
        self._line({"type": "footer", **footer})

    def _line(self, value: dict[str, Any]) -> None:
        try:
            self._file.write(json.dumps(value) + "\n")
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            msg = f"{self._file.name}: {error.strerror}"
            raise FolderError(msg) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Nothing more is written, and the folder may be moved, though a child may be about to let go of the file."""
        if not self._file.closed:
            _lock(self._file.fileno(), fcntl.LOCK_UN)
        self._file.close()

    def leave(self) -> None:
        """Of a child: the file and its lock are the parent's."""
        self._file.close()


_OPEN: weakref.WeakSet[RunFolder] = weakref.WeakSet()


def _leave() -> None:
    """A child does not hold the lock of its parent's file."""
    for folder in _OPEN:
        folder.leave()


os.register_at_fork(after_in_child=_leave)


def read_run(place: Path) -> tuple[dict[str, Any], list[dict[str, Any]], dict[str, Any] | None]:
    """Header, results and footer of a folder; the footer is None where the run did not finish.

    A last line that was cut off is left out. Raises `FolderError` where the folder is none of ours.
    """
    try:
        text = (place / RESULTS).read_text(encoding="utf-8")
        lines = [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]
    except (OSError, ValueError) as error:
        msg = f"{place}: {getattr(error, 'strerror', None) or error}"
        raise FolderError(msg) from None
    typed = bool(lines) and all(isinstance(line, dict) and "type" in line for line in lines)
    if not typed or lines[0].get("schema") != SCHEMA:
        msg = f"{place / RESULTS} does not begin with a header of looptck"
        raise FolderError(msg)
    footer = lines.pop() if lines[-1]["type"] == "footer" else None
    return lines[0], lines[1:], footer


def _make_room(place: Path) -> None:
    """Move an earlier run aside. A folder that holds anything else is left alone."""
    if not place.exists() or (place.is_dir() and not any(place.iterdir())):
        return
    if not _is_ours(place):
        msg = "is there and holds something else than results of looptck; name another folder"
        raise ValueError(msg)
    old = place.with_name(place.name + ".old")
    if old.exists():
        if not _is_ours(old):
            msg = f"the results there would be moved to {old}, which holds something else"
            raise ValueError(msg)
        if old.is_symlink():
            msg = f"the results there would be moved to {old}, which is a link; name another folder"
            raise ValueError(msg)
        with _locked(old):
            shutil.rmtree(old)
    place.rename(old)


@contextmanager
def _locked(place: Path) -> Iterator[None]:
    """Hold the results there, if there are any, so that no other run moves them. Raises `ValueError` where one does."""
    try:
        file = (place / RESULTS).open("r+b")
    except OSError:  # nothing that a run is writing
        yield
        return
    with file:
        held = _lock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not held or not os.path.samestat(os.fstat(file.fileno()), (place / RESULTS).stat()):
            msg = "another run is writing its results there; wait for it, or name another folder"
            raise ValueError(msg)
        yield


def _lock(file: int, how: int) -> bool:
    """Lock a file until it is closed. False where somebody else holds it; where files cannot be locked, nobody does."""
    try:
        fcntl.flock(file, how)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def _is_ours(place: Path) -> bool:
    """Whether it holds the results of a run and nothing else."""
    try:
        read_run(place)
        return [entry.name for entry in place.iterdir()] == [RESULTS]
    except (FolderError, OSError):
        return False
