"""The strict applier, rule by rule: what fits exactly is applied, everything else is refused with its reason."""

from __future__ import annotations

import os
import shutil
import subprocess
import zipfile
from typing import TYPE_CHECKING

import pytest

from looptck_mutants import patchfile
from looptck_mutants.patchfile import BadPatch, PatchError, StalePatch

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

MODULE = "looptck_reference.loop"
FILE = "reference/looptck_reference/loop.py"
HEADER = f"--- a/{FILE}\n+++ b/{FILE}\n"

SOURCE = """\
def run(cap):
    calls = 0
    while True:
        if calls >= cap:
            raise StopAsyncIteration
        calls += 1
        if ask():
            return calls


def ask():
    return False
"""
MUTATED = SOURCE.replace("calls >= cap", "calls > cap")
HUNK = """\
@@ -1,7 +1,7 @@
 def run(cap):
     calls = 0
     while True:
-        if calls >= cap:
+        if calls > cap:
             raise StopAsyncIteration
         calls += 1
         if ask():
"""
GIT_HEADER = f"diff --git a/{FILE} b/{FILE}\nindex 1f1e2d3..4c5b6a7 100644\n"


def applied(text: str, sources: Mapping[str, str] | None = None) -> dict[str, str]:
    return patchfile.apply(patchfile.parse(text, "s01.patch"), {MODULE: SOURCE} if sources is None else sources)


def refusal(text: str, sources: Mapping[str, str] | None = None) -> PatchError:
    with pytest.raises(PatchError) as caught:
        applied(text, sources)
    assert "\n" not in str(caught.value)
    return caught.value


# ------------------------------------------------------------------------------------------------------- what is read


@pytest.mark.parametrize(
    "header",
    [
        HEADER,
        GIT_HEADER + HEADER,
        f"diff --git a/{FILE} b/{FILE}\n{HEADER}",
        f"diff -ru old/{FILE} new/{FILE}\n{HEADER}",
        f"--- {FILE}\t2026-01-02 03:04:05.000000000 +0000\n+++ {FILE}\t2026-01-02 03:04:06.000000000 +0000\n",
    ],
    ids=["bare", "git diff", "git diff without index", "diff -r", "diff -u with times"],
)
def test_the_headers_of_git_and_of_diff_are_read(header: str) -> None:
    assert applied(header + HUNK) == {MODULE: MUTATED}


@pytest.mark.parametrize(
    ("path", "module"),
    [
        ("a/reference/looptck_reference/loop.py", "looptck_reference.loop"),
        ("a/reference/looptck_reference/ag03/loop.py", "looptck_reference.ag03.loop"),
        ("a/reference/looptck_reference/__init__.py", "looptck_reference"),
        ("a/reference/looptck_reference/ag03/__init__.py", "looptck_reference.ag03"),
        ("looptck_reference/loop.py", "looptck_reference.loop"),
        ("/home/me/looptck_reference/reference/looptck_reference/loop.py", "looptck_reference.loop"),
    ],
)
def test_a_path_stands_for_the_module_below_the_package_folder(path: str, module: str) -> None:
    patch = patchfile.parse(f"--- {path}\n+++ {path}\n{HUNK}", "s01.patch")
    assert patch.modules == (module,)
    assert patchfile.apply(patch, {module: SOURCE}) == {module: MUTATED}


@pytest.mark.parametrize(
    "path",
    [
        "a/reference/other_package/loop.py",
        "a/reference/looptck_reference/loop.txt",
        "a/reference/looptck_reference/../secrets.py",
        "a/reference/looptck_reference/two words.py",
        "a/looptck_reference.py",
        '"a/reference/looptck_reference/l\\303\\266p.py"',
        "",
    ],
)
def test_a_path_that_is_no_module_of_the_package_is_refused(path: str) -> None:
    error = refusal(f"--- {path}\n+++ {path}\n{HUNK}")
    assert isinstance(error, BadPatch)
    assert str(error).startswith("s01.patch:1: expected the path of a Python module of looptck_reference/, there is")


