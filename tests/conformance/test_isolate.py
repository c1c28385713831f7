"""Observation in forked children: whatever a loop does to its process costs its own scenario and no other."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import pytest
from tests.conformance.clocks import stand_still

import looptck_reference
from looptck import children
from looptck.adapter import ContractAdapter, NoInterfaceError
from looptck.children import CHILD_FAILED, Batch
from looptck.contract.ag03 import Message
from looptck.isolate import fork_child, observe_forked, observe_safely
from looptck.observation import Observation, to_json
from looptck.processes import kill, reap
from looptck.profile import Profile, profile_of
from looptck.scenario import Invocation, Said, Scenario, Turn
from looptck.session import choose, judged, observe_all
from looptck.target import BrokenTargetError

PLENTY = 20.0
NAMES = ("before", "trouble", "after")
SCENARIOS = tuple(
    Scenario(name=name, invocations=(Invocation(messages=(Said(content=name),), turns=(Turn(text=("Yes.",)),)),))
    for name in NAMES
)


class Loop(looptck_reference.Agent):
    """The reference; where the scenario's name is `trouble` it makes some."""

    def invoke(self, messages: Sequence[Message]) -> Any:
        if messages[0].content == "trouble":
            self.trouble()
        return super().invoke(messages)

    def trouble(self) -> None:
        """What a test is about."""


def observations(
    loop: type[Any] | Callable[[], Any], *, limit: float = PLENTY, profile: Profile | None = None
) -> list[Observation]:
    """Observe in one child at a time. A class is loaded as a target would be; anything else is the `load`."""
    load = (lambda: ContractAdapter(loop)) if isinstance(loop, type) else loop
    batch = Batch(0, load, SCENARIOS, profile or profile_of("ag03"))
    return [seen for _, _, seen in observe_forked([batch], jobs=1, limit=limit)]


def troubled(loop: type[Any], **options: Any) -> Observation:
    """The observation of the scenario in the middle; the others have to be as if nothing had happened."""
    before, trouble, after = observations(loop, **options)
    assert [before.scenario, trouble.scenario, after.scenario] == list(NAMES)
    assert [before.died, after.died] == [None, None]
    assert [before.invocations[0].status, after.invocations[0].status] == ["answered", "answered"]
    return trouble


@pytest.fixture
def held_open() -> Iterator[tuple[int, int]]:
    """A pipe: its end is read when every process that has it has closed it or is gone."""
    read, write = os.pipe()
    yield read, write
    os.close(read)


def over(read: int) -> bool:
    """Whether every process that could write into the pipe is gone before long."""
    ready, _, _ = select.select([read], [], [], PLENTY)
    return bool(ready) and os.read(read, 1) == b""


# each loop's trouble is its own


def test_an_ordinary_loop_is_observed_as_in_this_process() -> None:
    here = [observe_safely(ContractAdapter(Loop), scenario) for scenario in SCENARIOS]
    assert observations(Loop) == here


def test_the_reference_is_judged_alike_in_children_and_in_this_process() -> None:
    def findings(isolation: Any) -> list[tuple[str, str, Any, Any]]:
        chosen = choose("ag03", "", seed=11)
        done = observe_all(chosen, lambda: ContractAdapter(looptck_reference.Agent), isolation=isolation)
        checks = [check for test in done for check in judged(test, {}).checks]
        return sorted((check.id, check.verdict, check.expected, check.seen) for check in checks)

    in_children = findings("fork")
    assert {verdict for _, verdict, _, _ in in_children} == {"pass"}
    assert in_children == findings("none")


def test_exiting_by_an_exception_is_told() -> None:
    class Exits(Loop):
        def trouble(self) -> None:
            sys.exit("enough")

    seen = troubled(Exits)
    assert (seen.died, seen.blame) == ("the loop raised SystemExit: enough", "loop")


@pytest.mark.parametrize(
    ("raised", "told"),
    [
        (GeneratorExit(), "the loop raised GeneratorExit"),
        (KeyboardInterrupt(), "the loop raised KeyboardInterrupt"),
        (type("GameOver", (BaseException,), {})("no more\ncoins"), "the loop raised GameOver: no more coins"),
    ],
)
def test_what_is_no_exception_of_the_ordinary_kind_is_told(raised: BaseException, told: str) -> None:
    class Raises(Loop):
        def trouble(self) -> None:
            raise raised

    seen = troubled(Raises)
    assert (seen.died, seen.blame) == (told, "loop")


