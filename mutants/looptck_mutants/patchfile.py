"""Reads the patch of a mutant and applies it in memory: exactly, or not at all.

A patch that lands near its place, or that changes nothing, would make the kit report on a mistake that nobody made.
So there is one way for a patch to fit, and these are its rules:

1. A patch is what `git diff` or `diff -u` writes about Python modules of one package that exist before and after.
   Files created, deleted, renamed, re-moded or binary are refused, and so is every line that no rule accounts for.
2. A path counts from the last folder that bears the package's name, or ends with the one file that the package is, and
   stands for a module: `a/src/my_loops/ag03/loop.py` is `my_loops.ag03.loop`, and `b/src/my_loop.py` is `my_loop`.
3. A hunk has the lines that its header counts, stands on both sides where its header says, and overlaps no other.
4. Context and removed lines equal the lines at that very place, line endings included: no fuzz, no offset.
5. A hunk without context before its change starts the file; one without context after it ends the file.
6. The lines of the files end in LF, or all of them in CRLF.
7. Every file that a patch names comes out changed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from looptck_mutants.lines import NO_NEWLINE, lines_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from importlib.resources.abc import Traversable

__all__ = ["PACKAGE", "BadPatch", "FilePatch", "Hunk", "Patch", "PatchError", "StalePatch", "apply", "load", "parse"]

PACKAGE = "looptck_reference"
"""The package whose modules the mutants change."""

_HUNK_HEADER = re.compile(r"@@ -([0-9]{1,9})(?:,([0-9]{1,9}))? \+([0-9]{1,9})(?:,([0-9]{1,9}))? @@(?: .*)?")
_REFUSED = {
    "new file mode ": "creates a file",
    "deleted file mode ": "deletes a file",
    "old mode ": "changes the mode of a file",
    "new mode ": "changes the mode of a file",
    "similarity index ": "renames or copies a file",
    "dissimilarity index ": "rewrites a whole file",
    "rename from ": "renames a file",
    "copy from ": "copies a file",
    "GIT binary patch": "changes a binary file",
    "Binary files ": "changes a binary file",
    "Only in ": "creates or deletes a file",
}


class PatchError(Exception):
    """A patch that was not applied; its text is one line: patch, line of the patch, what was expected, what is there.

    `patch` is the patch's name, `line` the line of the patch, counted from 1.
    """

    def __init__(self, patch: str, line: int, detail: str) -> None:
        super().__init__(f"{patch}:{line}: {detail}")
        self.patch = patch
        self.line = line


class BadPatch(PatchError):  # noqa: N818 - named for the verdict it leads to
    """The patch is wrong in itself, whatever the sources say."""


class StalePatch(PatchError):  # noqa: N818 - named for the verdict it leads to
    """The patch is sound and does not fit the sources as they are."""


@dataclass(frozen=True, slots=True)
class BodyLine:
    """One line of a hunk: in both files (context), in the old one alone (removed) or in the new one alone (added).

    `text` has its line ending, unless it is a last line without one. `line` is its place in the patch, from 1.
    """

    line: int
    text: str
    in_old: bool
    in_new: bool

    @property
    def is_context(self) -> bool:
        """Whether the line stays as it is."""
        return self.in_old and self.in_new


@dataclass(frozen=True, slots=True)
class Hunk:
    """One block of lines; `old_at` and `new_at` count the lines before it in the old and in the new file."""

    line: int
    old_at: int
    new_at: int
    body: tuple[BodyLine, ...]

    @property
    def old_end(self) -> int:
        """The number of old lines before the end of the hunk."""
        return self.old_at + sum(line.in_old for line in self.body)

    @property
    def new_end(self) -> int:
        """The number of new lines before the end of the hunk."""
        return self.new_at + sum(line.in_new for line in self.body)


@dataclass(frozen=True, slots=True)
class FilePatch:
    """The hunks of one module, top to bottom; `path` is the patch's own name for its file."""

    line: int
    path: str
    module: str
    hunks: tuple[Hunk, ...]


