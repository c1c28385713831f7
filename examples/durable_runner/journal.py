"""A durable step runner: the journal of one run, in one SQLite file. Standard library and contract alone.

Each step is two writes, each a transaction of its own: that it has begun, and what it returned. The work lies between
them. So whenever the process is killed, the file says of every step which of three it is:

* it has an outcome: it is given back, and never done again;
* it has not begun: it is done;
* it has begun and has no outcome. A model step is a read, and is done again. Of a tool step nobody knows whether its
  work was done; it is refused with `UnknownWriteError` until somebody has looked, and used `settle` or `forget`.
"""

from __future__ import annotations

import sqlite3
import threading
from typing import TYPE_CHECKING, Any, Self, TypeVar

from values import HALF, Values

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from pathlib import Path

    from looptck.contract.ag03 import Message, StepKind, ToolResult

T = TypeVar("T")
_TABLES = {
    "input": "CREATE TABLE input (messages TEXT NOT NULL)",
    "step": "CREATE TABLE step (name TEXT PRIMARY KEY, kind TEXT NOT NULL, outcome TEXT)",
}
"""All that a journal has, in the words in which SQLite keeps it."""


class JournalError(Exception):
    """A journal that cannot be used like this; the text is one line."""


class UnknownWriteError(JournalError):
    """A tool step that had begun and whose outcome was never recorded; `step` is its name."""

    def __init__(self, step: str) -> None:
        super().__init__(
            f"step {step!r} had begun and its outcome was never recorded: see what became of it, "
            "then settle(step, result) if it was done, or forget(step) if it was not"
        )
        self.step = step


def _unusable(path: Path | str, error: sqlite3.Error) -> JournalError:
    busy = getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY
    return JournalError(f"{path}: {error}{': another run has it, wait for its end' if busy else ''}")


class SqliteJournal:
    """A `StepRunner` whose journal is the file at `path`; `types` are dataclasses of the loop's own that steps return.

    One file is one run, and one process has it at a time. Raises `JournalError` where another process has it, or where
    it is no journal, and `TypeError` for types that `Values` cannot tell. Any thread may use it; a write blocks the
    thread that makes it until it is on the disk.
    """

    def __init__(self, path: Path | str, *types: type[Any]) -> None:
        self._values = Values(*types)
        self._lock = threading.Lock()
        try:
            self._file = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
        except sqlite3.Error as error:
            raise _unusable(path, error) from None
        try:
            self._look_for_others(path)
            self._file.execute("PRAGMA locking_mode = EXCLUSIVE")  # until this process closes the file, or ends
            self._file.execute("PRAGMA synchronous = FULL")
            for table in _TABLES.values():
                self._write(table.replace("TABLE", "TABLE IF NOT EXISTS", 1))
            self._file.execute("BEGIN EXCLUSIVE")  # takes the file, also where there was nothing to create
            self._file.execute("COMMIT")
        except sqlite3.Error as error:
            self._file.close()
            raise _unusable(path, error) from None

    def _look_for_others(self, path: Path | str) -> None:
        """Another database stays as it is, also one whose tables merely have the names. Raises `JournalError`."""
        schema = "SELECT name, type, sql FROM sqlite_master WHERE name NOT GLOB 'sqlite_*' ORDER BY type, name"
        for name, kind, made in self._file.execute(schema).fetchall():
            if _TABLES.get(name) != made:
                self._file.close()
                msg = f"{path}: no journal: its {kind} {name} is of something else; give a path where no file is"
                raise JournalError(msg)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let the file go."""
        self._file.close()

    def input(self, messages: Sequence[Message]) -> tuple[Message, ...]:
        """The input of the run: these messages, or those that were recorded when it was first started."""
        recorded = self._row("SELECT messages FROM input")
        if recorded is None:
            self._write("INSERT INTO input VALUES (?)", self._text(tuple(messages), "the input"))
            return tuple(messages)
        given: tuple[Message, ...] = self._given_back(recorded[0], "the input")
        return given

    async def run(self, name: str, kind: StepKind, work: Callable[[], Awaitable[T]]) -> T:
        """Give back what is recorded, or do the work and record what it returned.

        Raises `UnknownWriteError` for a write of unknown outcome. Work that raises, or is cancelled, has no outcome.
        """
        if HALF.search(name):
            msg = f"step {name!r} cannot be recorded: its name has half a character, which no file can hold"
            raise JournalError(msg)
        known = self._row("SELECT kind, outcome FROM step WHERE name = ?", name)
        if known is None:
            self._write("INSERT INTO step (name, kind) VALUES (?, ?)", name, kind)
        elif known[0] != kind:
            msg = f"step {name!r} is recorded as one of kind {known[0]}, not {kind}"
            raise JournalError(msg)
        elif known[1] is not None:
            return self._given_back(known[1], f"step {name!r}")
        elif kind == "tool":
            raise UnknownWriteError(name)
        text = self._text(await work(), f"step {name!r} was done, and")
        self._write("UPDATE step SET outcome = ? WHERE name = ?", text, name)
        return self._given_back(text, f"step {name!r}")  # as a later process is, so that both see the same

    def _text(self, value: Any, what: str) -> str:
        try:
            return self._values.text(value)
        except TypeError as error:
            msg = f"{what} cannot be recorded: {error}"
            raise JournalError(msg) from error

    def _given_back(self, text: str, what: str) -> Any:
        try:
            return self._values.value(text)
        except TypeError as error:
            msg = f"{what} is recorded and cannot be read: {error}"
            raise JournalError(msg) from error

    def unknown(self) -> list[str]:
        """The tool steps that had begun and have no outcome. Ask before a run, not while it is running."""
        with self._lock:
            rows = self._file.execute("SELECT name FROM step WHERE kind = 'tool' AND outcome IS NULL ORDER BY rowid")
            return [name for (name,) in rows]

    def settle(self, step: str, result: ToolResult) -> None:
        """Somebody has looked: the step was done, with this result. For a loop whose tool steps return results."""
        text = self._text(result, f"the result of step {step!r}")
        self._of_unknown("UPDATE step SET outcome = ? WHERE name = ?", step, text)

    def forget(self, step: str) -> None:
        """Somebody has looked: the step was not done, and may be done now."""
        self._of_unknown("DELETE FROM step WHERE name = ?", step)

    def _of_unknown(self, statement: str, step: str, *values: str) -> None:
        if step not in self.unknown():
            msg = f"step {step!r} is no write of unknown outcome"
            raise JournalError(msg)
        self._write(statement, *values, step)

    def _row(self, question: str, *values: str) -> tuple[Any, ...] | None:
        with self._lock:
            row: tuple[Any, ...] | None = self._file.execute(question, values).fetchone()
            return row

    def _write(self, statement: str, *values: str) -> None:
        """One transaction: when this returns it is on the disk, and when it is cut off nothing of it is."""
        with self._lock:
            self._file.execute(statement, values)
