"""The strict applier against random texts: it undoes no diff, invents none, and forgives nothing."""

from __future__ import annotations

import difflib
import os
import re
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from tests.mutants.patching import FILE, MODULE

from looptck_mutants import patchfile
from looptck_mutants.patchfile import BadPatch, Patch, PatchError, StalePatch

if TYPE_CHECKING:
    from pathlib import Path

NO_NEWLINE = "\\ No newline at end of file\n"

# Few different lines, so that they repeat, and among them all that looks like a part of a diff.
LINE = st.sampled_from(
    ["", "a", "b", "    c", "-", "-- x", "++ x", "@@ -1 +1 @@", "\\ No newline", "é\x0c\u2028", "a\rb"]
)
# Neither a slow machine nor a busy one makes a patch wrong.
COMMON = settings(deadline=None, max_examples=200, suppress_health_check=[HealthCheck.too_slow])


def joined(lines: list[str], *, newline: bool) -> str:
    """The lines as one text, with or without a newline at its end; an empty last line is always ended."""
    text = "".join(f"{line}\n" for line in lines)
    return text if newline or text.endswith("\n\n") or text == "\n" else text.removesuffix("\n")


def lines_of(text: str) -> list[str]:
    return re.findall(r"[^\n]*\n|[^\n]+", text)


TEXT = st.builds(joined, st.lists(LINE, max_size=25), newline=st.booleans())


@st.composite
def edited(draw: st.DrawFn, source: st.SearchStrategy[list[str]]) -> tuple[str, str]:
    """A text, and the text after some of its lines were replaced, deleted or given company."""
    old = draw(source)
    new: list[str] = []
    for line in old:
        match draw(st.sampled_from(["keep", "keep", "keep", "keep", "drop", "double", "change", "insert"])):
            case "keep":
                new.append(line)
            case "double":
                new += [line, line]
            case "change":
                new.append(f"{line}!")
            case "insert":
                new += [draw(LINE), line]
    return joined(old, newline=draw(st.booleans())), joined(new, newline=draw(st.booleans()))


def made_different(pair: tuple[str, str]) -> tuple[str, str]:
    old, new = pair
    return (old, new) if old != new else (old, new + "one line more")


PAIR = st.one_of(st.tuples(TEXT, TEXT), edited(st.lists(LINE, max_size=40))).map(made_different)
UNIQUE_LINES = st.integers(1, 30).map(lambda count: [f"line {number}" for number in range(count)])
UNIQUE_PAIR = edited(UNIQUE_LINES).map(made_different)


def unified(old: str, new: str, context: int = 3, path: str = FILE) -> str:
    """The diff of two texts as `diff -u` writes it; difflib leaves out the marks for missing newlines."""
    diff = difflib.unified_diff(lines_of(old), lines_of(new), f"a/{path}", f"b/{path}", n=context)
    return "".join(line if line.endswith("\n") else f"{line}\n{NO_NEWLINE}" for line in diff)


def parsed(text: str) -> Patch:
    return patchfile.parse(text, "x.patch")


@COMMON
@given(pair=PAIR, context=st.integers(1, 5))
@example(pair=("", "a"), context=3)
@example(pair=("a\n", ""), context=3)
@example(pair=("a\n" * 20, "a\n" * 21), context=3)
@example(pair=("-- x\n" * 9, "-- x\n" * 3 + "++ x\n"), context=1)
def test_the_diff_of_two_texts_turns_the_one_into_the_other(pair: tuple[str, str], context: int) -> None:
    old, new = pair
    patch = parsed(unified(old, new, context))
    assert patchfile.apply(patch, {MODULE: old}) == {MODULE: new}


@COMMON
@given(pair=PAIR, converted=st.booleans())
def test_the_same_holds_for_texts_in_crlf(pair: tuple[str, str], *, converted: bool) -> None:
    old, new = (text.replace("\n", "\r\n") for text in pair)
    diff = unified(old, new)
    # A tool writes the headers in LF; a checkout that converts turns these, and the ends of unended lines, as well.
    text = re.sub(r"(?<!\r)\n", "\r\n", diff) if converted else diff
    assert patchfile.apply(parsed(text), {MODULE: old}) == {MODULE: new}


@COMMON
@given(first=PAIR, second=PAIR)
def test_a_patch_of_two_files_is_both_patches(first: tuple[str, str], second: tuple[str, str]) -> None:
    other = "looptck_reference.tools"
    patch = parsed(unified(*first) + unified(*second, path="looptck_reference/tools.py"))
    sources = {MODULE: first[0], other: second[0]}
    assert patchfile.apply(patch, sources) == {MODULE: first[1], other: second[1]}


