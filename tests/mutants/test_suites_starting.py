"""A run that cannot be started is the kit's trouble and never a suite's; and where the limits of a run hold.

Slower than others: each starts a process that imports pytest.
"""

from __future__ import annotations

import errno
import os
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from tests.mutants.grading import HONEST, project, written

from looptck_mutants.harness import KitFaultError
from looptck_mutants.suites import forking
from looptck_mutants.suites.forking import ClosedError, Zygotes
from looptck_mutants.suites.harness import SuiteHarness
from looptck_mutants.suites.runs import OVER, Ended, Run
from looptck_mutants.suites.suite import NoSuiteError, Suite, read_suite

LIMIT = 1.0


@pytest.fixture(scope="module")
def zygotes() -> Iterator[Zygotes]:
    with Zygotes([], 1) as zygotes:
        yield zygotes


def judge_of(tmp_path: Path, zygotes: Zygotes, text: str, **files: str) -> SuiteHarness:
    suite = written(tmp_path / "suite", test_it=text)
    for name, content in files.items():
        (suite / name.replace("_", ".")).write_text(content, encoding="utf-8")
    given = read_suite(str(suite), tmp_path / "copy")
    return SuiteHarness(project(tmp_path / "patches"), given, 5, zygotes, first_limit=LIMIT)


def run(judge: SuiteHarness) -> Run:
    return judge._run(judge._codes.plain, 0)


def failing(real: Callable[..., Any], *calls: Literal["works", "lacks"]) -> Callable[..., Any]:
    """A function that lacks descriptors at some of its first calls, and at none behind them."""
    left = list(calls)

    def call(*given: Any, **named: Any) -> Any:
        if not left or left.pop(0) == "works":
            return real(*given, **named)
        raise OSError(errno.EMFILE, "Too many open files")

    return call


def descriptors() -> int:
    return len(list(Path("/dev/fd").iterdir()))


@pytest.mark.parametrize(
    ("where", "name", "calls"),
    [
        (os, "pipe", ("lacks", "lacks")),
        (os, "pipe", ("works", "lacks", "works", "lacks")),
        (socket, "send_fds", ("lacks", "lacks")),
        (socket, "socketpair", ("lacks", "lacks")),
        (subprocess, "Popen", ("lacks", "lacks")),
    ],
    ids=["first pipe", "second pipe", "sending", "socket", "process"],
)
def test_what_cannot_be_started_is_a_fault_of_the_kit_and_leaves_nothing_open(
    where: Any, name: str, calls: tuple[Literal["works", "lacks"], ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = descriptors()
    with Zygotes([], 1) as fresh:
        judge = judge_of(tmp_path, fresh, HONEST)
        monkeypatch.setattr(where, name, failing(getattr(where, name), *calls))
        with pytest.raises(KitFaultError, match=r"could not be started: .*Too many open files"):
            run(judge)
        monkeypatch.undo()
        assert run(judge).ended["test_it.py::test_the_cap"] == Ended("passed")
    assert descriptors() == before


def test_what_can_be_started_the_second_time_is(
    zygotes: Zygotes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = judge_of(tmp_path, zygotes, HONEST)
    monkeypatch.setattr(socket, "send_fds", failing(socket.send_fds, "lacks"))
    assert run(judge).ended["test_it.py::test_the_cap"] == Ended("passed")


def test_a_child_that_does_not_come_as_far_as_to_pytest_is_a_fault_of_the_kit(zygotes: Zygotes, tmp_path: Path) -> None:
    judge = judge_of(tmp_path, zygotes, HONEST)
    request = judge._request(judge._codes.plain, None, None)
    with zygotes.one() as zygote, pytest.raises(KitFaultError, match="could not be started: "):
        zygote.run({**request, "place": str(tmp_path / "nowhere"), "suite": str(tmp_path / "nowhere")}, LIMIT)


def test_a_suite_that_cannot_be_copied_for_a_run_is_a_fault_of_the_kit(
    zygotes: Zygotes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = judge_of(tmp_path, zygotes, HONEST)
    monkeypatch.setattr(Suite, "lay", failing(Suite.lay, "lacks"))
    with pytest.raises(KitFaultError, match=r"could not be copied for a run: .*Too many open files"):
        run(judge)


def test_a_zygote_that_is_ended_while_it_starts_leaves_no_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is ended where it has already been looked whether it was."""
    started: list[object] = []
    with Zygotes([], 1) as fresh:
        judge = judge_of(tmp_path, fresh, HONEST)
        pair = socket.socketpair

        def ended_meanwhile() -> Any:
            fresh._all[0].end()
            return pair()

        monkeypatch.setattr(socket, "socketpair", ended_meanwhile)
        monkeypatch.setattr(subprocess, "Popen", lambda *given, **_named: started.append(given))
        with pytest.raises(ClosedError):
            run(judge)
    assert started == []


def test_a_zygote_that_is_ended_while_it_is_waited_for_is_no_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Zygotes([], 1) as fresh:
        judge = judge_of(tmp_path, fresh, HONEST)
        start = subprocess.Popen

        def ended_meanwhile(*given: Any, **named: Any) -> Any:
            process = start(*given, **named)
            ending.start()
            return process

        ending = threading.Thread(target=fresh._all[0].end)
        monkeypatch.setattr(subprocess, "Popen", ended_meanwhile)
        with pytest.raises(ClosedError):
            run(judge)
        ending.join()
        assert fresh._all[0]._process is None


# -------------------------------------------------------------------------------------------------------------- limits


def test_who_never_stops_printing_is_over_the_limit(zygotes: Zygotes, tmp_path: Path) -> None:
    text = """
    import os


    def test_prints():
        while True:
            os.write(1, b"x" * 4096)
    """
    judge = judge_of(tmp_path, zygotes, text, pytest_ini="[pytest]\naddopts = -s\n")
    assert run(judge).ended["test_it.py::test_prints"] == Ended("timeout", f"{OVER} of 1.0 s")


def test_what_was_left_is_read_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = socket.socketpair()
    chunks = iter([b"x" * 65_536] * 1_000)
    monkeypatch.setattr(os, "read", lambda _end, size: next(chunks)[:size])
    with ours, theirs:
        listener = forking._Listener(Run(), ours, ours.fileno(), theirs.fileno(), LIMIT, lambda _pid: None)
        listener._run.stopped = "ended its process"
        listener._rest()
    assert 900 < len(list(chunks)) < 970


# ------------------------------------------------------------------------------------------------------------ settings


@pytest.mark.parametrize("options", ["-n 2 --dist loadfile", "-n auto", "-d --tx popen"])
def test_tests_that_are_to_be_distributed_are_run_in_one_process_all_the_same(
    options: str, zygotes: Zygotes, tmp_path: Path
) -> None:
    judge = judge_of(tmp_path, zygotes, HONEST, pytest_ini=f"[pytest]\naddopts = {options}\n")
    assert run(judge).ended == {"test_it.py::test_the_cap": Ended("passed")}


def test_a_suite_that_runs_its_tests_elsewhere_is_told(zygotes: Zygotes, tmp_path: Path) -> None:
    conftest = "import pytest\n\n\n@pytest.hookimpl(tryfirst=True)\ndef pytest_collection(session):\n    return True\n"
    judge = judge_of(tmp_path, zygotes, HONEST, conftest_py=conftest)
    with pytest.raises(NoSuiteError, match="was finished before anything was collected; is there a plugin that distr"):
        judge.baseline()
