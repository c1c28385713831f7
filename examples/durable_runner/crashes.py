"""Kills the run of trip.py before each of its writes in turn, starts it again until it is done, and tells of it.

python crashes.py
"""

# ruff: noqa: S603, T201 - a script; the command is of its own making, what it prints is its point

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from journal import SqliteJournal
from trip import KILLED, REFUSED, World, done

TRIP = Path(__file__).with_name("trip.py")


def start(folder: Path, last: int = 0) -> tuple[int, str]:
    """The run in a process of its own: exit code, and what it printed."""
    command = [sys.executable, str(TRIP), str(folder), str(last)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if ran.returncode not in {0, REFUSED, KILLED}:
        sys.exit(ran.stderr)
    return ran.returncode, ran.stdout


def deeds_in(folder: Path) -> list[str]:
    """Everything that was done."""
    with World(folder / "world.db") as world:
        return world.deeds()


def look(folder: Path) -> str:
    """Somebody looks what became of writes of unknown outcome, and tells the journal."""
    deeds, told = deeds_in(folder), []
    with SqliteJournal(folder / "run.db") as journal:
        for step in journal.unknown():
            name = step.split("/", 3)[3]
            if name in deeds:
                journal.settle(step, done(name))
            else:
                journal.forget(step)
            told.append(f"{step} {'was done' if name in deeds else 'was not done'}")
    return ", ".join(told)


def crash(folder: Path, last: int) -> tuple[bool, str, str, list[str]]:
    """Kill before that write, start again until done: whether it was killed, what was unknown, the end, all deeds."""
    killed = start(folder, last)[0] == KILLED
    looked, (code, printed) = "", start(folder)
    if code == REFUSED:
        looked = look(folder)
        code, printed = start(folder)
    if code:
        sys.exit(f"killed before write {last}: {printed}")
    return killed, looked, printed, deeds_in(folder)


def main() -> int:
    """Every write in turn, until a run has fewer."""
    last, killed, ends = 0, True, set()
    while killed:
        last += 1
        with tempfile.TemporaryDirectory() as folder:
            killed, looked, printed, deeds = crash(Path(folder), last)
        ends.add(printed)
        tools = [deed for deed in deeds if not deed.startswith("model")]
        how = "killed before" if killed else "has no"
        print(f"{how} write {last:>2}: {', '.join(sorted(tools))}{f' ({looked})' if looked else ''}")
    print(*ends, sep="\n", end="")
    return 0 if len(ends) == 1 else 1


if __name__ == "__main__":
    sys.exit(main())