@dataclass(frozen=True, slots=True)
class Patch:
    """A parsed patch: at least one module, none twice."""

    name: str
    files: tuple[FilePatch, ...]

    @property
    def modules(self) -> tuple[str, ...]:
        """The names of the modules that it changes, in the order of the patch."""
        return tuple(file.module for file in self.files)


def load(file: Traversable, *, package: str = PACKAGE) -> Patch:
    """Read and parse a patch file, of a checkout or of an installed wheel.

    Raises `BadPatch` as `parse` does and where the file is not UTF-8, and `OSError` where it cannot be read.
    """
    raw = file.read_bytes()
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise BadPatch(file.name, line, f"expected UTF-8, there is {raw[error.start : error.end]!r}") from None
    return parse(text, file.name, package=package)


def parse(text: str, name: str, *, package: str = PACKAGE) -> Patch:
    """Parse a unified diff against `package`, a folder or a file `my_loop.py`; `name` is what errors call the patch.

    Raises `BadPatch` for everything that the rules above refuse without seeing the sources.
    """
    lines = _PatchLines(text, name)
    files: list[FilePatch] = []
    while lines.peek() is not None:
        file = _read_file(lines, package)
        if any(file.module == other.module for other in files):
            raise BadPatch(name, file.line, f"expected each file once, {file.module} is here again")
        files.append(file)
    _check_endings(name, [line for file in files for hunk in file.hunks for line in hunk.body])
    return Patch(name, tuple(files))


def apply(patch: Patch, sources: Mapping[str, str]) -> dict[str, str]:
    """The new text of every module that the patch changes; `sources` maps module names to their present texts.

    Nothing is written anywhere. Raises `StalePatch` where a module is missing, a line differs, or the patch is applied
    already, and `BadPatch` where the result would be no different.
    """
    return {file.module: _apply_file(patch.name, file, sources) for file in patch.files}


class _PatchLines:
    """The lines of a patch, without their endings, read one after the other."""

    def __init__(self, text: str, name: str) -> None:
        lines = lines_of(text)
        if not lines:
            raise BadPatch(name, 1, "expected a unified diff, the patch is empty")
        if not lines[-1].endswith("\n"):
            raise BadPatch(name, len(lines), f"expected a newline at the end of the patch, there is {lines[-1]!r}")
        self.name = name
        # A diff of CRLF files has headers in LF; only a patch that was itself converted has none.
        self.ending = "\r\n" if all(line.endswith("\r\n") for line in lines) else "\n"
        self._lines = [line.removesuffix(self.ending) for line in lines]
        self._at = 0

    @property
    def number(self) -> int:
        """Where the next line stands, counted from 1."""
        return self._at + 1

    def peek(self) -> str | None:
        """The next line, which stays; None at the end."""
        return self._lines[self._at] if self._at < len(self._lines) else None

    def skip(self) -> None:
        """Go to the next line."""
        self._at += 1

    def starts_with(self, *prefixes: str) -> bool:
        """Whether there is a next line and it starts like this."""
        line = self.peek()
        return line is not None and line.startswith(prefixes)

    def expected(self, what: str, hint: str = "") -> BadPatch:
        """The error for a next line that is something else."""
        there = _shown(self.peek(), "the end of the patch")
        return BadPatch(self.name, self.number, f"expected {what}, there is {there}{hint}")


def _read_file(lines: _PatchLines, package: str) -> FilePatch:
    first = lines.number
    command = _skip_preamble(lines)
    old = _read_path(lines, "--- ", package)
    new = _read_path(lines, "+++ ", package)
    if _module_of(old, package) != _module_of(new, package):
        raise BadPatch(lines.name, lines.number - 1, f"expected the file {old!r} under one name, there is {new!r}")
    if command.startswith("diff --git ") and command != f"diff --git {old} {new}":
        raise BadPatch(lines.name, first, f"expected 'diff --git {old} {new}', there is {command!r}")
    hunks = [_read_hunk(lines)]
    while lines.starts_with("@@ "):
        hunks.append(_read_hunk(lines))
    _check_places(lines.name, hunks)
    return FilePatch(first, new, _module_of(new, package), tuple(hunks))


