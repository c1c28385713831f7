"""Loops that get at what a child tells its parent, or that stay: nobody believes them or waits for them."""

from __future__ import annotations

import errno
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, NoReturn

import pytest
from tests.conformance.test_isolate import NAMES, SCENARIOS, Loop, observations, over, troubled

from looptck import children, isolate, processes
from looptck.adapter import ContractAdapter
from looptck.children import CHILD_FAILED, Batch
from looptck.describe import describe
from looptck.isolate import observe_forked
from looptck.observation import Observation
from looptck.processes import write_all
from looptck.profile import profile_of
from looptck.target import BrokenTargetError

WROTE, CLOSED = "the loop wrote to a descriptor of the kit's", "the loop closed a descriptor of the kit's"


@pytest.fixture
def ways_out(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """In a child: the descriptor that it sends to, which a loop would have to find."""
    ways: list[int] = []
    serve = isolate.serve

    def noting(write: int, *rest: Any) -> None:
        ways.append(write)
        serve(write, *rest)

    monkeypatch.setattr(isolate, "serve", noting)
    return ways


@pytest.fixture
def no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "LEAVING", 0.0)


@pytest.fixture
def held_open() -> Iterator[tuple[int, int]]:
    read, write = os.pipe()
    yield read, write
    os.close(read)


def stay(_code: int = 0) -> NoReturn:
    """Stay for ever: what ends a child that has no parent is off."""
    signal.setitimer(signal.ITIMER_REAL, 0)
    while True:
        signal.pause()


# what it sends


@pytest.mark.parametrize("data", [bytes(8), bytes(24), b"{}", b"\xff"])
@pytest.mark.parametrize("then", [lambda: None, stay], ids=["goes on", "stays"])
def test_what_a_loop_writes_in_the_kits_place_is_not_believed(
    ways_out: list[int], data: bytes, then: Callable[[], None]
) -> None:
    class Writes(Loop):
        def trouble(self) -> None:
            os.write(ways_out[-1], data)
            then()

    seen = troubled(Writes)
    assert (seen.died, seen.blame) == (WROTE, "loop")


def test_the_end_of_the_batch_cannot_be_told_by_a_loop(ways_out: list[int]) -> None:
    """It is a message of no bytes."""

    class Ends(Loop):
        def trouble(self) -> None:
            os.write(ways_out[-1], os.urandom(16) + bytes(8))
            stay()

    assert troubled(Ends).died == WROTE


@pytest.mark.usefixtures("no_patience")
def test_a_loop_that_closes_the_way_out_and_stays_is_told_so(ways_out: list[int]) -> None:
    class Closes(Loop):
        def trouble(self) -> None:
            os.close(ways_out[-1])
            stay()

    seen = troubled(Closes)
    assert (seen.died, seen.blame) == (CLOSED, "loop")


def test_a_loop_that_closes_the_way_out_and_goes_on_is_told_so(ways_out: list[int]) -> None:
    class Closes(Loop):
        def trouble(self) -> None:
            os.close(ways_out[-1])

    seen = troubled(Closes)
    assert (seen.died, seen.blame) == (CLOSED, "loop")


def test_a_loop_that_leaves_no_depth_to_recurse_is_observed_and_the_kit_goes_on() -> None:
    class Shallow(Loop):
        def trouble(self) -> None:
            for limit in range(1, 1000):
                with suppress(RecursionError):  # less than the depth of here is refused
                    sys.setrecursionlimit(limit)
                    break

    seen = troubled(Shallow)
    assert (seen.died, seen.blame) == ("the loop set a recursion limit that is too small to run with", "loop")


def test_a_fault_of_the_kits_in_a_child_is_told_as_one() -> None:
    profile = profile_of("ag03")

    def breaks(observation: Observation) -> bytes:
        if observation.scenario == "trouble":
            raise LookupError("our own")
        return profile.encode(observation)

    seen = troubled(Loop, profile=replace(profile, encode=breaks))
    assert (seen.died, seen.blame) == (f"a process of the kit's own ended with exit code {CHILD_FAILED}", "kit")
    assert seen.output.endswith("\nLookupError: our own\n")


# what it prints


def test_a_loop_whose_output_does_not_wait_and_is_full_is_observed() -> None:
    class Fills(Loop):
        def trouble(self) -> None:
            os.set_blocking(1, False)
            try:
                while True:
                    os.write(1, b"x" * 65_536)
            except BlockingIOError:
                pass

    assert troubled(Fills).died is None


def test_all_is_written_where_there_is_no_room_yet() -> None:
    read, write = os.pipe()
    os.set_blocking(write, False)
    data, got = os.urandom(300_000), b""

    def fill() -> None:
        write_all(write, data)
        os.close(write)

    writing = threading.Thread(target=fill)
    writing.start()
    while part := os.read(read, 4_096):
        got += part
    writing.join()
    os.close(read)
    assert got == data


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a pipe has the size that it has")
def test_what_is_printed_belongs_to_its_scenario_however_much_a_pipe_holds(held_open: tuple[int, int]) -> None:
    read, write = held_open

    class Prints(Loop):
        def trouble(self) -> None:
            import fcntl  # noqa: PLC0415 - of Linux

            assert sys.platform == "linux"
            fcntl.fcntl(1, fcntl.F_SETPIPE_SZ, 1 << 20)
            print("x" * 300_000 + "the end")  # noqa: T201 - that is what it is about

        def invoke(self, messages: Any) -> Any:
            stream = super().invoke(messages)
            print(messages[0].content)  # noqa: T201 - likewise
            return stream

    arriving = observe_forked([Batch(0, lambda: ContractAdapter(Prints), SCENARIOS)], jobs=1)
    seen = [next(arriving)[2]]
    os.close(write)
    assert over(read), "the child has sent all before the parent looks again"
    seen += [observation for _, _, observation in arriving]
    assert [one.output.splitlines()[-1] for one in seen] == list(NAMES)
    assert seen[1].output.endswith("xthe end\ntrouble\n")
    assert seen[2].output == "after\n"


