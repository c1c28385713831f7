"""What `looptck check` reports: JSON, the command that repeats one failure, and faults that are the kit's own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.conformance.commands import PARALLEL, bad

from looptck import cli
from looptck.suite import tests_of
from looptck.suite.evidence import Evidence
from looptck.suite.model import Check, Finding

# JSON


def test_json_on_standard_output_is_all_there_is_and_people_read_the_other_stream(looptck: Any) -> None:
    ran = looptck("check", bad("hangs"), "-k", PARALLEL, "--json", "-", "--seed", "4")
    assert ran.code == 1
    report = json.loads(ran.out)
    assert (report["schema"], report["target"], report["seed"]) == ("looptck-check-1", bad("hangs"), 4)
    assert report["verdict"] == "fail"
    assert "FAIL" in ran.err


def test_json_goes_to_a_file_and_people_read_as_ever(looptck: Any, tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    ran = looptck("check", "reference", "-k", "hand/answer", "--json", str(file))
    assert ran.last == "PASS reference against ag03: 1 pass"
    assert json.loads(file.read_text(encoding="utf-8"))["counts"]["pass"] == 1


def test_json_is_written_for_a_target_that_cannot_be_used(looptck: Any) -> None:
    ran = looptck("check", bad("raises_at_import"), "--json", "-", "-k", "hand/answer")
    (test,) = json.loads(ran.out)["tests"]
    assert (ran.code, test["verdict"]) == (2, "incomplete")
    assert "KeyError: 'MODEL_API_KEY'" in test["checks"][0]["message"]


def test_json_holds_what_the_console_shows(looptck: Any) -> None:
    ran = looptck("check", bad("hangs"), "-k", "parallel/one-slot", "--json", "-", "--seed", "4")
    (check,) = json.loads(ran.out)["tests"][0]["checks"]
    assert (check["expected"], check["seen"]) == (
        {"most in flight": 1, "runs": 3},
        {"most in flight": 0, "runs": 0},
    )
    assert (check["id"], check["level"], check["scenario"]) == ("parallel/one-slot", "must", "one-slot")


def test_in_this_process_a_target_is_imported_once_and_may_go_elsewhere(
    looptck: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = "with open('imports', 'a') as file:\n    file.write('.')"
    text = f"import os\n{count}\nos.chdir('/')\nfrom looptck_reference import Agent\n"
    (tmp_path / "loop.py").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    options = ("--isolation", "none", "--json", "a.json", "--junit", "a.xml", "--html", "a.html", "--report", "run")
    ran = looptck("check", "loop.py", "-k", "hand/answer", *options)
    assert (ran.code, ran.last) == (0, "PASS loop.py against ag03: 1 pass")
    assert (tmp_path / "imports").read_text(encoding="utf-8") == "."
    assert sorted(path.name for path in tmp_path.iterdir() if path.suffix != ".pyc" and path.name != "__pycache__") == [
        "a.html", "a.json", "a.xml", "imports", "loop.py", "run"
    ]  # fmt: skip


@pytest.mark.parametrize("option", ["--json", "--junit", "--html", "--report", "--known-failures"])
def test_a_place_without_a_name_is_refused(looptck: Any, option: str) -> None:
    ran = looptck("check", "reference", option, "")
    assert (ran.code, ran.out, ran.err) == (4, "", f"looptck: {option}: the name is empty (looptck --help)\n")


# repeating one failure


def test_the_printed_command_repeats_the_failure_with_the_same_values(looptck: Any) -> None:
    first = looptck("check", bad("no_transcript"), "-k", "TestHandExample", "--json", "-", "--seed", "523")
    failed = next(c for c in json.loads(first.out)["tests"][0]["checks"] if c["id"] == "hand/text-beside-calls")
    (again,) = [line for line in first.err.splitlines() if "-k hand/text-beside-calls " in line]
    program, *arguments = again.removeprefix("  again: ").split()
    assert program == "looptck"
    repeated = looptck(*arguments, "--json", "-")
    assert json.loads(repeated.out)["tests"][0]["checks"] == [failed]


# faults of the kit


def test_a_check_that_raises_is_a_fault_of_the_kit_and_not_the_loops(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def confused(_e: Evidence) -> Finding:
        raise LookupError("a bug of the check")

    (test,) = [test for test in tests_of("ag03") if test.name == "TestHandExample"]
    added = Check("hand/confused", test.checks[0].requirement, "It is confused.", ("hand",), confused)
    monkeypatch.setattr(test, "checks", [*test.checks, added])
    assert cli.run(["check", "reference", "-k", "TestHandExample"]) == 3
    out, err = capsys.readouterr()
    assert "LookupError: a bug of the check" in out
    assert (err, f"{len(test.checks) - 1} pass, 1 fault" in out) == ("", True)


@pytest.mark.parametrize("wanted", [False, True])
def test_an_error_that_nobody_expected_is_one_line_and_a_fault_of_the_kit(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    wanted: bool,  # noqa: FBT001
) -> None:
    def broken(*_: object, **__: object) -> Any:
        raise LookupError("two\nlines")

    monkeypatch.setattr("looptck.session.report", broken)
    monkeypatch.setenv("LOOPTCK_TRACEBACK", "1" if wanted else "")
    assert cli.run(["check", "reference", "-k", "hand/answer"]) == 3
    out, err = capsys.readouterr()
    line = "looptck: fault of the kit: LookupError: two lines (LOOPTCK_TRACEBACK=1 shows where)\n"
    assert err.endswith(line)
    assert (err.startswith("Traceback"), out) == (wanted, "")


def test_ctrl_c_is_told_in_one_line(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def pressed(*_: object, **__: object) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr("looptck.session.observe_all", pressed)
    assert cli.run(["check", "reference", "-k", "hand/answer"]) == 130
    assert capsys.readouterr().err == "looptck: interrupted\n"
