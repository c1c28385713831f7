"""`looptck mutants --tests` as a user meets it: what it prints and writes, and its exit codes."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import jsonschema
import pytest
from tests.mutants.grading import HONEST, written

from looptck import cli
from looptck_mutants.schemas import mutants_schema
from looptck_mutants.suites.suite import read_suite

IDLE = """

def test_nothing(loop_class):
    assert loop_class
"""
UNITTEST = """
import unittest
from helpers import model_calls
from looptck.subject import Agent


class TheCap(unittest.TestCase):
    def test_it(self):
        for cap in (1, 3):
            with self.subTest(cap=cap):
                self.assertEqual(model_calls(Agent, cap), cap)
"""


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FORCE_COLOR", raising=False)


def looptck(suite: Path | str, *arguments: str) -> int:
    return cli.run(["mutants", "--tests", str(suite), "--seed", "3", "--jobs", "2", *arguments])


def refusal(capsys: pytest.CaptureFixture[str]) -> str:
    (line,) = capsys.readouterr().err.splitlines()
    return line.removeprefix("looptck: ").removesuffix(" (looptck --help)")


def test_what_got_away_is_printed_with_what_a_test_would_have_to_look_at(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All outputs of one run, since each takes seconds."""
    suite = written(tmp_path / "suite", test_cap=HONEST + IDLE)
    summary = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    places = {"--json": tmp_path / "r.json", "--html": tmp_path / "r.html", "--report": tmp_path / "run"}
    options = [part for option, place in places.items() for part in (option, str(place))]
    assert looptck(suite, "s01", "s10", "--matrix", "--output-format", "github", *options) == 1
    out = capsys.readouterr().out
    flat = " ".join(out.split())
    assert out.startswith("Found 2 mutants of ag03 (seed 3)\n")
    assert f"Suite: 2 of 2 tests of {suite} pass on the unmutated loop, every time, in " in flat
    assert (
        "mutant A B verdict s01 1 · killed s10 · · survived A test_cap.py::test_the_cap B test_cap.py::test_n" in flat
    )
    assert "survived s10 " in flat
    assert re.search(r"no test failed pitfall 6: .* a test would have to look at: .* \(system/[a-z-]+\) what is", flat)
    assert "1 test killed nothing: test_cap.py::test_nothing 2 mutants tested in " in flat
    assert "::error title=mutant s10 survived::" in out
    assert "s10" in summary.read_text()
    _look_at_json(json.loads(places["--json"].read_text()), str(suite))
    _look_at_page(places["--html"].read_text())
    _look_at_folder(places["--report"] / "results.jsonl")


def _look_at_json(report: dict[str, object], suite: str) -> None:
    jsonschema.Draft202012Validator(mutants_schema()).validate(report)
    tests = [("test_the_cap", 1), ("test_nothing", 0)]
    assert report["suite"] == {
        "path": suite,
        "tests": [
            {"id": f"test_cap.py::{name}", "counts": True, "reason": "", "kills": kills} for name, kills in tests
        ],
    }
    mutants = report["mutants"]
    assert isinstance(mutants, list)
    assert [(each["verdict"], each["killed_by"]) for each in mutants] == [
        ("killed", ["test_cap.py::test_the_cap"]),
        ("survived", []),
    ]


def _look_at_page(page: str) -> None:
    stryker = json.loads(page.split('id="stryker">', 1)[1].split("</script>", 1)[0])
    (name,) = stryker["testFiles"]
    assert name == "test_cap.py"
    assert [test["id"] for test in stryker["testFiles"][name]["tests"]] == [
        "test_cap.py::test_the_cap",
        "test_cap.py::test_nothing",
    ]
    killed = [entry["killedBy"] for file in stryker["files"].values() for entry in file["mutants"]]
    assert sorted(killed) == [[], ["test_cap.py::test_the_cap"]]
    assert "A test would have to look at" in page


def _look_at_folder(file: Path) -> None:
    header, *mutants, footer = map(json.loads, file.read_text().splitlines())
    assert header["tests"].endswith("suite")
    assert sorted(each["id"] for each in mutants) == ["s01", "s10"]
    assert footer["exit_code"] == 1
    assert [test["kills"] for test in footer["suite"]["tests"]] == [1, 0]


def test_a_file_of_unittest_kills_by_its_subtests(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    suite = written(tmp_path / "suite", checks=UNITTEST, test_not_asked_for="assert False")
    assert looptck(suite / "checks.py", "s01") == 0
    assert capsys.readouterr().out.splitlines()[-1].endswith(" s: 1 killed")


def test_a_test_that_does_not_count_is_named_and_the_run_is_incomplete(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = HONEST + "\n\ndef test_wrong(loop_class):\n    assert model_calls(loop_class) == 5\n"
    assert looptck(written(tmp_path / "suite", test_cap=wrong), "s01") == 2
    out = " ".join(capsys.readouterr().out.split())
    assert "  1 of 2 tests of ".strip() in out
    assert "test_cap.py::test_wrong does not count: fails on the unmutated loop: AssertionError: assert 2 == 5" in out
    assert out.endswith(" s: 1 killed")


def test_of_lesson4_the_budget_is_there_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = """
from looptck.contract.lesson4 import Completion, Usage
from looptck.subject import Run


class Model:
    def complete(self, messages, **options):
        return Completion("42", (), Usage(30, 12))


class Registry:
    def schemas(self):
        return []


def test_the_tokens_of_a_run(loop_class, budget_class):
    run = loop_class(Model(), Registry(), budget=budget_class(max_total_tokens=41)).run("?")
    assert isinstance(run, Run)
    assert run.output == "42"


def test_the_price(budget_class):
    assert budget_class(price_per_1k_output=2.0).cost_of(1000, 500) == 1.0
"""
    assert looptck(written(tmp_path / "suite", test_budget=text), "l10", "--profile", "lesson4") == 0
    assert capsys.readouterr().out.splitlines()[-1].endswith(" s: 1 killed")


# ---------------------------------------------------------------------------------------------------- it cannot be run


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("nowhere", "there is no such file or folder"),
        ("notes.txt", "is no Python file; name a file or a folder with tests"),
        ("large", "holds more than 2,000 files or 20 MB, and is copied for each run; put the tests into a folder of"),
    ],
)
def test_a_path_that_is_no_suite_is_a_usage_error(
    name: str, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "notes.txt").touch()
    (tmp_path / "large").mkdir()
    with (tmp_path / "large" / "data").open("wb") as file:
        file.truncate(30_000_000)
    assert looptck(tmp_path / name) == 4
    assert why in refusal(capsys)


def test_a_link_to_a_file_stands_for_the_file(tmp_path: Path) -> None:
    suite = written(tmp_path / "suite", test_cap=HONEST)
    (tmp_path / "linked").symlink_to(suite / "test_cap.py")
    read = read_suite(str(tmp_path / "linked"), tmp_path / "copy")
    assert (read.name, read.file) == (str(tmp_path / "linked"), "test_cap.py")
    assert (read.folder / "helpers.py").is_file()


def test_where_there_is_no_pytest_it_is_said_how_to_get_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pytest", None)
    assert looptck(written(tmp_path / "suite", test_cap=HONEST)) == 4
    assert refusal(capsys) == '--tests needs pytest: python -m pip install "looptck[pytest]"'


def test_a_folder_without_tests_is_a_usage_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    suite = written(tmp_path / "suite")
    assert looptck(suite) == 4
    assert refusal(capsys) == f"--tests there are no tests in {suite}"
