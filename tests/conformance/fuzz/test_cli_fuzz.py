"""`looptck fuzz` as a user meets it: what it says, what it keeps, and how it exits."""

from __future__ import annotations

import json
import sys
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from tests.conformance.commands import LIMIT, bad
from tests.conformance.fuzz.loops import CAP, LEAKS, NO_SYSTEM, planted
from tests.conformance.implementations_harness import forget_import

from looptck import isolate
from looptck.cli import fuzz as fuzzing
from looptck.fuzz import search as searching
from looptck.fuzz.observing import Observer
from looptck.fuzz.report import FuzzReport

if TYPE_CHECKING:
    from collections.abc import Callable

ADAPTER = """
import looptck_reference
from looptck.adapter import ContractAdapter


class Poor(ContractAdapter):
    lacks = {"gate": "every call runs", "budget": "there is none"}

adapter = Poor(looptck_reference.Agent)
"""


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is kept where nobody says otherwise is kept in a folder that is gone afterwards."""
    monkeypatch.chdir(tmp_path)


def shown(text: str) -> str:
    """A last line without what differs from run to run."""
    before, _, after = text.rstrip().splitlines()[-1].partition(" scenarios in ")
    return f"{before} scenarios, {after.partition('/s, ')[2]}"


# ways out


def test_a_correct_loop_passes_and_nothing_is_kept(looptck: Any) -> None:
    ran = looptck("fuzz", "reference", "--examples", "30", "--seed", "7")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("Fuzzing reference against ag03 (seed 7)\n")
    assert shown(ran.out) == "PASS reference against ag03: 30 scenarios, seed 7)"
    assert list(Path().iterdir()) == []


def test_lesson4_is_fuzzed_too(looptck: Any) -> None:
    ran = looptck("fuzz", "reference", "--profile", "lesson4", "--examples", "30", "--seed", "7")
    assert (ran.code, shown(ran.out)) == (0, "PASS reference against lesson4: 30 scenarios, seed 7)")


def test_what_fails_is_told_kept_and_can_be_run_again(looptck: Any, tmp_path: Path) -> None:
    target = planted(tmp_path, made=CAP)
    ran = looptck("fuzz", target, "--examples", "100", "--seed", "1")
    assert (ran.code, ran.err) == (1, "")
    assert "fail scenario/ag03-iteration-cap (must)\n" in ran.out
    assert "breaks iteration-cap, behind the end of the run" in ran.out
    kept = "looptck.found/ag03-iteration-cap.json"
    again = f"looptck replay {target} {kept} --profile ag03 --limit 5"
    assert f"  again: {again}\n" in ran.out
    assert shown(ran.out).startswith(f"FAIL {target} against ag03: iteration-cap, first in scenario ")
    assert looptck(*again.split()[1:]).code == 1
    assert looptck("replay", "reference", kept).code == 0


@pytest.fixture
def interrupted_at(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Somebody presses Ctrl-C at that observation."""
    observe, numbers = Observer.observe, count(1)

    def at(number: int) -> None:
        def observed(self: Observer, scenario: Any) -> Any:
            if next(numbers) == number:
                raise KeyboardInterrupt
            return observe(self, scenario)

        monkeypatch.setattr(Observer, "observe", observed)

    return at


def test_what_was_found_before_somebody_interrupted_it_is_kept_and_told(
    looptck: Any, tmp_path: Path, interrupted_at: Callable[[int], None]
) -> None:
    target = planted(tmp_path, made=CAP)
    interrupted_at(100)
    ran = looptck("fuzz", target, "--examples", "1000", "--seed", "1", "--json", "all.json")
    assert (ran.code, ran.err) == (130, "looptck: interrupted\n")
    assert "again: looptck replay " in ran.out
    assert shown(ran.out).startswith(f"FAIL {target} against ag03: iteration-cap, first in scenario ")
    assert shown(ran.out).endswith(", seed 1, interrupted)")
    assert Path("looptck.found/ag03-iteration-cap.json").exists()
    assert json.loads(Path("all.json").read_text())["interrupted"] is True