def test_another_package_may_be_named() -> None:
    text = "--- a/src/mine/loop.py\n+++ b/src/mine/loop.py\n" + HUNK
    patch = patchfile.parse(text, "s01.patch", package="mine")
    assert patchfile.apply(patch, {"mine.loop": SOURCE}) == {"mine.loop": MUTATED}


def test_several_hunks_and_several_files_are_applied_and_the_rest_is_not_returned() -> None:
    second = """\
@@ -9,4 +9,4 @@ def run(cap):
 
 
 def ask():
-    return False
+    return True
"""  # noqa: W293 - a space is the mark of a context line, also of an empty one
    other = (
        "--- a/looptck_reference/tools.py\n+++ b/looptck_reference/tools.py\n@@ -1 +1,2 @@\n LIMIT = 4\n+LIMIT = 5\n"
    )
    sources = {MODULE: SOURCE, "looptck_reference.tools": "LIMIT = 4\n", "looptck_reference": ""}
    assert applied(HEADER + HUNK + second + other, sources) == {
        MODULE: MUTATED.replace("False", "True"),
        "looptck_reference.tools": "LIMIT = 4\nLIMIT = 5\n",
    }


def test_the_sources_stay_as_they_are() -> None:
    sources = {MODULE: SOURCE}
    applied(HEADER + HUNK, sources)
    assert sources == {MODULE: SOURCE}


def test_a_hunk_may_start_with_a_change_in_line_one_and_end_with_one_in_the_last() -> None:
    text = HEADER + "@@ -1,2 +1,3 @@\n+# first\n a = 1\n-b = 2\n+b = 3\n"
    assert applied(text, {MODULE: "a = 1\nb = 2\n"}) == {MODULE: "# first\na = 1\nb = 3\n"}


def test_an_empty_module_can_be_filled_and_a_full_one_emptied() -> None:
    assert applied(HEADER + "@@ -0,0 +1,2 @@\n+a = 1\n+b = 2\n", {MODULE: ""}) == {MODULE: "a = 1\nb = 2\n"}
    assert applied(HEADER + "@@ -1 +0,0 @@\n-a = 1\n", {MODULE: "a = 1\n"}) == {MODULE: ""}


@pytest.mark.parametrize(
    ("old", "new", "body"),
    [
        ("a\nb", "a\nc", " a\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n"),
        ("a\nb", "a\nb\n", " a\n-b\n\\ No newline at end of file\n+b\n"),
        ("a\nb\n", "a\nb", " a\n-b\n+b\n\\ No newline at end of file\n"),
        ("a\nb", "c\nb", "-a\n+c\n b\n\\ Kein Zeilenumbruch am Dateiende.\n"),
    ],
    ids=["neither has one", "added", "removed", "context, in another language"],
)
def test_a_missing_newline_at_the_end_is_kept_apart_from_a_present_one(old: str, new: str, body: str) -> None:
    text = HEADER + "@@ -1,2 +1,2 @@\n" + body
    assert applied(text, {MODULE: old}) == {MODULE: new}
    other_end = old + "\n" if not old.endswith("\n") else old.removesuffix("\n")
    assert isinstance(refusal(text, {MODULE: other_end}), StalePatch)


def test_only_newlines_separate_lines() -> None:
    source = "a = '\x0b\x0c\x1c\x85\u2028'\nb = 2\n"
    text = HEADER + "@@ -1,2 +1,2 @@\n a = '\x0b\x0c\x1c\x85\u2028'\n-b = 2\n+b = 3\n"
    assert applied(text, {MODULE: source}) == {MODULE: source.replace("b = 2", "b = 3")}


# ------------------------------------------------------------------------------------------------------- line endings


def crlf(text: str) -> str:
    return text.replace("\n", "\r\n")


def test_a_patch_in_crlf_fits_sources_in_crlf() -> None:
    assert applied(crlf(HEADER + HUNK), {MODULE: crlf(SOURCE)}) == {MODULE: crlf(MUTATED)}


