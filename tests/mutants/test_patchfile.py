"""The strict applier, rule by rule: what fits exactly is read and applied."""

from __future__ import annotations

import os
import shutil
import subprocess
import zipfile
from typing import TYPE_CHECKING

import pytest

from looptck_mutants import patchfile
from looptck_mutants.patchfile import BadPatch, StalePatch

if TYPE_CHECKING:
    from pathlib import Path
from tests.mutants.patching import FILE, GIT_HEADER, HEADER, HUNK, MODULE, MUTATED, SOURCE, applied, crlf, refusal

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


def test_a_module_of_one_file_may_be_named() -> None:
    text = "--- a/mine/mine.py\n+++ b/mine/mine.py\n" + HUNK
    patch = patchfile.parse(text, "s01.patch", package="mine.py")
    assert patchfile.apply(patch, {"mine": SOURCE}) == {"mine": MUTATED}


@pytest.mark.parametrize("path", ["a/mine", "a/mine/loop.py", "a/mine.py/loop.py", "a/mine.pyx", "a/of_mine.py"])
def test_a_path_that_is_not_the_file_is_refused(path: str) -> None:
    with pytest.raises(BadPatch, match=r"^s01\.patch:1: expected the path of mine\.py, there is "):
        patchfile.parse(f"--- {path}\n+++ {path}\n{HUNK}", "s01.patch", package="mine.py")


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
