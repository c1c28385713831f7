"""The example of a durable runner: killed at any write it loses nothing, and does nothing twice."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.examples.steps import nobody, returning, run
from tests.test_documents import matches, shown_in

from looptck.contract.ag03 import Message, ToolResult

FOLDER = Path(__file__).parents[2] / "examples/durable_runner"
TOOLS = ["book_room", "book_train", "pay"]
OPENING = 2
"""Writes that opening a journal takes."""


@pytest.fixture(autouse=True)
def children_find_the_kit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))


# killed


def test_killed_before_any_write_a_run_goes_on_loses_nothing_and_does_nothing_twice(
    example: dict[str, ModuleType], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    crashes, crash = example["crashes"], example["crashes"].crash
    seen: list[tuple[int, bool, str, str, list[str]]] = []

    def crash_seen(folder: Path, last: int) -> tuple[bool, str, str, list[str]]:
        ended: tuple[bool, str, str, list[str]] = crash(folder, last)
        seen.append((last, *ended))
        return ended

    code, expected = crashes.start(tmp_path)
    assert (code, expected.splitlines()[-2:]) == (0, ["assistant Booked and paid.", "usage     33 / 15"])
    monkeypatch.setattr(crashes, "crash", crash_seen)
    assert crashes.main() == 0
    shown = next(shown for shown in shown_in("docs/durable.md") if shown.command.endswith("crashes.py"))
    assert matches(shown.lines, capsys.readouterr().out.splitlines())
    for _, _, _, printed, deeds in seen:
        assert printed == expected
        assert sorted(deed for deed in deeds if deed in TOOLS) == TOOLS
        asked = [deed for deed in deeds if deed.startswith("model")]
        assert sorted(set(asked)) == ["model 1", "model 2", "model 3"]
        assert len(asked) <= 4  # the one reply that was under way is read again
    # opening, the input, and of each step two writes of the journal and one of the world
    assert [last for last, killed, *_ in seen if killed] == list(range(1, 22))
    assert {part.rpartition(" was")[2] for _, _, looked, *_ in seen if looked for part in looked.split(", ")} == {
        " done",
        " not done",
    }


def test_a_run_that_is_killed_after_every_third_write_comes_to_its_end(
    example: dict[str, ModuleType], tmp_path: Path
) -> None:
    crashes, printed = example["crashes"], ""
    for _ in range(30):
        code, printed = crashes.start(tmp_path, OPENING + 4)
        if code == crashes.REFUSED:
            assert crashes.look(tmp_path)
        elif code == 0:
            break
    assert "Booked and paid." in printed
    assert sorted(deed for deed in crashes.deeds_in(tmp_path) if deed in TOOLS) == TOOLS


# one step


async def paid() -> ToolResult:
    return ToolResult("paid")


async def breaks() -> ToolResult:
    raise ConnectionError("the line went dead")


def test_a_recorded_step_is_given_back_by_the_next_process(journals: Any) -> None:
    with journals() as journal:
        assert run(journal, "tool/1/0/pay", "tool", paid) == ToolResult("paid")
    with journals() as journal:
        assert run(journal, "tool/1/0/pay", "tool", nobody) == ToolResult("paid")


def test_a_write_of_unknown_outcome_is_refused_and_the_error_says_which(
    journals: Any, example: dict[str, ModuleType]
) -> None:
    unknown = example["journal"].UnknownWriteError
    with journals() as journal:
        with pytest.raises(ConnectionError):
            run(journal, "tool/1/0/pay", "tool", breaks)
        with pytest.raises(unknown, match=r"step 'tool/1/0/pay' had begun .* settle\(step, result\)"):
            run(journal, "tool/1/0/pay", "tool", nobody)
    with journals() as journal:
        assert journal.unknown() == ["tool/1/0/pay"]
        with pytest.raises(unknown) as refused:
            run(journal, "tool/1/0/pay", "tool", nobody)
        assert refused.value.step == "tool/1/0/pay"


async def cancelled() -> ToolResult:
    raise asyncio.CancelledError


@pytest.mark.parametrize(("work", "error"), [(breaks, ConnectionError), (cancelled, asyncio.CancelledError)])
def test_work_that_raises_is_of_unknown_outcome_at_the_next_start(
    journals: Any, example: dict[str, ModuleType], work: Any, error: type[BaseException]
) -> None:
    with journals() as journal:
        for name, kind in (("llm/1", "llm"), ("tool/1/0/pay", "tool")):
            with pytest.raises(error):
                run(journal, name, kind, work)
    with journals() as journal:
        assert run(journal, "llm/1", "llm", paid) == ToolResult("paid")
        assert journal.unknown() == ["tool/1/0/pay"]
        with pytest.raises(example["journal"].UnknownWriteError):
            run(journal, "tool/1/0/pay", "tool", nobody)


def test_a_result_that_tells_of_a_failure_is_an_outcome(journals: Any) -> None:
    failed = ToolResult("no money", is_error=True)
    for work in (returning(failed), nobody):
        with journals() as journal:
            assert run(journal, "tool/1/0/pay", "tool", work) == failed


def test_what_somebody_saw_settles_it(journals: Any) -> None:
    with journals() as journal:
        for name in ("tool/1/0/pay", "tool/1/1/pay"):
            with pytest.raises(ConnectionError):
                run(journal, name, "tool", breaks)
        journal.settle("tool/1/0/pay", ToolResult("paid"))
        journal.forget("tool/1/1/pay")
        assert journal.unknown() == []
        assert run(journal, "tool/1/0/pay", "tool", nobody) == ToolResult("paid")
        assert run(journal, "tool/1/1/pay", "tool", paid) == ToolResult("paid")


@pytest.mark.parametrize("step", ["tool/1/0/pay", "tool/9/0/none", "llm/1"])
def test_only_a_write_of_unknown_outcome_is_settled(journals: Any, example: dict[str, ModuleType], step: str) -> None:
    with journals() as journal:
        run(journal, "tool/1/0/pay", "tool", paid)
        with pytest.raises(ConnectionError):
            run(journal, "llm/1", "llm", breaks)
        for tell, result in ((journal.settle, [ToolResult("no")]), (journal.forget, [])):
            with pytest.raises(example["journal"].JournalError, match="is no write of unknown outcome"):
                tell(step, *result)


def test_a_model_step_without_outcome_is_done_again(journals: Any) -> None:
    with journals() as journal, pytest.raises(ConnectionError):
        run(journal, "llm/1", "llm", breaks)
    with journals() as journal:
        assert run(journal, "llm/1", "llm", paid) == ToolResult("paid")


def test_the_first_input_is_the_input(journals: Any) -> None:
    first = (Message("user", "hello"),)
    with journals() as journal:
        assert journal.input(first) == first
    with journals() as journal:
        assert journal.input((Message("user", "another"),)) == first


# a file that cannot be used


def test_two_processes_do_not_share_a_journal(journals: Any, tmp_path: Path) -> None:
    code = "import sys; from journal import *\ntry: SqliteJournal(sys.argv[1])\nexcept JournalError as e: print(e)"
    command = [sys.executable, "-c", code, str(tmp_path / "run.db")]
    with journals():
        ran = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, check=True)
    assert ran.stdout == f"{tmp_path / 'run.db'}: database is locked: another run has it, wait for its end\n"


def test_a_file_that_is_no_journal_is_refused(journals: Any, example: dict[str, ModuleType], tmp_path: Path) -> None:
    (tmp_path / "run.db").write_text("a list of things to do\n" * 100)
    with pytest.raises(example["journal"].JournalError, match=r"run\.db: file is not a database"), journals():
        pass


@pytest.mark.parametrize("where", ["none/run.db", "folder"])
def test_a_path_where_no_file_can_be_is_refused(example: dict[str, ModuleType], tmp_path: Path, where: str) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(example["journal"].JournalError, match=rf"^{tmp_path / where}: unable to open database file$"):
        example["journal"].SqliteJournal(tmp_path / where)


STEP = "TABLE step (name TEXT PRIMARY KEY, kind TEXT NOT NULL, outcome TEXT)"


@pytest.mark.parametrize(
    ("made", "named"),
    [
        (["TABLE walk (step)"], "table walk"),
        (["TABLE step (id, distance)"], "table step"),
        (["TABLE step (name TEXT)"], "table step"),
        (["TABLE step (name TEXT, kind TEXT, outcome TEXT)"], "table step"),  # without its key, a step is there twice
        ([STEP.replace("outcome TEXT", "outcome TEXT, cost REAL")], "table step"),
        (["TABLE input (id)"], "table input"),
        (["TABLE input (messages TEXT NOT NULL)", "TABLE step (kind, outcome)"], "table step"),
        ([STEP, "TABLE input (messages TEXT NOT NULL, at TEXT)"], "table input"),
        (["VIEW step AS SELECT 1 AS name, 2 AS kind, 3 AS outcome"], "view step"),
        ([STEP, "TRIGGER once AFTER INSERT ON step BEGIN DELETE FROM step; END"], "trigger once"),
    ],
)
def test_another_database_is_refused_and_stays_as_it_was(
    journals: Any, example: dict[str, ModuleType], tmp_path: Path, made: list[str], named: str
) -> None:
    with closing(sqlite3.connect(tmp_path / "run.db")) as file:
        for each in made:
            file.execute(f"CREATE {each}")
        file.commit()
    before = (tmp_path / "run.db").read_bytes()
    with (
        pytest.raises(example["journal"].JournalError, match=rf"run\.db: no journal: its {named} is of something else"),
        journals(),
    ):
        pass
    assert (tmp_path / "run.db").read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["run.db"]


@pytest.mark.parametrize("made", [[], ["TABLE input (messages TEXT NOT NULL)"]])
def test_a_journal_whose_opening_was_cut_off_is_opened(journals: Any, tmp_path: Path, made: list[str]) -> None:
    with closing(sqlite3.connect(tmp_path / "run.db")) as file:
        for each in made:
            file.execute(f"CREATE {each}")
    for work in (paid, nobody):
        with journals() as journal:
            assert journal.input((Message("user", "hello"),)) == (Message("user", "hello"),)
            assert run(journal, "tool/1/0/pay", "tool", work) == ToolResult("paid")


# the run from the command line


def trip(*arguments: object) -> tuple[int, str, str]:
    command = [sys.executable, str(FOLDER / "trip.py"), *map(str, arguments)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    return ran.returncode, ran.stdout, ran.stderr


def test_a_trip_needs_a_folder(tmp_path: Path) -> None:
    assert trip(tmp_path / "none") == (1, "", f"trip.py: {tmp_path / 'none'}: no such folder: make it first\n")


@pytest.mark.parametrize(
    "arguments",
    [[], ["FOLDER", "x"], ["FOLDER", "-1"], ["FOLDER", "1.5"], ["FOLDER", "9" * 5000], ["FOLDER", "1", "2"]],
)
def test_a_trip_that_is_asked_for_wrongly_says_how_to_ask(tmp_path: Path, arguments: list[str]) -> None:
    code, printed, told = trip(*(tmp_path if each == "FOLDER" else each for each in arguments))
    assert (code, printed) == (2, "")
    assert told == "usage: trip.py FOLDER [N]: a run in that folder, which kills itself before its Nth write\n"
    assert list(tmp_path.iterdir()) == []


def test_a_second_start_of_a_trip_is_told_that_another_has_the_file(journals: Any, tmp_path: Path) -> None:
    with journals():
        code, printed, told = trip(tmp_path)
    assert (code, printed) == (1, "")
    assert told == f"trip.py: {tmp_path / 'run.db'}: database is locked: another run has it, wait for its end\n"
    assert trip(tmp_path)[0] == 0


@pytest.mark.parametrize("name", ["run.db", "world.db"])
def test_a_trip_with_a_file_that_is_something_else_says_which(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("a list of things to do\n" * 100)
    assert trip(tmp_path) == (1, "", f"trip.py: {tmp_path / name}: file is not a database\n")


@pytest.mark.parametrize("name", ["run.db", "world.db"])
def test_a_trip_with_a_folder_for_a_file_says_which(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    assert trip(tmp_path) == (1, "", f"trip.py: {tmp_path / name}: unable to open database file\n")


def test_a_trip_whose_journal_is_of_another_run_says_so(journals: Any, tmp_path: Path) -> None:
    with journals() as journal:
        run(journal, "llm/1", "tool", paid)
    told = "trip.py: step 'llm/1' is recorded as one of kind tool, not llm\n"
    assert trip(tmp_path) == (1, "", told)


def test_a_step_of_another_kind_is_refused(journals: Any, example: dict[str, ModuleType]) -> None:
    with journals() as journal:
        run(journal, "llm/1", "llm", paid)
        with pytest.raises(example["journal"].JournalError, match="recorded as one of kind llm, not tool"):
            run(journal, "llm/1", "tool", nobody)


def test_the_journal_is_one_file_that_sqlite_reads(journals: Any, tmp_path: Path) -> None:
    with journals() as journal:
        run(journal, "tool/1/0/pay", "tool", paid)
    assert [file.name for file in tmp_path.iterdir()] == ["run.db"]
    with closing(sqlite3.connect(tmp_path / "run.db")) as file:
        assert file.execute("SELECT name, kind FROM step").fetchall() == [("tool/1/0/pay", "tool")]
