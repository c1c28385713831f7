"""Observation in processes of their own: one import for many scenarios, and trouble costs the scenario that makes it.

A worker is a fresh interpreter, which takes a third of a second to start: so one run has all the troubles in it.
"""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NoReturn

import pytest
from tests.conformance.clocks import stand_still

from looptck import children, isolate, spawn
from looptck.children import Batch, late_import
from looptck.observation import Observation
from looptck.profile import PROFILES, profile_of
from looptck.scenario import Invocation, Said, Scenario, Turn
from looptck.session import choose, judged, observe_all
from looptck.spawn import observe_spawned
from looptck.target import REFERENCES, BrokenTargetError, Loader, Target, parse_target

PLENTY = 20.0
TROUBLES = {
    "spins": "will_not_end(); [None for _ in iter(int, 1)]",
    "exits": "sys.exit('enough')",
    "leaves": "os._exit(3)",
    "crashes": "os.kill(os.getpid(), signal.SIGSEGV)",
    "floods": "sys.stdout.write('x' * 300_000 + 'the end')",
    "copies": "os.fork()",
    "hangs": "stream._run = forever",
    "alone": "print(signal.getitimer(signal.ITIMER_REAL)[0])",
    "reads": "print(repr(sys.stdin.read()), os.environ.get('HOME') is not None, sys.argv[0])",
}
WILL_NOT_END = "print(os.getpid(), file=open(os.path.dirname(__file__) + '/endless', 'w'), flush=True); print('.')"
LOOP = """
import asyncio, os, signal, sys
import looptck_reference

runs = []

def will_not_end():
    WILL_NOT_END

async def forever(*_):
    await asyncio.Future()

class Agent(looptck_reference.Agent):
    def invoke(self, messages):
        stream = super().invoke(messages)
        runs.append(messages[0].content)
        print(os.getpid(), len(runs))
        trouble(messages[0].content, stream)
        return stream

def trouble(name, stream):
    pass
"""


def scenario(name: str) -> Scenario:
    return Scenario(name=name, invocations=(Invocation(messages=(Said(content=name),), turns=(Turn(text=("Yes.",)),)),))


def loader(folder: Path, text: str) -> Loader:
    file = folder / "loop.py"
    file.write_text(text.replace("WILL_NOT_END", WILL_NOT_END), encoding="utf-8")
    return Loader(parse_target(str(file), {}), "ag03")


def observed(load: Any, *names: str, jobs: int = 1, limit: float = PLENTY) -> dict[str, Observation]:
    batch = Batch(0, load, [scenario(name) for name in names])
    seen = [observation for _, _, observation in observe_spawned([batch], jobs=jobs, limit=limit)]
    assert [one.scenario for one in seen] == list(names), "each is observed once, in order"
    return {one.scenario: one for one in seen}


def answered(seen: Observation) -> bool:
    return seen.died is None and [run.status for run in seen.invocations] == ["answered"]


# trouble


@pytest.fixture(scope="module")
def troubled(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Observation]:
    """A loop that makes all the troubles, each followed by an ordinary scenario."""
    text = LOOP + "".join(f"    if name == {name!r}: {work}\n" for name, work in TROUBLES.items())
    names = [name for trouble in TROUBLES for name in (trouble, f"after {trouble}")]
    folder = tmp_path_factory.mktemp("troubled")
    with pytest.MonkeyPatch.context() as patched:
        stand_still(patched, folder)
        return observed(loader(folder, text), "first", *names)


@pytest.mark.parametrize("name", TROUBLES)
def test_the_scenario_after_trouble_is_as_if_nothing_had_happened(troubled: dict[str, Observation], name: str) -> None:
    assert answered(troubled["first"])
    assert answered(troubled[f"after {name}"])


@pytest.mark.parametrize(
    ("name", "died", "blame"),
    [
        ("spins", profile_of("ag03").over_limit, "limit"),
        ("exits", "the loop raised SystemExit: enough", "loop"),
        ("leaves", "the loop ended the process with exit code 3", "loop"),
        ("crashes", "the process was ended by signal SIGSEGV", "limit"),
        ("floods", None, "loop"),
        ("copies", None, "loop"),
        ("hangs", None, "loop"),
    ],
)
def test_trouble_is_told_as_of_forked_children(
    troubled: dict[str, Observation], name: str, died: str | None, blame: str
) -> None:
    assert (troubled[name].died, troubled[name].blame) == (died, blame)