def _skip_preamble(lines: _PatchLines) -> str:
    """Pass the lines that only say which command wrote the diff; return the command, empty where none is named."""
    command = ""
    if lines.starts_with("diff "):
        command = lines.peek() or ""
        lines.skip()
        if lines.starts_with("index "):
            lines.skip()
    for prefix, what in _REFUSED.items():
        if lines.starts_with(prefix):
            raise lines.expected("lines changed in an existing file", hint=f", which {what}")
    return command


def _read_path(lines: _PatchLines, prefix: str, package: str) -> str:
    if not lines.starts_with(prefix):
        raise lines.expected(f"the {prefix.strip()!r} line of a file")
    path = (lines.peek() or "").removeprefix(prefix).partition("\t")[0]  # diff -u puts the file's time after a tab
    if path == "/dev/null":
        raise lines.expected("lines changed in an existing file", hint=", which creates or deletes one")
    if not _module_of(path, package):
        raise lines.expected(f"the path of {package if package.endswith('.py') else f'a Python module of {package}/'}")
    lines.skip()
    return path


def _module_of(path: str, package: str) -> str:
    """The module that a path of the patch stands for (rule 2); empty where it stands for none."""
    parts = path.removesuffix(".py").split("/")
    if package.endswith(".py"):
        return parts[-1] if path.rsplit("/", 1)[-1] == package else ""
    if not path.endswith(".py") or package not in parts[:-1]:
        return ""
    last = len(parts) - 1 - parts[::-1].index(package)
    inside = parts[last:-1] if parts[-1] == "__init__" else parts[last:]
    return ".".join(inside) if all(part.isidentifier() for part in inside) else ""


def _read_hunk(lines: _PatchLines) -> Hunk:
    header = _HUNK_HEADER.fullmatch(lines.peek() or "")
    if header is None:
        raise lines.expected("the header of a hunk, '@@ -line,count +line,count @@'")
    line = lines.number
    old_start, old_count, new_start, new_count = (1 if field is None else int(field) for field in header.groups())
    # By convention an empty side names the line before it, any other side its own first line.
    old_at, new_at = old_start - (old_count > 0), new_start - (new_count > 0)
    if min(old_at, new_at) < 0:
        raise lines.expected("lines counted from 1")
    lines.skip()
    body = _read_body(lines, old_count, new_count)
    if all(entry.is_context for entry in body):
        raise BadPatch(lines.name, line, "expected added or removed lines, there are none in this hunk")
    if not body[0].is_context and old_at > 0:
        detail = f"expected context before the change at line {old_at + 1}, the hunk starts with the change"
        raise BadPatch(lines.name, line, detail)
    return Hunk(line, old_at, new_at, body)


def _read_body(lines: _PatchLines, old_left: int, new_left: int) -> tuple[BodyLine, ...]:
    body = []
    while old_left or new_left:
        if not lines.starts_with(" ", "-", "+"):
            left = f"{old_left} more old and {new_left} more new lines, each after ' ', '-' or '+'"
            raise lines.expected(f"{left}, as the hunk's header counts them")
        entry = _body_line(lines)
        old_left -= entry.in_old
        new_left -= entry.in_new
        if min(old_left, new_left) < 0:
            detail = f"expected no more {'old' if old_left < 0 else 'new'} lines by the hunk's header, there is "
            raise BadPatch(lines.name, entry.line, detail + repr(entry.text))
        body.append(entry)
    if lines.starts_with(" ", "+", "-", "\\") and not lines.starts_with("--- "):
        raise lines.expected("the end of the hunk, as its header counts its lines")
    return tuple(body)


def _body_line(lines: _PatchLines) -> BodyLine:
    number, line = lines.number, lines.peek() or ""
    lines.skip()
    ending = lines.ending
    if lines.starts_with(NO_NEWLINE):
        lines.skip()
        ending = ""
    return BodyLine(number, line[1:] + ending, in_old=line[0] != "+", in_new=line[0] != "-")