@pytest.mark.parametrize("code", [0, 3, 70])
def test_leaving_the_process_is_told(code: int) -> None:
    class Leaves(Loop):
        def trouble(self) -> None:
            os._exit(code)

    seen = troubled(Leaves)
    assert (seen.died, seen.blame) == (f"the loop ended the process with exit code {code}", "loop")


@pytest.mark.parametrize(("number", "name"), [(signal.SIGTERM, "SIGTERM"), (50, "50")])
def test_a_signal_that_ends_the_process_is_told_and_blamed_on_nobody(number: int, name: str) -> None:
    class Crashes(Loop):
        def trouble(self) -> None:
            os.kill(os.getpid(), number)
            signal.pause()

    seen = troubled(Crashes)
    assert (seen.died, seen.blame) == (f"the process was ended by signal {name}", "limit")


@pytest.mark.parametrize("elsewhere", [False, True], ids=["in its group", "in another"])
def test_a_loop_that_spins_is_ended_at_the_limit(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    elsewhere: bool,  # noqa: FBT001 - a case
) -> None:
    endless = stand_still(monkeypatch, tmp_path)

    class Spins(Loop):
        def trouble(self) -> None:
            if elsewhere:
                os.setpgid(0, os.getpgid(os.getppid()))
            endless.write_text(str(os.getpid()), encoding="utf-8")
            print(".")  # noqa: T201 - the parent looks at its clock then
            while True:
                pass

    seen = troubled(Spins)
    assert seen.blame == "limit"
    assert seen.died is not None
    assert seen.died.startswith("the real-time limit passed while the event loop had no turn")


def test_a_run_that_would_not_end_gets_no_company() -> None:
    class Hangs(Loop):
        def invoke(self, messages: Sequence[Message]) -> Any:
            print(os.getpid(), end=" ")  # noqa: T201 - how the test learns who observed
            stream = super().invoke(messages)
            if messages[0].content == "trouble":
                stream._run = forever
            return stream

    before, trouble, after = observations(Hangs)
    assert [seen.invocations[0].status for seen in (before, trouble, after)] == ["answered", "unfinished", "answered"]
    assert before.output.split()[0] == trouble.output.split()[0]
    assert after.output.split()[0] != trouble.output.split()[0]


async def forever() -> NoReturn:
    await asyncio.Future()
    raise AssertionError


def test_a_loop_that_is_ended_by_the_alarm_has_outlasted_the_limit() -> None:
    """The parent may have been too busy to end it first."""

    class Late(Loop):
        def trouble(self) -> None:
            signal.setitimer(signal.ITIMER_REAL, 0.001)
            signal.pause()

    seen = troubled(Late)
    assert (seen.died, seen.blame) == (profile_of("ag03").over_limit, "limit")


# what a child leaves behind


def test_what_a_child_started_ends_with_it(held_open: tuple[int, int]) -> None:
    read, write = held_open

    class Forks(Loop):
        def trouble(self) -> None:
            if os.fork() == 0:
                signal.pause()

    assert troubled(Forks).died is None
    os.close(write)
    assert over(read)


def test_children_end_with_whoever_wanted_their_observations(held_open: tuple[int, int]) -> None:
    read, write = held_open

    class Waits(Loop):
        def trouble(self) -> None:
            signal.pause()

    arriving = observe_forked([Batch(0, lambda: ContractAdapter(Waits), SCENARIOS)], jobs=1)
    assert next(iter(arriving))[2].scenario == "before"
    arriving.close()
    os.close(write)
    assert over(read)


# output and input


def test_what_a_loop_prints_is_kept_and_only_the_end_of_it() -> None:
    class Floods(Loop):
        def trouble(self) -> None:
            sys.stdout.write("x" * 300_000)
            sys.stderr.write("y" * 300_000 + "the end")

    seen = troubled(Floods)
    assert len(seen.output) <= children.OUTPUT_KEPT
    assert seen.output.endswith("y" * 100 + "the end")


def test_what_a_loop_prints_is_kept_when_it_leaves_without_a_flush() -> None:
    class Leaves(Loop):
        def trouble(self) -> None:
            print("last words")  # noqa: T201 - that is what it is about
            os._exit(1)

    assert troubled(Leaves).output == "last words\n"


def test_what_is_printed_past_python_is_kept() -> None:
    class Writes(Loop):
        def trouble(self) -> None:
            os.write(1, b"from below \xff\n")

    assert troubled(Writes).output == "from below \N{REPLACEMENT CHARACTER}\n"


def test_a_loop_that_reads_its_input_finds_none() -> None:
    class Reads(Loop):
        def trouble(self) -> None:
            print(repr(os.read(0, 1)))  # noqa: T201 - how the test learns what was read

    assert troubled(Reads).output == "b''\n"