def test_only_the_end_of_what_is_printed_is_kept(troubled: dict[str, Observation]) -> None:
    assert troubled["floods"].output.endswith("xxxthe end")
    assert len(troubled["floods"].output) == children.OUTPUT_KEPT


def test_a_loop_finds_no_input_and_the_words_of_the_command(troubled: dict[str, Observation]) -> None:
    assert troubled["reads"].output.splitlines()[-1] == f"'' True {sys.argv[0]}"


def test_a_worker_ends_by_itself_should_nobody_be_there_to_end_it(troubled: dict[str, Observation]) -> None:
    left = float(troubled["alone"].output.splitlines()[-1])
    assert 0 < left <= PLENTY + 2 * isolate.GRACE, "it is running; test_isolate_alone.py tells how long"


def test_scenarios_share_a_process_until_one_leaves_something_behind(troubled: dict[str, Observation]) -> None:
    def where(name: str) -> list[str]:
        lines = [line.split() for line in troubled[name].output.splitlines()]
        return [line for line in lines if len(line) == 2 and line[1].isdigit()][-1]

    process, number = where("after floods")
    assert where("first")[1] == "1"
    assert where("after spins")[1] == "1", "a new process, a new import"
    assert where("copies") == [process, str(int(number) + 1)], "the same, with what the one before left"
    assert where("after hangs")[0] != where("hangs")[0]


@pytest.mark.parametrize(
    ("work", "died"),
    [
        ("os._exit(4)", "the process ended with exit code 4 while it imported the target"),
        ("os.kill(os.getpid(), 9)", "the process was ended by signal SIGKILL while it imported the target"),
        (f"{WILL_NOT_END}; signal.pause()", late_import(PLENTY + isolate.GRACE)),
    ],
)
def test_an_import_that_fails_once_costs_one_scenario(
    work: str, died: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_still(monkeypatch, tmp_path)
    mark = str(tmp_path / "mark")
    once = f"import os, signal\nif not os.path.exists({mark!r}):\n    open({mark!r}, 'w').close()\n    {work}\n"
    seen = observed(loader(tmp_path, once + LOOP), "one", "two")
    assert (seen["one"].died, seen["one"].blame) == (died, "target")
    assert answered(seen["two"])


def test_a_target_that_cannot_be_used_is_told_of_every_scenario(tmp_path: Path) -> None:
    seen = observed(loader(tmp_path, "raise LookupError"), "one", "two")
    assert {(one.died, one.blame) for one in seen.values()} == {
        (f"{tmp_path}/loop.py cannot be imported: LookupError (line 1)", "target")
    }


# the worker itself


def test_a_worker_that_does_not_start_is_the_kits_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", shutil.which("false"))
    seen = observed(loader(tmp_path, LOOP), "one")["one"]
    assert (seen.died, seen.blame) == ("a process of the kit's own ended with exit code 1", "kit")


def test_a_worker_that_starts_too_slowly_is_the_kits_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    endless = tmp_path / "endless"
    endless.write_text("#!/bin/sh\nexec sleep 600\n", encoding="utf-8")
    endless.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(endless))
    monkeypatch.setattr(spawn, "STARTING", 0.0)
    seen = observed(loader(tmp_path, LOOP), "one")["one"]
    assert (seen.died, seen.blame) == ("a process of the kit's own did not start in time", "kit")


def test_a_worker_that_cannot_be_had_is_the_kits_fault_and_leaks_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_arguments: object, **_options: object) -> NoReturn:
        raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    monkeypatch.setattr(subprocess, "Popen", refused)
    free = next_descriptor()
    seen = observed(loader(tmp_path, LOOP), "one", "two")
    assert {(one.died, one.blame) for one in seen.values()} == {
        (f"a process of the kit's own could not be started: {os.strerror(errno.EAGAIN)}", "kit")
    }
    assert next_descriptor() == free


def next_descriptor() -> int:
    """The number that the next descriptor would have."""
    free = os.dup(0)
    os.close(free)
    return free


