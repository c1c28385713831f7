"""What a loop has said, in reports for people: nothing in it is obeyed by a terminal, a page or a CI's log."""

from __future__ import annotations

import io
import unicodedata
from typing import Any

import pytest
from rich.console import Console
from tests.conformance.commands import ROOT
from tests.conformance.reports import check, named, reported

from looptck.observation import Observation
from looptck.report.console import print_excused, print_failures, print_summary
from looptck.report.github import annotation, check_summary
from looptck.report.junit import junit_xml
from looptck.report.text import message_of, no_commands, one_line, text_of, visible
from looptck.scenario import Invocation, Said, Scenario, Turn

HOSTILE = "\x1b]0;title\x07\x00\x9b31m \u202eturned\u2066 \x85\u2028\u2029 \ud800 \ufeff\r\n  ::error::x\n\t##[error]x"
LOOP = """
class Agent:
    def __init__(self, **options): ...
    def invoke(self, messages):
        raise ValueError("no\\n::error::forged\\n##[error]forged" + " long" * 60 + " ::error::forged")
"""


def hidden(text: str) -> set[str]:
    """Characters that are not seen, but for tabs and the ends of lines."""
    return {sign for sign in text if unicodedata.category(sign) in {"Cc", "Cf", "Cs", "Zl", "Zp"}} - {"\n", "\t"}


def on_console() -> str:
    """A report with the hostile text wherever there can be any."""
    fields: dict[str, Any] = {"scenario": "sea", "message": HOSTILE}
    checks = [
        check("a/one", "fail", expected={HOSTILE: HOSTILE}, seen={HOSTILE: [HOSTILE]}, **fields),
        check("a/two", "incomplete", **fields),
        check("a/three", "fault", **fields),
        check("a/four", "fail", known=HOSTILE, **fields),
    ]
    whole = reported(named(*checks), target=HOSTILE, stale=(HOSTILE,))
    scenario = Scenario(name="sea", invocations=(Invocation(messages=(Said(content="Ahoy"),), turns=(Turn(),)),))
    out = Console(file=io.StringIO(), width=100, color_system=None)
    print_failures(out, whole, {whole.tests[0].name: {"sea": (scenario, Observation("sea", output=HOSTILE))}})
    print_excused(out, whole)
    print_summary(out, whole, 1.0)
    assert isinstance(out.file, io.StringIO)
    return out.file.getvalue()


def test_each_character_that_is_not_seen_is_told_by_its_number() -> None:
    assert visible("a\x1b[1m\x85\u202e\u2028\ud800\nb\tc é\N{SNOWMAN}") == (
        "a\\u{1b}[1m\\u{85}\\u{202e}\\u{2028}\\u{d800}\nb\tc é\N{SNOWMAN}"
    )


def test_a_value_is_one_line() -> None:
    assert one_line("a\r\nb\tc") == "a\\r\\nb\\tc"
    assert text_of("a\nb") == "a\\nb"
    assert text_of({"a\n": "\x85\u2028"}) == '{"a\\n": "\\u{85}\\u{2028}"}'


def test_a_fault_has_the_lines_of_its_traceback_and_no_other_message_has_any() -> None:
    assert message_of("fault", "Traceback\n  line\x1b\n") == "Traceback\n  line\\u{1b}"
    assert message_of("fail", "raised a\nb\n") == "raised a\\nb"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("::error::x", "\\u{3a}:error::x"),
        ("a\n \t::error::x", "a\n \t\\u{3a}:error::x"),
        ("\x1b[1m::error::x", "\x1b[1m\\u{3a}:error::x"),
        ("a ##[error]x", "a \\u{23}#[error]x"),
        ("a ::error::x", "a ::error::x"),
    ],
)
def test_a_line_of_a_log_is_no_command(text: str, shown: str) -> None:
    assert no_commands(text) == shown


def test_nothing_hidden_reaches_a_terminal() -> None:
    text = on_console()
    assert hidden(text) == set()
    assert "\\u{1b}]0;title\\u{7}" in text
    begun = [line for line in no_commands(text).splitlines() if line.strip().startswith("::") or "##[" in line]
    assert begun == []


def test_nothing_hidden_reaches_a_file() -> None:
    wrong = check("a/one", "fail", message=HOSTILE, expected=HOSTILE, seen=[HOSTILE], known=HOSTILE)
    decides = check("a/two", "fail", message=HOSTILE, expected=HOSTILE, seen=[HOSTILE])
    whole = reported(named(wrong, decides, check("a/three", "skip", message=HOSTILE)), target=HOSTILE)
    for text in (junit_xml(whole), check_summary(whole), annotation("error", HOSTILE, HOSTILE, (HOSTILE, 1, 1))):
        assert hidden(text) == set()
    assert "\n" not in annotation("error", HOSTILE, HOSTILE, (HOSTILE, 1, 1))


@pytest.mark.parametrize("form", ["text", "github"])
def test_a_loop_forges_no_annotation(looptck: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    (tmp_path / "loop.py").write_text(LOOP, encoding="utf-8")
    ran = looptck("check", str(tmp_path / "loop.py"), "-k", "hand/answer", "--output-format", form)
    assert ran.code == 1
    commands = [line for line in ran.out.splitlines() if line.lstrip().startswith("::")]
    assert len(commands) == (form == "github")
    assert all(line.startswith(f"::error file={tmp_path}/loop.py,line=2,") for line in commands)
    assert [line for line in ran.out.splitlines() if "##[" in line and line not in commands] == []
    assert "ValueError: no\\n::error::forged" in ran.out


def test_a_name_that_is_no_unicode_is_told_in_every_report(looptck: Any, tmp_path: Any) -> None:
    odd = tmp_path / "od\udcff.py"
    odd.write_text((ROOT / "examples" / "my_loop.py").read_text(encoding="utf-8"), encoding="utf-8")
    places = [item for name in ("json", "junit", "html", "report") for item in (f"--{name}", str(tmp_path / name))]
    ran = looptck("check", str(odd), "-k", "hand/answer", *places)
    assert (ran.code, ran.err) == (0, "")
    assert "od\\udcff.py against ag03: 1 pass" in ran.last
    for file in ("json", "junit", "html", "report/results.jsonl"):
        assert "udcff.py" in (tmp_path / file).read_text(encoding="utf-8")
