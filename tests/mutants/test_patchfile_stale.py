"""Stale patches: whatever does not fit the module exactly is refused, and the reason names the line."""

from __future__ import annotations

import pytest
from tests.mutants.patching import HEADER, HUNK, MODULE, MUTATED, SOURCE, applied, refusal

from looptck_mutants.patchfile import StalePatch


@pytest.mark.parametrize(
    ("source", "line", "detail"),
    [
        (
            SOURCE.replace("calls = 0", "calls = 1"),
            5,
            "line 2: expected '    calls = 0\\n', there is '    calls = 1\\n'",
        ),
        (SOURCE.replace(">= cap", "== cap"), 7, "line 4: expected '        if calls >= cap:\\n', there is "),
        (SOURCE.replace("raise", "raise  "), 9, "line 5: expected '            raise StopAsyncIteration\\n'"),
        (SOURCE.replace("calls += 1", "calls += 1 "), 10, "there is '        calls += 1 \\n'"),
        (
            SOURCE.replace("    while", "\twhile"),
            6,
            "line 3: expected '    while True:\\n', there is '\\twhile True:\\n'",
        ),
        ("def run(cap):\n    calls = 0\n", 6, "line 3: expected '    while True:\\n', there is the end of the file"),
        ("", 4, "line 1: expected 'def run(cap):\\n', there is the end of the file"),
    ],
    ids=["context", "removed line", "spaces inside", "trailing space", "tab", "cut off", "empty"],
)
def test_any_other_line_makes_the_patch_stale(source: str, line: int, detail: str) -> None:
    error = refusal(HEADER + HUNK, {MODULE: source})
    assert isinstance(error, StalePatch)
    assert (error.patch, error.line) == ("s01.patch", line)
    assert str(error).startswith(f"s01.patch:{line}: {MODULE} line ")
    assert detail in str(error)


def test_what_patch_would_accept_with_fuzz_is_refused() -> None:
    # The outermost context lines differ: `patch` drops them and reports success "with fuzz 1".
    drifted = SOURCE.replace("def run(cap):", "def run(cap, /):").replace("if ask():", "if ask(calls):")
    error = refusal(HEADER + HUNK, {MODULE: drifted})
    assert isinstance(error, StalePatch)
    assert error.line == 4


def test_what_patch_would_accept_with_an_offset_is_refused() -> None:
    error = refusal(HEADER + HUNK, {MODULE: "# one line more\n" + SOURCE})
    assert isinstance(error, StalePatch)
    assert "line 1: expected 'def run(cap):\\n', there is '# one line more\\n'" in str(error)


@pytest.mark.parametrize(
    ("old", "body", "new"),
    [
        (SOURCE, HUNK, MUTATED),
        ("a\nb\n", "@@ -1,2 +1,3 @@\n a\n b\n+c\n", "a\nb\nc\n"),
        ("a\nb\n", "@@ -1,2 +1,3 @@\n a\n+a\n b\n", "a\na\nb\n"),
        ("a\nb\nc\n", "@@ -1,3 +1,2 @@\n a\n-b\n c\n", "a\nc\n"),
        ("", "@@ -0,0 +1 @@\n+a\n", "a\n"),
    ],
    ids=["changed line", "appended", "doubled", "deleted", "filled"],
)
def test_an_applied_patch_is_refused_and_said_to_be_applied(old: str, body: str, new: str) -> None:
    text = HEADER + body
    assert applied(text, {MODULE: old}) == {MODULE: new}
    error = refusal(text, {MODULE: new})
    assert isinstance(error, StalePatch)
    assert str(error).endswith(f"expected {MODULE} without the change, the patch is already applied")


def test_a_missing_module_is_refused() -> None:
    error = refusal(HEADER + HUNK, {"looptck_reference.other": SOURCE})
    assert isinstance(error, StalePatch)
    assert str(error) == f"s01.patch:1: expected a module {MODULE}, there is none"


def test_no_context_after_the_change_means_the_end_of_the_file() -> None:
    text = HEADER + "@@ -1,2 +1,3 @@\n a\n b\n+c\n"
    error = refusal(text, {MODULE: "a\nb\nd\n"})
    assert isinstance(error, StalePatch)
    assert str(error) == f"s01.patch:6: {MODULE} line 3: expected the end of the file, there is 'd\\n'"


def test_one_stale_file_of_two_refuses_the_whole_patch() -> None:
    other = "--- a/looptck_reference/tools.py\n+++ b/looptck_reference/tools.py\n@@ -1 +1 @@\n-LIMIT = 4\n+LIMIT = 5\n"
    sources = {MODULE: SOURCE, "looptck_reference.tools": "LIMIT = 3\n"}
    assert isinstance(refusal(HEADER + HUNK + other, sources), StalePatch)
