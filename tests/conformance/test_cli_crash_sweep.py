"""`looptck check --crash-sweep` as a user meets it: beside the suite or alone, in every report, repeated and listed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conformance.implementations_harness import ROOT

from looptck.suite import extras_of, tests_of
from looptck.suite.ag03 import crash_sweep

SWEEP = "TestCrashSweep"
SHOWS = "tests/implementations/wrong_resumed/shows_refused_writes.py"
REDOES = str(ROOT / "wrong_resumed/redoes_broken_turns.py")
FAILED = ["sweep/unknown-ends-run", "sweep/unknown-not-appended", "sweep/unknown-not-shown"]


@pytest.fixture(autouse=True)
def few_scenarios(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The sweep of one test: what becomes of all is asked elsewhere."""
    one = tuple(test for test in tests_of("ag03") if test.name == "TestSystemPrompt")
    monkeypatch.setattr(crash_sweep, "tests_of", lambda _profile: one)
    crash_sweep.sweep_test.cache_clear()
    yield
    crash_sweep.sweep_test.cache_clear()


@pytest.fixture
def in_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT.parents[1])


def test_it_stands_behind_the_tests_of_the_suite(looptck: Any) -> None:
    ran = looptck("check", "reference", "--crash-sweep")
    assert (ran.code, ran.err) == (0, "")
    tests = [line.split()[1] for line in ran.out.splitlines() if line.startswith("pass ")]
    assert tests == [*(test.name for test in tests_of("ag03")), SWEEP]
    checks = sum(len(test.checks) for test in (*tests_of("ag03"), *extras_of("ag03")))
    assert ran.last == f"PASS reference against ag03: {checks} pass"


def test_without_the_option_it_does_not_run(looptck: Any) -> None:
    assert SWEEP not in looptck("check", "reference", "-k", "system").out


@pytest.mark.parametrize("isolation", ["fork", "process", "none"])
def test_it_runs_alone_in_every_isolation(looptck: Any, isolation: str) -> None:
    ran = looptck("check", "reference", "--crash-sweep", "-k", SWEEP, "--isolation", isolation)
    assert (ran.code, ran.last) == (0, "PASS reference against ag03: 8 pass")


@pytest.mark.usefixtures("in_root")
def test_a_failure_is_told_with_the_command_that_repeats_it(looptck: Any) -> None:
    ran = looptck("check", SHOWS, "--crash-sweep", "-k", SWEEP, "--seed", "5")
    assert ran.code == 1
    assert ran.last == f"FAIL {SHOWS} against ag03: 5 pass, 3 fail"
    again = [line.split("looptck ")[1] for line in ran.out.splitlines() if "looptck check" in line]
    assert again == [
        f"check {SHOWS} --profile ag03 --crash-sweep -k {check} --seed 5"
        for check in ("sweep/unknown-ends-run", "sweep/unknown-not-shown", "sweep/unknown-not-appended")
    ]
    repeated = looptck(*again[0].split())
    assert (repeated.code, repeated.last) == (1, f"FAIL {SHOWS} against ag03: 1 fail")


@pytest.mark.usefixtures("in_root")
def test_a_failure_of_the_suite_is_repeated_without_it(looptck: Any) -> None:
    ran = looptck("check", "examples/broken_loop.py", "--crash-sweep", "-k", "budget/calls-none-run")
    (again,) = [line for line in ran.out.splitlines() if "looptck check" in line]
    assert "--crash-sweep" not in again


def test_no_mutant_is_likened_to_it(looptck: Any, tmp_path: Path) -> None:
    assert looptck("check", str(ROOT.parents[1] / SHOWS), "--crash-sweep", "--json", str(tmp_path / "r.json")).code == 1
    assert json.loads((tmp_path / "r.json").read_text())["diagnosis"] is None


def test_it_is_in_every_report(looptck: Any, tmp_path: Path) -> None:
    places = {kind: str(tmp_path / f"report.{kind}") for kind in ("json", "junit", "html")}
    outputs = [part for kind, place in places.items() for part in (f"--{kind}", place)]
    ran = looptck("check", REDOES, "--crash-sweep", "-k", "sweep/", *outputs)
    assert ran.code == 0  # one call a turn: nothing is broken off within one
    (test,) = json.loads(Path(places["json"]).read_text())["tests"]
    assert (test["name"], len(test["checks"])) == (SWEEP, 8)
    assert Path(places["junit"]).read_text().count(f'classname="looptck.ag03.{SWEEP}"') == 8
    assert "looptck check" in (page := Path(places["html"]).read_text())
    assert "--crash-sweep" in page


def test_it_is_listed(looptck: Any) -> None:
    ran = looptck("check", "--list", "--crash-sweep", "-k", SWEEP)
    assert ran.code == 0
    assert [line.split()[0] for line in ran.out.splitlines()] == [SWEEP, *(c.id for c in extras_of("ag03")[0].checks)]


def test_who_names_a_check_of_it_is_told_of_the_option(looptck: Any) -> None:
    ran = looptck("check", "reference", "-k", "sweep/same-end")
    assert (ran.code, ran.out) == (4, "")
    assert "those of the crash sweep need --crash-sweep" in ran.err


def test_a_profile_without_step_runner_has_none(looptck: Any) -> None:
    ran = looptck("check", "reference", "--profile", "lesson4", "--crash-sweep")
    assert (ran.code, ran.out) == (4, "")
    assert "--crash-sweep: a loop of lesson4 has no step runner" in ran.err


def test_a_known_failure_of_it_is_excused(looptck: Any, tmp_path: Path) -> None:
    known = tmp_path / "known.toml"
    known.write_text("\n".join(f'"{check}" = "issue 7"' for check in FAILED))
    options = ["--crash-sweep", "-k", SWEEP, "--known-failures", str(known)]
    assert looptck("check", str(ROOT.parents[1] / SHOWS), *options).code == 0
    assert looptck("check", "reference", *options).code == 1


def test_an_adapter_without_step_runner_is_skipped(looptck: Any, tmp_path: Path) -> None:
    loop = tmp_path / "loop.py"
    loop.write_text(
        "from looptck.adapter import ContractAdapter\nfrom looptck_reference import Agent\n"
        "class Adapter(ContractAdapter):\n    lacks = {'step_runner': 'there is none'}\n"
        "    def __init__(self): super().__init__(Agent)\n"
    )
    ran = looptck("check", f"{loop}:Adapter", "--crash-sweep", "-k", SWEEP)
    assert ran.code == 2
    assert ran.last.endswith("8 skip")


def test_a_check_of_it_is_explained_without_a_wall_of_names(looptck: Any) -> None:
    ran = looptck("explain", "sweep/nothing-twice")
    assert ran.code == 0
    assert "requirement  resume-runs-nothing-twice" in ran.out
    assert ran.out.count("TestSystemPrompt/") == 20
    assert " more\n" in ran.out