@COMMON
@given(pair=PAIR, data=st.data())
def test_any_change_to_a_context_or_removed_line_makes_the_patch_stale(
    pair: tuple[str, str], data: st.DataObject
) -> None:
    old, new = pair
    assume(old)
    patch = parsed(unified(old, new))
    covered = [at for hunk in patch.files[0].hunks for at in range(hunk.old_at, hunk.old_end)]
    lines = lines_of(old)
    at = data.draw(st.sampled_from(covered))
    body, end = lines[at].removesuffix("\n"), "\n" if lines[at].endswith("\n") else ""
    lines[at] = data.draw(st.sampled_from([f"{body} {end}", f"{body}?{end}", f" {body}{end}", f"{body}\r{end}"]))
    with pytest.raises(StalePatch):
        patchfile.apply(patch, {MODULE: "".join(lines)})


@COMMON
@given(pair=UNIQUE_PAIR, data=st.data())
def test_a_line_more_or_less_above_or_in_a_hunk_makes_the_patch_stale(
    pair: tuple[str, str], data: st.DataObject
) -> None:
    old, new = pair
    patch = parsed(unified(old, new))
    lines = lines_of(old)
    at = data.draw(st.integers(0, patch.files[0].hunks[-1].old_end - 1))
    shifted = lines[:at] + data.draw(st.sampled_from([["one more\n", lines[at]], []])) + lines[at + 1 :]
    with pytest.raises(StalePatch):
        patchfile.apply(patch, {MODULE: "".join(shifted)})


@COMMON
@given(pair=UNIQUE_PAIR)
def test_an_applied_patch_does_not_apply_again(pair: tuple[str, str]) -> None:
    old, new = pair
    patch = parsed(unified(old, new))
    with pytest.raises(StalePatch, match="already applied"):
        patchfile.apply(patch, {MODULE: patchfile.apply(patch, {MODULE: old})[MODULE]})


@COMMON
@given(pair=PAIR, data=st.data())
def test_a_patch_that_lost_its_end_does_not_pass_for_the_whole(pair: tuple[str, str], data: st.DataObject) -> None:
    old, new = pair
    text = unified(old, new)
    cut = text[: data.draw(st.integers(0, len(text) - 1))]
    try:
        result = patchfile.apply(parsed(cut), {MODULE: old})
    except PatchError:
        return
    # What is left ends with a whole hunk, or is short of the mark that the new text has no newline at its end.
    left = text.removeprefix(cut)
    assert left.startswith(("@@ ", "\\ "))
    assert result[MODULE] != new


@COMMON
@given(pair=PAIR, data=st.data())
def test_whatever_is_done_to_a_patch_it_is_read_or_refused_in_one_line(
    pair: tuple[str, str], data: st.DataObject
) -> None:
    text = unified(*pair)
    at = data.draw(st.integers(0, len(text)))
    piece = data.draw(st.sampled_from(["", " ", "+", "-", "\n", "\r\n", "\\ ", "9", "@@ -1 +1 @@\n", "--- ", "diff "]))
    broken = text[:at] + piece + text[at + data.draw(st.integers(0, 20)) :]
    try:
        patchfile.apply(parsed(broken), {MODULE: pair[0]})
    except PatchError as error:
        assert re.fullmatch(r"x\.patch:[1-9][0-9]*: .+", str(error))  # noqa: PT017 - success is an answer as well


@COMMON
@given(text=st.text(max_size=200))
def test_random_text_is_no_patch(text: str) -> None:
    with pytest.raises(BadPatch):
        parsed(text)


@pytest.mark.parametrize("options", [(), ("-U1",), ("-W",), ("--patience",)], ids=" ".join)
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n", "a\nB\nc\nd\ne\nf\ng\nh\ni\nJ\n"),
        ("a\nb\nc", "a\nb\nc\n"),
        ("a\nb\nc\n", "a\nb\nc\nd"),
        ("", "a\nb\n"),
        ("a\nb\n", ""),
        ("-- a\n++ b\n", "++ b\n-- a\n"),
        ("def f():\n    x = 1\n    return x\n\n\ndef g():\n    return 2\n",) * 2,
        ("a\r\nb\r\nc", "a\r\nB\r\nc"),
    ],
    ids=["two hunks", "newline added", "newline lost", "filled", "emptied", "dashes", "code", "crlf"],
)
def test_what_git_diff_writes_is_applied(tmp_path: Path, old: str, new: str, options: tuple[str, ...]) -> None:
    new = new.replace("return x", "return x + 1")
    for side, text in (("a", old), ("b", new)):
        file = tmp_path / side / FILE
        file.parent.mkdir(parents=True)
        file.write_bytes(text.encode())
    git = shutil.which("git")
    assert git is not None
    others = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    quiet = others | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    command = [git, "diff", "--no-index", "--no-color", *options, "a", "b"]
    diff = subprocess.run(command, cwd=tmp_path, env=quiet, capture_output=True, check=False)
    assert diff.returncode == 1, diff.stderr
    assert patchfile.apply(parsed(diff.stdout.decode()), {MODULE: old}) == {MODULE: new}