def test_a_search_that_was_interrupted_before_anything_failed_passes_nothing(
    looptck: Any, interrupted_at: Callable[[int], None]
) -> None:
    interrupted_at(5)
    ran = looptck("fuzz", "reference", "--seed", "1")
    assert (ran.code, ran.err) == (130, "looptck: interrupted\n")
    assert shown(ran.out) == "INCOMPLETE reference against ag03: 4 scenarios, seed 1, interrupted)"


def test_where_it_is_kept_can_be_said(looptck: Any, tmp_path: Path) -> None:
    target = planted(tmp_path, made=NO_SYSTEM)
    ran = looptck("fuzz", target, "--examples", "20", "--seed", "1", "--save", "mine/here")
    assert ran.code == 1
    assert "ag03-system-prompt-first.json" in {file.name for file in Path("mine/here").iterdir()}
    assert not Path("looptck.found").exists()


def test_a_place_that_cannot_be_written_is_said_in_a_line(looptck: Any, tmp_path: Path) -> None:
    Path("taken").write_text("")
    ran = looptck("fuzz", planted(tmp_path, made=NO_SYSTEM), "--examples", "20", "--seed", "1", "--save", "taken")
    assert (ran.code, ran.err) == (4, "looptck: --save taken: File exists; name a folder (looptck --help)\n")
    assert "Fuzzing" not in ran.out, "it is seen before the search"


