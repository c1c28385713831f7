"""What `looptck mutants` writes beside its text: a folder that grows with each mutant, annotations, a summary."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.mutants.shelf import CAP, ONE_MORE, SAME, Shelf, patch, shelf_in

from looptck import cli
from looptck.report.folder import read_run
from looptck_mutants.github import mutants_annotations, mutants_summary
from looptck_mutants.outcome import (
    Baseline,
    Fate,
    KillerReport,
    MutantReport,
    MutantsReport,
    SuiteReport,
    SuiteTest,
    counts_of,
)
from looptck_mutants.suites.counting import SKIPPED


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Shelf]:
    with shelf_in(tmp_path, CAP) as shelf:
        shelf.put("s01", patch(ONE_MORE))
        shelf.put("s02", patch(SAME))
        yield shelf


def mutant(name: str, fate: Fate, title: str = "the cap comes late") -> MutantReport:
    killer = KillerReport(test="TestMaxIterStops", check="max-iter/model-calls")
    return MutantReport(
        id=name, title=title, pitfall=1, patch=f"{name}.patch", killer=killer, verdict=fate, killed_by=[], message="no"
    )


def report(*mutants: MutantReport) -> MutantsReport:
    baseline = Baseline(verdict="pass", checks=9, wall_s=0.5)
    counts = counts_of(list(mutants))
    return MutantsReport(profile="ag03", seed=1, baseline=baseline, counts=counts, wall_s=2.34, mutants=list(mutants))


@pytest.mark.usefixtures("shelf")
def test_each_mutant_has_its_line_and_a_whole_run_its_footer(tmp_path: Path) -> None:
    assert cli.run(["mutants", "--seed", "3", "--report", str(tmp_path / "out")]) == 1
    header, results, footer = read_run(tmp_path / "out")
    assert (header["verb"], header["seed"], header["mutants"]) == ("mutants", 3, ["s01", "s02"])
    assert {result["id"]: result["verdict"] for result in results} == {"s01": "killed", "s02": "survived"}
    assert footer is not None
    assert footer["exit_code"] == 1


def test_a_mutant_is_on_disk_before_the_next_is_through(
    shelf: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf.put("s03", patch(ONE_MORE))
    seen: list[int] = []

    def advance() -> None:
        seen.append(len(read_run(tmp_path / "out")[1]))
        if len(seen) == 2:
            raise KeyboardInterrupt

    class Progress:
        def __enter__(self) -> object:
            return advance

        def __exit__(self, *_: object) -> None:
            pass

    monkeypatch.setattr("looptck.cli.concluding.progress", lambda *_args, **_options: Progress())
    assert cli.run(["mutants", "--report", str(tmp_path / "out")]) == 130
    assert seen == [1, 2]
    _, results, footer = read_run(tmp_path / "out")
    assert (len(results), footer) == (2, None)


@pytest.mark.usefixtures("shelf")
def test_the_command_annotates_what_got_away(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    assert cli.run(["mutants", "--seed", "3", "--output-format", "github"]) == 1
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == (
        "::error title=mutant s02 survived::about s02; max-iter/model-calls passed, as did every other check; "
        "meant for max-iter/model-calls; patch s02.patch"
    )
    assert "## ❌ looptck: 2 mutants of ag03" in summary.read_text(encoding="utf-8")


@pytest.mark.parametrize("fate", ["by_others", "survived", "timeout", "broken", "stale"])
def test_whatever_is_no_kill_is_annotated(fate: Fate) -> None:
    (line,) = mutants_annotations(report(mutant("s01", "killed"), mutant("s02", fate), mutant("s03", "equivalent")))
    assert line.startswith(f"::error title=mutant s02 {fate.replace('_', ' ')}::")


def test_the_summary_is_green_where_nothing_got_away() -> None:
    text = mutants_summary(report(mutant("s01", "killed")))
    assert text.startswith("## ✅ looptck: 1 mutant of ag03\n")
    assert "details" not in text


def test_the_summary_tells_what_got_away_and_titles_stay_text() -> None:
    text = mutants_summary(report(mutant("s01", "survived", title="<b>late</b>")))
    assert "<summary><code>s01</code> survived: &lt;b&gt;late&lt;/b&gt;</summary>" in text


def judged(*reasons: str) -> MutantsReport:
    """A report of somebody's tests, some of which do not count for these reasons."""
    named = zip("abc", reasons, strict=False)
    tests = [SuiteTest(id=f"test_x.py::test_{one}", counts=not why, reason=why, kills=0) for one, why in named]
    baseline = Baseline(verdict="incomplete", checks=1, wall_s=0.5)
    update = {"suite": SuiteReport(path="tests", tests=tests), "baseline": baseline}
    return report(mutant("s01", "killed")).model_copy(update=update)


def test_a_test_that_is_skipped_makes_no_exit_code_and_no_error() -> None:
    made = judged("", SKIPPED)
    assert mutants_annotations(made) == []
    assert SKIPPED not in mutants_summary(made)


def test_that_all_tests_are_skipped_makes_one() -> None:
    assert mutants_annotations(judged(SKIPPED, SKIPPED)) == ["::error title=looptck mutants::no test of tests counts"]


def test_what_else_makes_the_exit_code_is_told_too() -> None:
    made = judged("fails by chance", "")
    assert mutants_annotations(made) == [
        "::error title=looptck mutants::test_x.py::test_a does not count: fails by chance",
    ]
    assert mutants_summary(made).startswith("## ❌ ")
    assert "* test_x.py::test_a does not count: fails by chance" in mutants_summary(made)


@pytest.mark.parametrize("option", ["--tests", "--manifest", "--source", "--stage", "--triage"])
def test_an_empty_name_is_none(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["mutants", option, ""]) == 4
    assert capsys.readouterr().err == f"looptck: {option}: the name is empty (looptck --help)\n"