def test_a_diff_of_crlf_files_has_headers_in_lf() -> None:
    header, body = HUNK.split("\n", 1)
    assert applied(f"{HEADER}{header}\n{crlf(body)}", {MODULE: crlf(SOURCE)}) == {MODULE: crlf(MUTATED)}


@pytest.mark.parametrize("source", [crlf("a\nb\n"), crlf("a\nb")], ids=["with newline", "without"])
def test_the_last_line_of_a_crlf_file_may_lack_its_newline(source: str) -> None:
    mark = "" if source.endswith("\n") else "\\ No newline at end of file\n"
    body = f"@@ -1,2 +1,2 @@\n-a\n+c\n b\n{mark}"
    assert applied(crlf(HEADER + body), {MODULE: source}) == {MODULE: source.replace("a", "c")}


@pytest.mark.parametrize(("patch_ending", "source_ending"), [("\n", "\r\n"), ("\r\n", "\n")])
def test_line_endings_are_part_of_a_line(patch_ending: str, source_ending: str) -> None:
    text = (HEADER + HUNK).replace("\n", patch_ending)
    error = refusal(text, {MODULE: SOURCE.replace("\n", source_ending)})
    assert isinstance(error, StalePatch)
    expected, there = "def run(cap):" + patch_ending, "def run(cap):" + source_ending
    assert str(error) == f"s01.patch:4: {MODULE} line 1: expected {expected!r}, there is {there!r}"


def test_mixed_line_endings_are_refused() -> None:
    mixed = HEADER + "@@ -1,2 +1,2 @@\n a\r\n-b\r\n+c\n"
    error = refusal(mixed, {MODULE: "a\r\nb\r\n"})
    assert str(error) == "s01.patch:6: expected CRLF as in the lines above, there is 'c\\n'"


# ------------------------------------------------------------------------------------------------------------- stale


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


# --------------------------------------------------------------------------------------------------------------- bad


@pytest.mark.parametrize(
    ("text", "line", "detail"),
    [
        ("", 1, "the patch is empty"),
        ("a sentence\n", 1, "expected the '---' line of a file, there is 'a sentence'"),
        (HEADER, 3, "expected the header of a hunk"),
        (f"--- a/{FILE}\n{HUNK}", 2, "expected the '+++' line of a file"),
        (GIT_HEADER, 3, "expected the '---' line of a file, there is the end of the patch"),
        (HEADER + HUNK + "a sentence\n", 12, "expected the '---' line of a file, there is 'a sentence'"),
        (HEADER + HUNK + "\n", 12, "expected the '---' line of a file, there is ''"),
        (HEADER + HUNK + "-- \n2.39.5\n", 12, "expected the end of the hunk"),
        ((HEADER + HUNK).removesuffix("\n"), 11, "expected a newline at the end of the patch"),
        (HEADER + HUNK.replace(" @@\n", "\n"), 3, "expected the header of a hunk"),
        (HEADER + HUNK.replace("@@", "@@@"), 3, "expected the header of a hunk"),
        (HEADER + HUNK.replace("-1,7", "-" + "1" * 5000), 3, "expected the header of a hunk"),
        (HEADER + HUNK.replace("-1,7 +1,7", "-0,7 +0,7"), 3, "expected lines counted from 1"),
        (HEADER + HUNK + HEADER + HUNK, 12, f"expected each file once, {MODULE} is here again"),
        (f"diff --git a/other.py b/other.py\n{HEADER}{HUNK}", 1, f"expected 'diff --git a/{FILE} b/{FILE}', there is"),
    ],
)
def test_what_is_no_patch_is_refused(text: str, line: int, detail: str) -> None:
    error = refusal(text)
    assert isinstance(error, BadPatch)
    assert error.line == line
    assert detail in str(error)