def _check_places(name: str, hunks: Sequence[Hunk]) -> None:
    """Raise `BadPatch` unless the hunks follow each other and agree about where both files are (rule 3)."""
    old_end = new_end = 0
    for hunk in hunks:
        if hunk.old_at < old_end:
            detail = f"expected a hunk below old line {old_end}, this one starts at line {hunk.old_at + 1} and overlaps"
            raise BadPatch(name, hunk.line, detail)
        new_at = new_end + hunk.old_at - old_end
        if hunk.new_at != new_at:
            detail = f"expected {new_at} new lines above this hunk, its header says {hunk.new_at}: it is out of place"
            raise BadPatch(name, hunk.line, detail)
        old_end, new_end = hunk.old_end, hunk.new_end


def _check_endings(name: str, body: Sequence[BodyLine]) -> None:
    """Raise `BadPatch` where LF and CRLF are mixed (rule 6)."""
    ended = [line for line in body if line.text.endswith("\n")]
    for line in ended:
        if line.text.endswith("\r\n") != ended[0].text.endswith("\r\n"):
            kind = "CRLF" if ended[0].text.endswith("\r\n") else "LF"
            raise BadPatch(name, line.line, f"expected {kind} as in the lines above, there is {line.text!r}")


def _apply_file(name: str, file: FilePatch, sources: Mapping[str, str]) -> str:
    if file.module not in sources:
        raise StalePatch(name, file.line, f"expected a module {file.module}, there is none")
    source = sources[file.module]
    try:
        result = _replay(name, file, source)
    except StalePatch as stale:
        if _fits(name, _reversed(file), source):
            detail = f"expected {file.module} without the change, the patch is already applied"
            raise StalePatch(name, stale.line, detail) from None
        raise
    if result == source:
        raise BadPatch(name, file.line, f"expected a change to {file.module}, the result is the original")
    return result


def _replay(name: str, file: FilePatch, source: str) -> str:
    """The source with every hunk done, where every old line is what the patch says it is."""
    lines = lines_of(source)
    done: list[str] = []
    at = 0
    for hunk in file.hunks:
        done += lines[at : hunk.old_at]
        at = hunk.old_at
        for entry in hunk.body:
            if entry.in_old:
                _check_line(name, file, entry.line, at, expected=entry.text, lines=lines)
                at += 1
            if entry.in_new:
                done.append(entry.text)
        if not hunk.body[-1].is_context:
            _check_line(name, file, hunk.body[-1].line, at, expected=None, lines=lines)
    done += lines[at:]
    if not all(line.endswith("\n") for line in done[:-1]):
        detail = f"expected a newline after every line but the last of {file.module}, the patch leaves one out"
        raise BadPatch(name, file.line, detail)
    return "".join(done)


def _check_line(name: str, file: FilePatch, line: int, at: int, *, expected: str | None, lines: Sequence[str]) -> None:
    """Raise `StalePatch` unless `lines[at]` is the expected one; None expects the end of the file."""
    there = lines[at] if at < len(lines) else None
    if there != expected:
        end = "the end of the file"
        where = f"{file.module} line {at + 1}"
        raise StalePatch(name, line, f"{where}: expected {_shown(expected, end)}, there is {_shown(there, end)}")


def _reversed(file: FilePatch) -> FilePatch:
    """The patch that undoes this one."""
    hunks = []
    for hunk in file.hunks:
        body = tuple(replace(entry, in_old=entry.in_new, in_new=entry.in_old) for entry in hunk.body)
        hunks.append(Hunk(hunk.line, hunk.new_at, hunk.old_at, body))
    return replace(file, hunks=tuple(hunks))


def _fits(name: str, file: FilePatch, source: str) -> bool:
    try:
        _replay(name, file, source)
    except PatchError:
        return False
    return True


def _shown(line: str | None, end: str) -> str:
    return end if line is None else repr(line)
