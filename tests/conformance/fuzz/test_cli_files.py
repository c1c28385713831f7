"""Scenarios from files on the command line: `looptck replay`, and `looptck check --scenarios`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.conformance.fuzz.loops import CALL, CAP, asking, planted

from looptck.fuzz.saved import save
from looptck.lesson4.scenario import Reply, Task
from looptck.lesson4.scenario import Scenario as Metered
from looptck.scenario import Turn

if TYPE_CHECKING:
    from collections.abc import Callable

CAPPED = asking("capped", Turn(calls=(CALL,)), Turn(text=("Yes.",)), max_iter=1)
FINE = asking("fine")


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    save(Path("kept"), "capped", CAPPED)
    save(Path("kept"), "fine", FINE)


@pytest.fixture
def broken(tmp_path: Path) -> str:
    """A loop that fails the one, and not the other."""
    return planted(tmp_path, made=CAP)


KEPT = ("kept/capped.json", "kept/fine.json")


# replay


def test_what_is_as_predicted_passes(looptck: Any) -> None:
    ran = looptck("replay", "reference", *KEPT)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines()[0].split() == ["pass", "TestScenarios", "2/2", "checks"]
    assert ran.last == "PASS reference against ag03: 2 pass"


def test_what_is_not_names_the_requirement_and_tells_the_run(looptck: Any, broken: str) -> None:
    ran = looptck("replay", broken, *KEPT)
    assert ran.code == 1
    assert "fail scenario/capped (must)\n" in ran.out
    assert "  breaks iteration-cap, behind the end of the run\n" in ran.out
    assert "the run of scenario capped" in ran.out
    assert "model 2    user, assistant(call_1), tool(call_1)    'Yes.'" in ran.out
    assert f"  again: looptck replay {broken} kept/capped.json --profile ag03\n" in ran.out
    assert ran.last == f"FAIL {broken} against ag03: 1 pass, 1 fail"


def test_the_report_names_the_requirement_too(looptck: Any, broken: str) -> None:
    ran = looptck("replay", broken, *KEPT, "--json", "-", "--junit", "junit.xml")
    checks = {check["id"]: check for check in json.loads(ran.out)["tests"][0]["checks"]}
    assert checks["scenario/capped"]["requirement"] == "iteration-cap"
    assert checks["scenario/fine"]["requirement"] == "as-predicted"
    assert 'name="scenario/capped"' in Path("junit.xml").read_text()


def test_a_page_can_be_had(looptck: Any, broken: str) -> None:
    assert looptck("replay", broken, *KEPT, "--html", "page.html").code == 1
    assert "scenario/capped" in Path("page.html").read_text()


def test_scenarios_of_lesson4_are_run_too(looptck: Any) -> None:
    save(Path("metered"), "one", Metered(name="one", runs=(Task(task="go", replies=(Reply(text="done"),)),)))
    ran = looptck("replay", "reference", "metered/one.json", "--profile", "lesson4")
    assert (ran.code, ran.last) == (0, "PASS reference against lesson4: 1 pass")


def test_what_the_suite_prints_can_be_run(looptck: Any) -> None:
    Path("twin.json").write_text(looptck("scenario", "TestHandExample/twin", "--seed", "3").out)
    assert looptck("replay", "reference", "twin.json").code == 0


CANCELLED = '{"name": "x", "invocations": [{"cancel": "tools"}]}'
SAID = {"messages": [{"content": "go"}], "turns": [{"text": ["Yes."]}]}
UNLIKE = [SAID | {"runner": "record"}, {**SAID, "messages": [], "runner": "record"}, SAID | {"runner": "resume"}]
"""Three runs of which the last resumes, and which are not the same run: nothing that a sweep makes."""
REFUSED = {
    "not swept": (("reference", "unlike.json"), "unlike.json: invocations.2: a run that is stopped, or resumes"),
    "no file": (("reference",), "no scenario: give one or more files"),
    "no target": ((), "no target: give reference, a file"),
    "missing": (("reference", "kept/none.json"), "kept/none.json: No such file or directory"),
    "no JSON": (("reference", "bad.json"), "bad.json: the file: Invalid JSON"),
    "another profile": (
        ("reference", *KEPT, "--profile", "lesson4"),
        "kept/capped.json: runs: Field required",
    ),
    "a folder": (("reference", "kept"), "kept: it is a folder: name its files, or run them all with `looptck check "),
    "not predicted": (("reference", "cancelled.json"), "cancelled.json: invocations.0.cancel: where a run is cut off"),
    "no profile": (("reference", *KEPT, "--profile", "x"), "there is no profile 'x'"),
}


@pytest.mark.parametrize(("arguments", "told"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_run_is_said_in_a_line(looptck: Any, arguments: tuple[str, ...], told: str) -> None:
    Path("bad.json").write_text("{")
    Path("cancelled.json").write_text(CANCELLED)
    Path("unlike.json").write_text(json.dumps({"name": "unlike", "invocations": UNLIKE}))
    ran = looptck("replay", *arguments)
    assert (ran.code, ran.out) == (4, "")
    assert ran.err.startswith(f"looptck: {told}")
    assert ran.err.count("\n") == 1


def test_a_scenario_of_another_profile_is_said_to_be_one(looptck: Any) -> None:
    ran = looptck("replay", "reference", "kept/capped.json", "--profile", "lesson4")
    assert ran.err.endswith("(read as a scenario of lesson4): with --profile ag03 it can be read (looptck --help)\n")


# check --scenarios


def test_a_folder_may_hold_what_was_found_in_both_profiles(looptck: Any) -> None:
    save(Path("kept"), "lesson4-x", Metered(name="x", runs=(Task(task="go", replies=(Reply(text="Yes."),)),)))
    ran = looptck("check", "reference", "--scenarios", "kept", "-k", "scenario/")
    assert (ran.code, ran.last) == (0, "PASS reference against ag03: 2 pass")
    assert ran.err == "looptck: --scenarios kept: left out, as of another profile: lesson4-x.json\n"


@pytest.mark.parametrize("select", ["scenario/", "scenario/capped", "TestScenarios"])
def test_where_no_folder_is_named_those_of_files_are_said_to_need_one(looptck: Any, select: str) -> None:
    ran = looptck("check", "reference", "-k", select)
    assert (ran.code, ran.out) == (4, "")
    assert "; those of scenario files need --scenarios DIR (looptck --help)" in ran.err
    assert "need --scenarios" not in looptck("check", "reference", "-k", select, "--scenarios", "kept").err


def test_a_check_of_such_a_file_is_explained_by_what_runs_it(looptck: Any) -> None:
    ran = looptck("explain", "scenario/capped")
    assert (ran.code, ran.out) == (4, "")
    assert "that of a scenario file of your own, which `looptck replay` runs" in ran.err


@pytest.fixture
def checked(looptck: Any) -> Callable[..., Any]:
    return lambda target, *more: looptck("check", target, "--scenarios", "kept", "--seed", "1", *more)


def test_they_are_checked_beside_the_suite(checked: Callable[..., Any]) -> None:
    ran = checked("reference", "-k", "*/fine")
    assert (ran.code, ran.last) == (0, "PASS reference against ag03: 1 pass")
    listed = checked("reference", "--list").out.splitlines()
    assert listed[0].startswith("TestHandExample ")
    assert listed[-3] == "TestScenarios (section -)"
    assert [line.split()[0] for line in listed[-2:]] == ["scenario/capped", "scenario/fine"]


def test_one_that_fails_is_told_with_the_command_that_repeats_it(checked: Callable[..., Any], broken: str) -> None:
    ran = checked(broken, "-k", "scenario/")
    assert (ran.code, ran.last) == (1, f"FAIL {broken} against ag03: 1 pass, 1 fail")
    assert f"  again: looptck replay {broken} kept/capped.json --profile ag03\n" in ran.out


def test_a_choice_may_leave_them_out_or_take_both(checked: Callable[..., Any]) -> None:
    assert "TestScenarios" not in checked("reference", "-k", "hand/answer").out
    both = checked("reference", "-k", "fine", "--list").out
    assert "scenario/fine" in both
    assert "scenario/capped" not in both


def test_a_name_that_nothing_has_is_refused(checked: Callable[..., Any]) -> None:
    ran = checked("reference", "-k", "nothing-like-it")
    assert (ran.code, ran.out, ran.err.count("\n")) == (4, "", 1)


@pytest.mark.parametrize(
    ("folder", "told"),
    [
        ("nowhere", "--scenarios nowhere: No such file or directory"),
        ("empty", "--scenarios empty: it holds no scenario (*.json)"),
        ("", "--scenarios: the name is empty"),
        ("bad", "bad/x.json: the file: Invalid JSON"),
    ],
)
def test_a_folder_that_cannot_be_used_is_said_in_a_line(looptck: Any, folder: str, told: str) -> None:
    Path("empty").mkdir()
    Path("bad").mkdir()
    Path("bad/x.json").write_text("{")
    ran = looptck("check", "reference", "--scenarios", folder)
    assert (ran.code, ran.out, ran.err.count("\n")) == (4, "", 1)
    assert ran.err.startswith(f"looptck: {told}")


def test_one_of_them_may_be_a_known_failure(checked: Callable[..., Any], broken: str) -> None:
    Path("known.toml").write_text('"scenario/capped" = "issue 12"\n')
    ran = checked(broken, "-k", "scenario/", "--known-failures", "known.toml")
    assert ran.code == 0
    assert "known scenario/capped  issue 12" in ran.out
    mended = checked("reference", "-k", "scenario/", "--known-failures", "known.toml")
    assert mended.code == 1
    assert "stale scenario/capped is listed as a known failure, and passes: take it out" in mended.out


def test_a_known_failure_that_no_file_is_behind_is_refused(checked: Callable[..., Any], looptck: Any) -> None:
    Path("known.toml").write_text('"scenario/gone" = "issue 12"\n')
    ran = checked("reference", "-k", "scenario/", "--known-failures", "known.toml")
    assert ran.code == 4
    assert "known.toml: no check of ag03 is called 'scenario/gone'" in ran.err
    without = looptck("check", "reference", "-k", "hand/answer", "--known-failures", "known.toml")
    assert without.code == 0, "in this run there are no files to be behind it"