@pytest.mark.parametrize(
    ("counts", "line", "detail"),
    [
        ("-1,8 +1,7", 12, "expected 1 more old and 0 more new lines"),
        ("-1,7 +1,8", 12, "expected 0 more old and 1 more new lines"),
        ("-1,8 +1,8", 12, "there is the end of the patch"),
        ("-1,6 +1,7", 11, "expected no more old lines by the hunk's header, there is '        if ask():\\n'"),
        ("-1,7 +1,6", 11, "expected no more new lines by the hunk's header"),
        ("-1,6 +1,6", 11, "expected the end of the hunk, as its header counts its lines"),
        ("-1 +1,7", 5, "expected no more old lines"),
    ],
)
def test_counts_that_do_not_match_the_body_are_refused(counts: str, line: int, detail: str) -> None:
    error = refusal(HEADER + HUNK.replace("-1,7 +1,7", counts))
    assert isinstance(error, BadPatch)
    assert error.line == line
    assert detail in str(error)


def test_an_empty_line_inside_a_hunk_is_refused() -> None:
    error = refusal(HEADER + "@@ -1,3 +1,3 @@\n a\n\n-b\n+c\n", {MODULE: "a\n\nb\n"})
    assert isinstance(error, BadPatch)
    assert error.line == 5


def test_hunks_that_overlap_or_go_backwards_are_refused() -> None:
    first, second = "@@ -1,2 +1,2 @@\n-a\n+A\n b\n", "@@ -2,2 +2,2 @@\n b\n-c\n+C\n"
    error = refusal(HEADER + first + second, {MODULE: "a\nb\nc\n"})
    assert isinstance(error, BadPatch)
    assert str(error) == "s01.patch:7: expected a hunk below old line 2, this one starts at line 2 and overlaps"
    backwards = "@@ -4,2 +4,2 @@\n d\n-e\n+E\n"
    assert isinstance(refusal(HEADER + backwards + first, {MODULE: "a\nb\nc\nd\ne\n"}), BadPatch)


def test_hunks_that_touch_are_applied() -> None:
    text = HEADER + "@@ -1,2 +1,2 @@\n-a\n+A\n b\n@@ -3,2 +3,2 @@\n c\n-d\n+D\n"
    assert applied(text, {MODULE: "a\nb\nc\nd\n"}) == {MODULE: "A\nb\nc\nD\n"}


@pytest.mark.parametrize("places", ["-1,7 +2,7", "-2,7 +1,7"])
def test_a_hunk_whose_sides_disagree_about_its_place_is_refused(places: str) -> None:
    error = refusal(HEADER + HUNK.replace("-1,7 +1,7", places))
    assert isinstance(error, BadPatch)
    assert "it is out of place" in str(error)


def test_a_later_hunk_has_to_count_the_lines_that_an_earlier_one_added() -> None:
    first, second = "@@ -1,2 +1,3 @@\n a\n+A\n b\n", "@@ -3,2 +3,2 @@\n c\n-d\n+D\n"
    source = {MODULE: "a\nb\nc\nd\n"}
    assert isinstance(refusal(HEADER + first + second, source), BadPatch)
    assert applied(HEADER + first + second.replace("+3", "+4"), source) == {MODULE: "a\nA\nb\nc\nD\n"}


@pytest.mark.parametrize(
    "body",
    ["@@ -2,0 +3 @@\n+x\n", "@@ -2 +2 @@\n-b\n+x\n", "@@ -2,2 +2,2 @@\n-b\n+x\n c\n"],
    ids=["added", "changed", "c"],
)
def test_a_hunk_without_context_before_its_change_is_refused_below_line_one(body: str) -> None:
    error = refusal(HEADER + body, {MODULE: "a\nb\nc\n"})
    assert isinstance(error, BadPatch)
    assert error.line == 3
    assert "the hunk starts with the change" in str(error)


@pytest.mark.parametrize("body", ["@@ -1,2 +1,2 @@\n a\n b\n", "@@ -0,0 +0,0 @@\n"])
def test_a_hunk_without_a_change_is_refused(body: str) -> None:
    assert "expected added or removed lines" in str(refusal(HEADER + body, {MODULE: "a\nb\n"}))