def test_what_lies_in_the_current_folder_stands_in_for_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pydantic.py").write_text("raise LookupError", encoding="utf-8")
    assert answered(observed(loader(tmp_path, LOOP), "one")["one"])


def test_nobody_but_a_loader_can_be_told_to_another_process() -> None:
    with pytest.raises(TypeError, match="give the Loader of a target"):
        observed(lambda: None, "one")


def test_a_worker_and_what_it_started_end_with_whoever_wanted_their_observations(tmp_path: Path) -> None:
    fifo = tmp_path / "open"
    os.mkfifo(fifo)
    stays = f"    if name == 'stays':\n        hold = open({str(fifo)!r}, 'w')\n"
    stays += "        os.fork()\n        print('.', file=hold, flush=True)\n        signal.pause()\n"
    load = loader(tmp_path, LOOP + stays)
    reading = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    arriving = observe_spawned([Batch(0, load, [scenario("first"), scenario("stays")])], jobs=1)
    assert next(arriving)[2].scenario == "first"
    os.set_blocking(reading, True)
    while (said := os.read(reading, 1)) == b"":  # nobody has opened it yet
        pass
    assert said == b"."
    arriving.close()
    while os.read(reading, 4096):  # ends when nobody is left who could write
        pass
    os.close(reading)


# the same as in forked children


def cancels(scenario: Any) -> bool:
    """Whether tasks are cancelled, which an event loop does in the order of their addresses."""
    return "cancel" in scenario.features()


@pytest.mark.parametrize("profile", PROFILES)
def test_the_reference_is_observed_alike_and_passes(profile: str) -> None:
    """Slow: every scenario twice."""
    load = Loader(parse_target("reference", {"reference": REFERENCES[profile]}), profile)
    seen: list[dict[tuple[str, str], Any]] = []
    for isolation in ("fork", "process"):
        chosen = choose(profile, "", 3)
        tests = observe_all(chosen, load, isolation=isolation, jobs=2)
        assert {check.verdict for test in tests for check in judged(test, {}).checks} == {"pass"}
        seen.append(
            {
                (test.test.name, scenario.name): observation
                for test in chosen
                for scenario, observation in test.observed.values()
                if not cancels(scenario)
            }
        )
    assert seen[0] == seen[1]


@pytest.mark.parametrize("profile", PROFILES)
def test_every_scenario_comes_back_from_json_as_it_was(profile: str) -> None:
    kind = profile_of(profile)
    scenarios = [scenario for test in choose(profile, "", 3) for scenario in test.scenarios]
    assert [kind.scenario_from_json(kind.scenario_to_json(scenario)) for scenario in scenarios] == scenarios


def test_a_job_comes_back_from_json_as_it_was() -> None:
    target = Target("loop.py:Mine", "looptck_target", "Mine", Path("loop.py"), "pip install it")
    job = spawn.Job(Loader(target, "lesson4"), ("{}", "[]"), 2.5, b"\xffseal", ("", "/lib"), ("looptck", "check"))
    assert spawn.job_from_json(spawn.job_to_json(job)) == job


def test_names_of_files_that_are_no_unicode_come_back_as_they_were() -> None:
    odd = os.fsdecode(b"caf\xe9.py")
    job = spawn.Job(Loader(Target(odd, "m", "A", Path(odd), odd), "ag03"), (), 2.5, b"", (odd,), (odd, "\N{SNOWMAN}"))
    assert spawn.job_from_json(spawn.job_to_json(job)) == job


def test_a_worker_has_words_and_a_path_that_are_no_unicode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    odd = os.fsdecode(b"caf\xe9")
    monkeypatch.setattr(sys, "argv", [odd])
    monkeypatch.setattr(sys, "path", [*sys.path, odd])
    tells = "    print(os.fsencode(sys.argv[0]), os.fsencode(sys.path[-1]))\n"
    seen = observed(loader(tmp_path, LOOP + tells), "one")["one"]
    assert answered(seen)
    assert seen.output.splitlines()[-1] == "b'caf\\xe9' b'caf\\xe9'"


def test_a_loader_raises_what_its_target_does() -> None:
    with pytest.raises(BrokenTargetError):
        Loader(Target("nowhere:Agent", "a_module_that_nobody_has", "Agent"), "ag03")()
