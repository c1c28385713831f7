"""Mutants of a loop that is not ours, judged by tests that are not ours: the example of the documents, and its gap."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from looptck import cli
from looptck_mutants.foreign import check_killers, load_project
from looptck_mutants.manifest import ManifestError
from looptck_mutants.suites.runs import Ended, Run
from looptck_mutants.suites.told import Case, report_of

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "your-loop-mutants.md"
CAP = "test_my_loop.py::test_the_model_is_asked_as_often_as_the_cap_says"
APPROVED = "test_my_loop.py::test_what_was_approved_runs"


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the example, in a working folder as that of the documents is."""
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.chdir(tmp_path)
    left_out = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "examples" / "mutants_of_a_loop", tmp_path / "examples/mutants_of_a_loop", ignore=left_out)
    shutil.copy(ROOT / "examples" / "my_loop.py", tmp_path / "examples" / "my_loop.py")
    return tmp_path / "examples" / "mutants_of_a_loop"


def looptck(*arguments: str) -> int:
    return cli.run(["mutants", "--manifest", "examples/mutants_of_a_loop", "--seed", "3", *arguments])


def change(file: Path, old: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert old in text, "there is nothing to change"
    file.write_text(text.replace(old, new), encoding="utf-8")


def shown(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def timeless(text: str) -> str:
    return re.sub(r"\d+\.\d s\b", "_ s", text)


def files(folder: Path) -> list[str]:
    return sorted(str(path) for path in folder.rglob("*"))


def test_the_page_shows_the_files_of_the_example() -> None:
    folder = ROOT / "examples" / "mutants_of_a_loop"
    assert shown("toml") == [(folder / "manifest.toml").read_text(encoding="utf-8")]
    assert shown("diff") == [
        (folder / "m02-approved-by-call-id.patch").read_text(encoding="utf-8").replace("\n \n", "\n\n")
    ]
    (test,) = shown("python")
    assert test in (folder / "tests" / "test_my_loop.py").read_text(encoding="utf-8")


def test_a_test_that_cannot_tell_them_apart_lets_the_mutant_get_away_as_the_page_says(
    example: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change(example / "tests" / "test_my_loop.py", '"bill-7"', '"call_1"')
    before = files(example.parent)
    outputs = ["--json", "o.json", "--html", "o.html"]
    assert looptck(*outputs) == 1
    lines = [timeless(line.rstrip()) for line in capsys.readouterr().out.splitlines()]
    assert lines[1:] == timeless(shown("text")[0]).splitlines()
    report = json.loads(Path("o.json").read_text())
    assert [mutant["killed_by"] for mutant in report["mutants"]] == [[CAP], []]
    assert (report["loop"], report["suite"]["path"]) == ("my_loop:Agent", "examples/mutants_of_a_loop/tests")
    page = Path("o.html").read_text()
    assert "looptck mutants --manifest examples/mutants_of_a_loop --seed 3" in page
    assert str(example.parents[1]) not in page + json.dumps(report)
    assert files(example.parent) == before


@pytest.fixture
def case(example: Path) -> Case:
    """The second mutant of the example, as it was when all tests had run on it and none had failed."""
    mutant = load_project(str(example)).mutants[1]
    return Case(mutant, run=Run(ended={CAP: Ended("passed"), APPROVED: Ended("passed")}))


def test_a_mutant_that_another_test_kills_is_no_kill(case: Case) -> None:
    case.confirmed = [CAP]
    report = report_of(case, {CAP, APPROVED})
    assert (report.verdict, report.message, report.killed_by) == ("by_others", f"{APPROVED} passed", [CAP])


@pytest.mark.parametrize("killer", [APPROVED, f"{APPROVED}[bill-7]"], ids=["itself", "one of its cases"])
def test_the_test_that_is_meant_kills(case: Case, killer: str) -> None:
    case.confirmed = [CAP, killer]
    assert report_of(case, {CAP, killer}).verdict == "killed"


def test_a_killer_that_is_none_of_the_tests_is_refused(example: Path) -> None:
    project = load_project("examples/mutants_of_a_loop")
    check_killers(project, [CAP, f"{APPROVED}[bill-7]"])
    change(example / "manifest.toml", APPROVED, f"{APPROVED}_at_once")
    project = load_project("examples/mutants_of_a_loop")
    with pytest.raises(ManifestError) as caught:
        check_killers(project, [CAP, APPROVED])
    assert str(caught.value) == (
        "examples/mutants_of_a_loop/manifest.toml: mutant 2 (m02): killer.test: unknown test "
        f"'{APPROVED}_at_once' (is it '{APPROVED}'?)"
    )


@pytest.mark.usefixtures("example")
def test_what_is_wrong_with_a_manifest_is_a_usage_error_also_where_the_tests_tell(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def judged(*_arguments: object, **_options: object) -> int:
        raise ManifestError("manifest.toml: mutant 1 (m01): killer.test: unknown test")

    monkeypatch.setattr("looptck.cli.mutants.judged_by_tests", judged)
    assert looptck() == 4
    assert "killer.test: unknown test" in capsys.readouterr().err


@pytest.mark.usefixtures("example")
def test_patches_or_mutmut_make_the_mutants_and_not_both(capsys: pytest.CaptureFixture[str]) -> None:
    assert looptck("--systematic") == 4
    assert "--manifest: its patches are the mutants" in capsys.readouterr().err