# that it stays


@pytest.mark.usefixtures("no_patience")
def test_a_child_that_has_said_all_and_stays_is_ended() -> None:
    class Stays(Loop):
        def trouble(self) -> None:
            vars(os)["_exit"] = stay

    assert troubled(Stays).died is None


@pytest.mark.usefixtures("no_patience")
def test_a_child_is_ended_also_where_something_interrupts_its_end(
    held_open: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A signal, for one, which raises while the parent waits for a child that has said all and stays."""
    read, write = held_open
    waited: list[int] = []
    reap = processes.reap

    def interrupted(pid: int) -> int | None:
        waited.append(pid)
        if len(waited) == 1:
            raise KeyboardInterrupt
        return reap(pid)

    class Stays(Loop):
        def trouble(self) -> None:
            vars(os)["_exit"] = stay

    monkeypatch.setattr(children, "reap", interrupted)
    with pytest.raises(KeyboardInterrupt):
        observations(Stays)
    os.close(write)
    assert over(read)
    with pytest.raises(ChildProcessError):
        os.waitpid(waited[0], os.WNOHANG)


def speaks_and_stays() -> NoReturn:
    os.write(WAY[-1], b"{}\n")
    stay()


def closes_and_stays() -> NoReturn:
    os.close(WAY[-1])
    stay()


def closes() -> Any:
    os.close(WAY[-1])
    return ContractAdapter(Loop)


def writes() -> Any:
    os.write(WAY[-1], b"well, ")
    return ContractAdapter(Loop)


def exits() -> NoReturn:
    os._exit(70)


def is_late() -> NoReturn:
    signal.setitimer(signal.ITIMER_REAL, 0.001)
    while True:
        signal.pause()


WAY: list[int] = []


@pytest.mark.usefixtures("no_patience")
@pytest.mark.parametrize(
    ("load", "refused"),
    [
        (speaks_and_stays, ""),
        (closes_and_stays, "importing the target closed a descriptor of the kit's"),
        (closes, "importing the target closed a descriptor of the kit's"),
        (writes, "importing the target wrote to a descriptor of the kit's"),
        (exits, "importing the target ended the process with exit code 70"),
        (is_late, "importing the target took longer than 15 s"),
    ],
)
def test_an_import_that_gets_at_the_way_out_or_stays_is_described(
    load: Callable[[], Any], refused: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fork_child = isolate.fork_child

    def noting(serve: Callable[[int], None]) -> tuple[int, int, int]:
        def noted(write: int) -> None:
            WAY.append(write)
            serve(write)

        return fork_child(noted)

    monkeypatch.setattr(isolate, "fork_child", noting)
    assert describe(load, limit=10.0).refused == refused


def test_an_import_that_prints_without_an_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    fork_child = isolate.fork_child

    def printing(_serve: Callable[[int], None]) -> tuple[int, int, int]:
        pid, read, output = fork_child(lambda _write: signal.pause())
        os.close(output)
        return pid, read, os.open("/dev/zero", os.O_RDONLY)

    monkeypatch.setattr(isolate, "fork_child", printing)
    assert describe(exits, limit=-isolate.GRACE).refused == "importing the target took longer than 0 s"


def test_an_adapter_that_says_what_is_no_unicode_is_described() -> None:
    odd = os.fsdecode(b"caf\xe9")

    class Odd(ContractAdapter):
        lacks: Mapping[str, str] = {"gate": odd}

        def __init__(self) -> None:
            super().__init__(Loop)
            self.name = self.version = odd

    def refused() -> NoReturn:
        raise BrokenTargetError(odd)

    told = describe(Odd)
    assert (told.name, told.version, told.lacks) == ("caf\\udce9", "caf\\udce9", {"gate": "caf\\udce9"})
    assert describe(refused).refused == "caf\\udce9"


# that there is none


def no_fork() -> NoReturn:
    raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))


def next_descriptor() -> int:
    """The number that the next descriptor would have."""
    free = os.dup(0)
    os.close(free)
    return free


def test_a_child_that_cannot_be_had_is_the_kits_fault_and_leaks_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    free = next_descriptor()
    monkeypatch.setattr(os, "fork", no_fork)
    seen = observations(Loop)
    why = f"a process of the kit's own could not be started: {os.strerror(errno.EAGAIN)}"
    assert [(one.scenario, one.died, one.blame) for one in seen] == [(name, why, "kit") for name in NAMES]
    refused = f"no process can be had to import the target in: {os.strerror(errno.EAGAIN)}"
    assert describe(lambda: ContractAdapter(Loop)).refused == refused
    assert next_descriptor() == free


def test_a_child_that_cannot_be_had_beside_another_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    fork, asked = os.fork, iter([False, True])  # the first child has just begun when there is no second
    monkeypatch.setattr(os, "fork", lambda: no_fork() if next(asked, False) else fork())
    batches = [Batch(key, lambda: ContractAdapter(Loop), SCENARIOS) for key in range(3)]
    seen = [observation.died for _, _, observation in observe_forked(batches, jobs=2)]
    assert seen == [None] * 9
