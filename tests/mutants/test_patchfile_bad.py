"""Bad patches: what is no patch, contradicts itself or does more than change lines is refused with its reason."""

from __future__ import annotations

import pytest
from tests.mutants.patching import FILE, GIT_HEADER, HEADER, HUNK, MODULE, applied, refusal

from looptck_mutants.patchfile import BadPatch


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