def test_a_result_equal_to_the_original_is_refused() -> None:
    error = refusal(HEADER + "@@ -1,2 +1,2 @@\n-a\n+a\n b\n", {MODULE: "a\nb\n"})
    assert isinstance(error, BadPatch)
    assert str(error) == f"s01.patch:1: expected a change to {MODULE}, the result is the original"


def test_a_newline_may_be_left_out_at_the_end_of_the_file_alone() -> None:
    text = HEADER + "@@ -1,2 +1,2 @@\n-a\n+x\n\\ No newline at end of file\n b\n"
    error = refusal(text, {MODULE: "a\nb\n"})
    assert isinstance(error, BadPatch)
    assert "expected a newline after every line but the last" in str(error)


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        (f"diff --git a/{FILE} b/{FILE}\nnew file mode 100644\n--- /dev/null\n+++ b/{FILE}\n", "creates a file"),
        (f"diff --git a/{FILE} b/{FILE}\ndeleted file mode 100644\n--- a/{FILE}\n+++ /dev/null\n", "deletes a file"),
        (f"--- /dev/null\n+++ b/{FILE}\n", "creates or deletes one"),
        (f"--- a/{FILE}\n+++ /dev/null\n", "creates or deletes one"),
        (f"diff --git a/{FILE} b/{FILE}2\nsimilarity index 90%\nrename from {FILE}\n{HEADER}", "renames or copies"),
        (f"--- a/{FILE}\n+++ b/reference/looptck_reference/run.py\n", "under one name"),
        (f"diff --git a/{FILE} b/{FILE}\nold mode 100644\nnew mode 100755\n{HEADER}", "changes the mode"),
        (f"{GIT_HEADER}GIT binary patch\nliteral 3\n", "changes a binary file"),
        (f"{GIT_HEADER}Binary files a/{FILE} and b/{FILE} differ\n", "changes a binary file"),
    ],
)
def test_a_patch_that_does_more_than_change_lines_is_refused(header: str, reason: str) -> None:
    error = refusal(header + HUNK)
    assert isinstance(error, BadPatch)
    assert reason in str(error)


# ------------------------------------------------------------------------------------------------------------- files


def test_a_patch_is_loaded_from_a_folder_and_from_a_wheel_with_its_line_endings(tmp_path: Path) -> None:
    text = crlf(HEADER + HUNK)
    (tmp_path / "s01.patch").write_bytes(text.encode())
    with zipfile.ZipFile(tmp_path / "kit.whl", "w") as wheel:
        wheel.writestr("patches/s01.patch", text)
    with zipfile.ZipFile(tmp_path / "kit.whl") as wheel:
        for file in (tmp_path / "s01.patch", zipfile.Path(wheel, "patches/s01.patch")):
            patch = patchfile.load(file)
            assert patch.name == "s01.patch"
            assert patchfile.apply(patch, {MODULE: crlf(SOURCE)}) == {MODULE: crlf(MUTATED)}


def test_a_patch_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "s01.patch"
    file.write_bytes(HEADER.encode() + b"@@ -1 +1 @@\n-\xff\n+a\n")
    with pytest.raises(BadPatch, match=r"^s01\.patch:4: expected UTF-8, there is b'\\xff'$"):
        patchfile.load(file)


def test_inside_another_repository_the_patch_is_applied_where_git_silently_does_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "vendored" / FILE
    target.parent.mkdir(parents=True)
    target.write_text(SOURCE)
    file = tmp_path / "s01.patch"
    file.write_text(GIT_HEADER + HEADER + HUNK)
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)  # under a hook, git would be told of the repository that runs the tests
    git = shutil.which("git")
    assert git is not None
    subprocess.run([git, "init", "-q", str(tmp_path)], check=True)
    monkeypatch.chdir(tmp_path / "vendored")

    subprocess.run([git, "apply", str(file)], check=True, capture_output=True)
    assert target.read_text() == SOURCE  # the trap: success, and nothing is changed

    patch = patchfile.load(file)
    assert patchfile.apply(patch, {MODULE: target.read_text()}) == {MODULE: MUTATED}
    with pytest.raises(StalePatch):
        patchfile.apply(patch, {})
