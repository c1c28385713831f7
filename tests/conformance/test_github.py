"""What `--output-format github` prints and appends: annotations on lines of code, a summary in Markdown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.conformance.reports import check, named, reported

from looptck.report.github import MOST_ANNOTATIONS, annotation, check_annotations, check_summary

LOOP = "import asyncio\n\n\nclass Agent:\n    pass\n\n\nclass Other:\n    pass\n"


@pytest.fixture
def loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A file with two classes, in the current folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "loop.py").write_text(LOOP)
    return "loop.py"


def test_a_failed_check_is_an_error_on_the_line_of_its_class(loop: str) -> None:
    (line,) = check_annotations(reported(named(check("a/one", "fail"), check("a/two")), target=loop))
    assert line == (
        "::error file=loop.py,line=4,endLine=4,title=a/one::The model is asked three times.%0Aexpected: 3%0Aseen: 4"
    )


@pytest.mark.parametrize(
    ("target", "place"),
    [
        ("loop.py:Other", "file=loop.py,line=8,endLine=8,"),
        ("loop.py:Missing", "file=loop.py,line=1,endLine=1,"),
        ("nowhere.py", "file=nowhere.py,line=1,endLine=1,"),
        ("package.module:Agent", ""),
        ("my.pyloop:Agent", ""),
        ("a.pyd/loop.py:Agent", "file=a.pyd/loop.py,line=1,endLine=1,"),
    ],
)
@pytest.mark.usefixtures("loop")
def test_the_place_is_that_of_the_named_class_as_far_as_it_is_known(target: str, place: str) -> None:
    (line,) = check_annotations(reported(named(check("a/one", "fail")), target=target))
    assert line.startswith(f"::error {place}title=a/one::")


def test_a_file_that_is_no_python_has_its_first_line(loop: str) -> None:
    Path(loop).write_text("class Agent(:\n")
    (line,) = check_annotations(reported(named(check("a/one", "incomplete", message="SyntaxError")), target=loop))
    assert line == "::error file=loop.py,line=1,endLine=1,title=a/one::SyntaxError"


@pytest.mark.parametrize("fields", [{"level": "should"}, {"known": "issue 12"}])
def test_what_decides_nothing_is_not_annotated(fields: dict[str, Any]) -> None:
    assert check_annotations(reported(named(check("a/one", "fail", **fields)))) == []


@pytest.mark.parametrize("fields", [{"level": "should"}, {"since": 2, "news": True}])
def test_a_fault_is_an_error_whatever_it_is_of(fields: dict[str, Any]) -> None:
    (line,) = check_annotations(reported(named(check("a/one", "fault", message="Traceback", **fields)), target="m:A"))
    assert line == "::error title=a/one::Traceback"


def test_news_are_a_notice() -> None:
    (line,) = check_annotations(reported(named(check("a/one", "fail", since=2, news=True)), target="m:Agent"))
    assert line.startswith("::notice title=a/one::news: The model")


def test_an_entry_of_the_known_failures_that_is_not_true_is_an_error() -> None:
    made = reported(named(check()), target="m:Agent", stale=("a/one is listed as a known failure, and passes",))
    assert check_annotations(made) == [
        "::error title=known failures::a/one is listed as a known failure, and passes",
    ]


def test_there_are_nine_and_then_a_word_about_the_others() -> None:
    lines = check_annotations(reported(named(*(check(f"a/n{n}", "fail") for n in range(12))), target="m:Agent"))
    assert len(lines) == MOST_ANNOTATIONS + 1
    assert lines[-1] == "::error title=looptck::3 more: see summary"


def test_nothing_in_a_text_ends_the_command() -> None:
    assert annotation("error", "a,b:c", "50 %\r\n::warning::x", ("dir,1/loop.py", 1, 2)) == (
        "::error file=dir%2C1/loop.py,line=1,endLine=2,title=a%2Cb%3Ac::50 %25%0D%0A::warning::x"
    )


def test_the_summary_has_a_row_for_each_test_and_details_of_what_did_not_pass() -> None:
    text = check_summary(reported(named(check("a/one", "fail"), check("a/two")), named(check(), name="TestSpans")))
    assert "## ❌ looptck: loop.py against ag03" in text
    assert "1 fail" in text
    assert "| TestMaxIterStops | 2.2 | ❌ fail | 1/2 |" in text
    assert "| TestSpans | 2.2 | ✅ pass | 1/1 |" in text
    assert "<summary>❌ <code>a/one</code> fail</summary>" in text
    assert "<p>expected <code>3</code></p>" in text


def test_markdown_and_html_in_a_text_stay_text() -> None:
    wrong = check("a/one", "fail", seen="</details><script>alert(1)</script>\n\n# big", message="a | b")
    text = check_summary(reported(named(wrong), target="a_b*c|d.py"))
    assert "<script>" not in text
    assert "\n# big" not in text
    assert r"a\_b\*c\|d.py" in text


def test_a_summary_is_no_longer_than_github_takes() -> None:
    text = check_summary(reported(named(*(check(f"a/n{n}", "fail", message="m" * 600) for n in range(2000)))))
    assert len(text.encode()) < 1_000_000
    assert text.endswith("the summary is too long\n")


def test_the_command_prints_annotations_and_appends_the_summary(
    looptck: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    ran = looptck("check", "examples/broken_loop.py", "-k", "budget/calls-none-run", "--output-format", "github")
    assert ran.code == 1
    assert "\n::error file=examples/broken_loop.py,line=" in ran.out
    written = summary.read_text(encoding="utf-8")
    assert written.startswith("before\n## ❌ looptck")
    assert "budget/calls-none-run" in written


def test_a_summary_that_cannot_be_written_is_told_before_the_work(
    looptck: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "no" / "summary.md"))
    ran = looptck("check", "reference", "-k", "hand/answer", "--output-format", "github")
    assert (ran.code, ran.out) == (4, "")
    assert "GITHUB_STEP_SUMMARY" in ran.err


def test_a_summary_that_cannot_be_written_any_more_changes_no_verdict(
    looptck: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "/dev/full")
    ran = looptck("check", "reference", "-k", "hand/answer", "--output-format", "github")
    assert ran.code == 0
    assert ran.err == "looptck: GITHUB_STEP_SUMMARY /dev/full: No space left on device; the verdict stands\n"


def test_without_the_option_there_is_neither(looptck: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    ran = looptck("check", "examples/broken_loop.py", "-k", "budget/calls-none-run")
    assert "::error" not in ran.out
    assert not (tmp_path / "summary.md").exists()