# batches


def test_each_scenario_of_each_batch_is_observed_once() -> None:
    batches = [Batch(key, lambda: ContractAdapter(Loop), SCENARIOS) for key in (5, 6, 7)]
    seen = [(batch.key, place, observation.scenario) for batch, place, observation in observe_forked(batches, jobs=2)]
    assert sorted(seen) == [(key, place, name) for key in (5, 6, 7) for place, name in enumerate(NAMES)]


@pytest.mark.parametrize(
    ("error", "died", "blame"),
    [
        (BrokenTargetError("it does not import"), "it does not import", "target"),
        (NoInterfaceError("no invoke"), "no invoke", "target"),
        (LookupError("our own"), "LookupError: our own", "kit"),
        (BrokenTargetError("caf\udce9.py is none"), "caf\\udce9.py is none", "target"),
    ],
)
def test_a_target_that_cannot_be_loaded_is_told_of_every_scenario(error: Exception, died: str, blame: str) -> None:
    def load() -> NoReturn:
        raise error

    seen = observations(load)
    assert [(o.scenario, o.blame) for o in seen] == [(name, blame) for name in NAMES]
    assert all(o.died is not None and o.died.strip().endswith(died) for o in seen)


def test_a_target_is_loaded_in_the_child_alone() -> None:
    loaded: list[int] = []

    def load() -> ContractAdapter:
        loaded.append(os.getpid())
        return ContractAdapter(Loop)

    assert len(observations(load)) == len(SCENARIOS)
    assert loaded == []


# what has no form


def test_an_observation_that_cannot_be_written_is_the_loops_doing() -> None:

    def picky(observation: Observation) -> bytes:
        if observation.scenario == "trouble" and observation.died is None:
            raise ValueError("an odd value")
        return to_json(observation)

    seen = troubled(Loop, profile=replace(profile_of("ag03"), encode=picky))
    assert (seen.died, seen.blame) == ("the loop handed over a value that has no form in JSON: an odd value", "loop")


def test_an_observation_that_cannot_be_read_is_the_loops_doing() -> None:
    def garbled(observation: Observation) -> bytes:
        return to_json(observation) if observation.scenario != "trouble" else b'{"a": 1e'

    seen = troubled(Loop, profile=replace(profile_of("ag03"), encode=garbled))
    assert seen.blame == "loop"
    assert seen.died is not None
    assert seen.died.startswith("the loop handed over a value that has no form in JSON: Invalid JSON")


def test_an_observation_beyond_all_measure_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(children, "_MAX_MESSAGE", 1 << 20)

    class Talks(Loop):
        def invoke(self, messages: Sequence[Message]) -> Any:
            many = [Message("user", "x" * (2 << 20))] if messages[0].content == "trouble" else []
            return super().invoke([*messages, *many])

    seen = troubled(Talks)
    assert (seen.died, seen.blame) == ("what was seen of the loop fills more than 1 MB", "limit")


# the fork itself


def test_a_child_that_fails_exits_with_a_code_of_its_own() -> None:
    def serve(_write: int) -> NoReturn:
        raise LookupError

    pid, read, output = fork_child(serve)
    assert os.read(read, 1) == b""
    with os.fdopen(output, "rb") as printed:
        assert printed.read().endswith(b"\nLookupError\n")
    os.close(read)
    assert reap(pid) == CHILD_FAILED


def test_a_child_that_is_killed_is_told_by_its_signal() -> None:
    pid, read, output = fork_child(lambda _write: signal.pause())
    os.close(read)
    os.close(output)
    kill(pid)
    assert reap(pid) == -signal.SIGKILL


# observation in this process


def test_in_this_process_ctrl_c_is_left_to_whoever_pressed_it() -> None:
    class Interrupted(Loop):
        def trouble(self) -> None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        observe_safely(ContractAdapter(Interrupted), SCENARIOS[1])


def test_in_this_process_a_fault_of_the_driver_is_the_kits() -> None:
    class Broken(ContractAdapter):
        async def run(self, run: Any) -> Any:
            raise LookupError(run.messages[0].content)

    seen = observe_safely(Broken(Loop), SCENARIOS[0])
    assert seen.blame == "kit"
    assert seen.died is not None
    assert "LookupError: before" in seen.died


def test_in_this_process_a_missing_interface_is_the_targets() -> None:
    class Answers(Loop):
        def invoke(self, messages: Sequence[Message]) -> Any:
            return messages[0]

    seen = observe_safely(ContractAdapter(Answers), SCENARIOS[0])
    assert (seen.scenario, seen.blame) == ("before", "target")
