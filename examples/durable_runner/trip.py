"""A run that can be killed: the reference loop books a trip, and its tools leave traces that can be counted.

    python trip.py FOLDER [N]

The journal is FOLDER/run.db; what the tools have done stands in FOLDER/world.db, which is the world and no journal.
Started again with the same folder the run goes on. With a number it kills itself with SIGKILL just before its Nth
write, of either file; 0 is never.

Exit codes, each but 0 with one line that says why:

* 0: answered.
* 1: it cannot run, or not to its end: there is no such folder, another run has the journal, a file is something else.
* 2: it was asked for wrongly.
* 3: refused: a write of unknown outcome.
"""

# ruff: noqa: T201 - a script, whose printed lines are its point

from __future__ import annotations

import asyncio
import os
import re
import signal
import sqlite3
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from journal import JournalError, SqliteJournal, UnknownWriteError

from looptck.contract.ag03 import CallChunk, Message, TextChunk, ToolDefinition, ToolResult, Usage, UsageChunk
from looptck_reference import Agent

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence

    from looptck.contract.ag03 import Chunk, ToolCall

QUESTION = Message("user", "Book the night train and a room, then pay.")
REPLIES = (("book_train", "book_room"), ("pay",), ())
"""The calls of each reply; the last has none, and is the answer."""
USAGE = "usage: trip.py FOLDER [N]: a run in that folder, which kills itself before its Nth write"
WRITE = re.compile("[0-9]{1,9}")
KILLED, UNABLE, WRONGLY, REFUSED = -signal.SIGKILL, 1, 2, 3


class Countdown:
    """Kills this process before its write number `last`; never, for 0."""

    def __init__(self, last: int) -> None:
        self._left = last

    def __call__(self) -> None:
        """One more write is about to be made."""
        self._left -= 1
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


class CountedJournal(SqliteJournal):
    """The journal, with a countdown before each of its writes."""

    def __init__(self, path: Path, count: Callable[[], None]) -> None:
        self._count = count
        super().__init__(path)

    def _write(self, statement: str, *values: str) -> None:
        self._count()
        super()._write(statement, *values)


class World:
    """What was really done: a row for each booking and payment, and for each question to the model."""

    def __init__(self, path: Path, count: Callable[[], None] = lambda: None) -> None:
        self._count = count
        try:
            self._file = sqlite3.connect(path, isolation_level=None)
            self._file.execute("CREATE TABLE IF NOT EXISTS deed (what TEXT NOT NULL)")
        except sqlite3.Error as error:
            msg = f"{path}: {error}"
            raise sqlite3.DatabaseError(msg) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def do(self, what: str) -> None:
        """Do it, once more if it was done before: nothing here guards against that."""
        self._count()
        self._file.execute("INSERT INTO deed VALUES (?)", (what,))

    def deeds(self) -> list[str]:
        """Everything that was done, in order."""
        return [what for (what,) in self._file.execute("SELECT what FROM deed ORDER BY rowid")]


class Model:
    """A model that knows from the messages alone what to say next."""

    model = "scripted"

    def __init__(self, world: World) -> None:
        self._world = world

    async def stream(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolDefinition],  # noqa: ARG002 - the seam
        options: Mapping[str, Any],  # noqa: ARG002 - the seam
    ) -> AsyncIterator[Chunk]:
        """The next reply."""
        turn = sum(message.role == "assistant" for message in messages)
        self._world.do(f"model {turn + 1}")
        for index, name in enumerate(REPLIES[turn]):
            yield CallChunk(index, id=f"call_{turn}_{index}", name=name, arguments="{}")
        if not REPLIES[turn]:
            yield TextChunk("Booked and paid.")
        yield UsageChunk(Usage(10 + turn, 5))


class Tools:
    """Three tools that do something in the world."""

    def __init__(self, world: World) -> None:
        self._world = world

    def definitions(self) -> list[ToolDefinition]:
        """What the model is told of them."""
        return [ToolDefinition(name, f"Really {name}.") for names in REPLIES for name in names]

    async def call(self, call: ToolCall) -> ToolResult:
        """Do it, while others do theirs."""
        await asyncio.sleep(0)
        self._world.do(call.name)
        await asyncio.sleep(0)
        return done(call.name)


def done(name: str) -> ToolResult:
    """What a tool answers."""
    return ToolResult(f"{name}: done")


async def book(journal: SqliteJournal, world: World) -> tuple[list[Message], Usage]:
    """One run, from its recorded input; transcript and usage. Raises what ended it."""
    agent = Agent(Model(world), Tools(world), system="You book trips.", step_runner=journal)
    stream = agent.invoke(journal.input([QUESTION]))
    await stream.result()
    return stream.transcript(), stream.usage()


def go(folder: Path, last: int) -> int:
    """Run, and print how it ended. Raises `JournalError` or `sqlite3.Error` for a file that cannot be used."""
    count = Countdown(last)
    with World(folder / "world.db", count) as world, CountedJournal(folder / "run.db", count) as journal:
        try:
            transcript, usage = asyncio.run(book(journal, world))
        except UnknownWriteError as error:
            print(f"refused: {error}")
            return REFUSED
    for message in transcript:
        print(f"{message.role:<9} {message.content or ', '.join(call.name for call in message.tool_calls)}")
    print(f"usage     {usage.input_tokens} / {usage.output_tokens}")
    return 0


def main(folder: str = "", last: str = "0", *others: str) -> int:
    """The run that these arguments ask for; its exit code."""
    if not folder or others or not WRITE.fullmatch(last):
        print(USAGE, file=sys.stderr)
        return WRONGLY
    if not Path(folder).is_dir():
        return unable(f"{folder}: no such folder: make it first")
    try:
        return go(Path(folder), int(last))
    except (JournalError, sqlite3.Error) as error:
        return unable(error)


def unable(why: object) -> int:
    """Say why it cannot run; the exit code."""
    print(f"trip.py: {why}", file=sys.stderr)
    return UNABLE


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