def test_a_loop_that_spins_is_incomplete(looptck: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("looptck.fuzz.search.PATIENCE", 4)
    monkeypatch.setattr(isolate, "GRACE", 10.0)  # to import it; where a loop gives turns nobody waits for so long
    ran = looptck("fuzz", bad("spins_politely"), "--examples", "60", "--seed", "3", "--limit", str(LIMIT / 4))
    assert ran.code == 2
    assert "the real-time limit passed " in ran.out
    assert [file.name for file in Path("looptck.found").iterdir()] == ["ag03-limit.json"]
    assert "4 scenario(s) used up their limit, those of shrinking too; the search ended there\n" in ran.out
    assert shown(ran.out).startswith(f"INCOMPLETE {bad('spins_politely')} against ag03: limit, first in scenario ")


def test_what_leaks_from_run_to_run_is_unsteady_and_incomplete(looptck: Any, tmp_path: Path) -> None:
    target = planted(tmp_path, LEAKS.replace("sys.runs > 1", "sys.runs % 10 == 0"))
    ran = looptck("fuzz", target, "--examples", "30", "--seed", "1")
    assert ran.code == 2
    told = "differed behind others in one process and did not alone, first "
    assert told in ran.out
    assert ran.out.partition(told)[2].endswith("state that outlives a run\n" + ran.out.splitlines()[-1] + "\n")
    assert shown(ran.out) == f"INCOMPLETE {target} against ag03: 30 scenarios, seed 1)"


@pytest.mark.parametrize("name", ["no_agent", "raises_at_import"])
def test_a_target_that_cannot_be_used_is_incomplete(looptck: Any, name: str) -> None:
    ran = looptck("fuzz", bad(name), "--examples", "5", "--seed", "1")
    assert ran.code == 2
    assert ran.err.startswith("looptck: ")
    assert ran.err.count("\n") == 1


REFUSED = {
    "no target": ((), "no target: give reference, a file"),
    "no file": (("nowhere.py",), "nowhere.py"),
    "no profile": (("reference", "--profile", "x"), "there is no profile 'x'"),
    "no scenario": (("reference", "--examples", "0"), "Invalid value for '--examples'"),
    "no time": (("reference", "--minutes", "0"), "Invalid value for '--minutes'"),
    "no name": (("reference", "--save", ""), "--save: the name is empty"),
    "no place": (("reference", "--json", "no/where/x.json"), "--json 'no/where/x.json': No such file"),
}


@pytest.mark.parametrize(("arguments", "told"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_done_is_said_in_a_line(looptck: Any, arguments: tuple[str, ...], told: str) -> None:
    ran = looptck("fuzz", *arguments)
    assert (ran.code, ran.out) == (4, "")
    assert told in ran.err
    assert ran.err.count("\n") == 1


def test_without_hypothesis_it_says_what_to_install(looptck: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "looptck.fuzz.search")
    monkeypatch.setitem(sys.modules, "hypothesis", None)  # as if it were not installed
    ran = looptck("fuzz", "reference")
    assert (ran.code, ran.out) == (4, "")
    assert ran.err == 'looptck: fuzz needs hypothesis: python -m pip install "looptck[fuzz]" (looptck --help)\n'


# what is told as data


def test_the_json_tells_all_and_everything_else_goes_to_the_other_stream(looptck: Any, tmp_path: Path) -> None:
    target = planted(tmp_path, made=f"print('hello')\n{CAP}")
    ran = looptck("fuzz", target, "--examples", "100", "--seed", "1", "--json", "-", "--isolation", "fork")
    report = FuzzReport.model_validate_json(ran.out)
    assert json.loads(ran.out)["schema"] == "looptck-fuzz-1"
    assert (ran.code, report.exit_code(), report.verdict, report.seed) == (1, 1, "fail", 1)
    (failure,) = report.failures
    assert (failure.broken, failure.level, failure.about) == ("iteration-cap", "must", "behind the end of the run")
    assert (failure.expected, failure.file) == ([], "looptck.found/ag03-iteration-cap.json")
    assert failure.scenario == json.loads(Path(failure.file).read_text())
    assert report.first is not None
    assert report.examples > report.first
    assert "again: looptck replay" in ran.err


def test_the_same_seed_finds_the_same(looptck: Any, tmp_path: Path) -> None:
    target = planted(tmp_path, made=NO_SYSTEM)
    told = [json.loads(looptck("fuzz", target, "--examples", "10", "--seed", "1", "--json", "-").out) for _ in range(2)]
    for report in told:
        del report["seconds"], report["rate"]
    assert told[0] == told[1]


def test_a_seed_is_drawn_and_told(looptck: Any) -> None:
    seeds = {looptck("fuzz", "reference", "--examples", "1").out.rpartition("seed ")[2] for _ in range(3)}
    assert len(seeds) > 1


def test_good_sense_decides_nothing_unless_it_is_asked_for(looptck: Any, tmp_path: Path) -> None:
    body = "if self.max_parallel_tools == 2:\n    asyncio.get_running_loop().create_task(asyncio.sleep(30))"
    target = planted(tmp_path, body, "import asyncio")
    ran = looptck("fuzz", target, "--examples", "20", "--seed", "1")
    assert ran.code == 0
    assert "where good sense alone speaks, and not shrunk: no-task-left (" in ran.out
    asked = looptck("fuzz", target, "--examples", "8", "--seed", "1", "--should")
    assert asked.code == 0
    assert "fail scenario/ag03-no-task-left (should)\n" in asked.out


def test_what_an_adapter_lacks_is_left_out_and_told(looptck: Any) -> None:
    Path("poor.py").write_text(ADAPTER)
    ran = looptck("fuzz", "poor.py:adapter", "--examples", "30", "--seed", "1", "--json", "-")
    report = FuzzReport.model_validate_json(ran.out)
    assert (ran.code, report.verdict) == (0, "pass")
    assert report.skipped > 0
    assert report.skipped + report.examples == 30
    assert f"{report.skipped} scenario(s) were left out: they ask for what the loop lacks\n" in ran.err


def test_its_time_ends_it(looptck: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = iter([0.0, *[1.0] * 5])  # where the time begins, then before each scenario
    clock = SimpleNamespace(monotonic=lambda: next(looks, 100.0), perf_counter=count().__next__)
    monkeypatch.setattr(searching, "time", clock)
    monkeypatch.setattr(fuzzing, "time", clock)
    ran = looptck("fuzz", "reference", "--minutes", "1", "--seed", "1")
    assert ran.code == 0
    assert shown(ran.out) == "PASS reference against ag03: 5 scenarios, seed 1, its time was up)"


def test_in_this_process_it_finds_the_same(looptck: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forget_import(monkeypatch)
    imports = tmp_path / "imports"
    before = f"with open({str(imports)!r}, 'a') as file:\n    file.write('x')"
    target = planted(tmp_path, before=before, made=NO_SYSTEM)
    ran = looptck("fuzz", target, "--examples", "20", "--seed", "1", "--isolation", "none")
    assert ran.code == 1
    assert imports.read_text() == "x", "once, for its description and for the search"
    assert "ag03-system-prompt-first.json --profile ag03 --limit 5 --isolation none\n" in ran.out
