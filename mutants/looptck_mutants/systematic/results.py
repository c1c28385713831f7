"""What mutmut found, read from its files: each mutant, its place, its change, and what our plugin recorded of it."""

from __future__ import annotations

import ast
import json
import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from looptck_mutants.lines import diff_of, lines_of
from looptck_mutants.systematic.recording import CLEAN, record_file
from looptck_mutants.systematic.settings import MUTATED, STATS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from looptck_mutants.outcome import Fate

_TIMEOUTS = {-24, 24, 36, 152, 255}
_NO_TESTS = {5, 33}
_FAILED = 1
_NAME = re.compile(r"x(?:_|ǁ(?P<owner>[^ǁ]*)ǁ)(?P<name>.*)__mutmut_(?P<number>\d+)")
_NODES = (ast.FunctionDef, ast.AsyncFunctionDef)


class ResultsError(Exception):
    """Results that do not have the form of the version that was looked for; the text is one line."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """What the tests said of a mutant, by check or by test: what failed, what could not be judged, faults.

    `errors` are of tests that failed otherwise than by an assertion.
    """

    failed: tuple[str, ...] = ()
    unjudged: Mapping[str, str] = field(default_factory=dict)
    faults: Mapping[str, str] = field(default_factory=dict)
    errors: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Found:
    """A mutant. `place` is its file, `function` is `module.Class.name`; `diff` is a unified diff against the file.

    `exit_code` is that of its tests, None where they did not run.
    """

    place: str
    function: str
    number: int
    diff: str
    exit_code: int | None
    recorded: Recorded

    @property
    def id(self) -> str:
        """Its id in reports: it changes with the function."""
        inside = self.function.partition(".")[2]
        return f"m-{inside}-{self.number}"

    @property
    def change(self) -> str:
        """The lines that it takes out and puts in, without indentation: what it is known by."""
        return change_of(self.diff)

    def fate(self) -> tuple[Fate, str]:
        """What became of it, and a remark."""
        if self.exit_code in _NO_TESTS:
            return "survived", "no test reaches it"
        if self.exit_code is None:
            return "broken", "mutmut has not run it"
        if self.recorded.failed:
            return "killed", ""
        return self._got_away()

    def _got_away(self) -> tuple[Fate, str]:
        """Likewise, where it ran and nothing failed by an assertion."""
        recorded = self.recorded
        if recorded.unjudged:
            check, message = next(iter(recorded.unjudged.items()))
            return "timeout", f"{check} could not be judged: {message}"
        if self.exit_code in _TIMEOUTS:
            return "timeout", "the run was stopped, and nothing had failed before"
        if self.exit_code == 0:
            return "survived", "nothing failed"
        if self.exit_code == _FAILED and recorded.errors:
            test, message = next(iter(recorded.errors.items()))
            first = next(iter(message.splitlines()), "")
            return "survived", f"{test} ended with an error, which is no assertion: {first}"
        return "broken", f"the run ended with {self.exit_code}, and no test said anything"


def module_of(place: str) -> str:
    """The name of the module of a file."""
    return place.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def change_of(diff: str) -> str:
    """The changed lines of a unified diff, or of an entry that was made from one."""
    lines = [line for line in lines_of(diff) if line[:1] in {"-", "+"} and line[:4] not in {"--- ", "+++ "}]
    return "\n".join(f"{line[0]} {line[1:].strip()}" for line in lines)


def read_results(stage: Path, places: Iterable[str]) -> list[Found]:
    """Every mutant of these files, in the order of the files' functions. Raises `ResultsError`."""
    found: list[Found] = []
    for place in places:
        try:
            meta = json.loads((stage / MUTATED / f"{place}.meta").read_text(encoding="utf-8"))
            file = _File(place, _read(stage / place), _read(stage / MUTATED / place))
            codes: dict[str, int | None] = meta["exit_code_by_key"]
            found += [_found(stage, file, key, code) for key, code in codes.items()]
        except (OSError, ValueError, KeyError, SyntaxError) as error:
            raise ResultsError(f"the results of mutmut for {place} cannot be read: {error!r}") from None
    return found


def read_tests(stage: Path) -> list[str]:
    """The tests that mutmut ran, in their order. Raises `ResultsError`."""
    try:
        return list(json.loads((stage / MUTATED / STATS).read_text(encoding="utf-8"))["duration_by_test"])
    except (OSError, ValueError, KeyError) as error:
        raise ResultsError(f"the statistics of mutmut cannot be read: {error!r}") from None


def read_recorded(stage: Path, mutant: str = CLEAN) -> Recorded:
    """What our plugin recorded of a mutant, or of the unmutated loop."""
    told: dict[str, list[str]] = {}
    file = record_file(stage, "" if mutant == CLEAN else mutant)
    if file.is_file():
        for line in file.read_text(encoding="utf-8").splitlines(keepends=True):
            if line.endswith("\n"):  # else the run was ended while it was written
                told |= json.loads(line)
    by_verdict: dict[str, dict[str, str]] = {"fail": {}, "incomplete": {}, "fault": {}, "error": {}}
    for check, (verdict, message) in told.items():
        by_verdict[verdict][check] = message
    failed, incomplete, fault, error = by_verdict.values()
    return Recorded(tuple(sorted(failed)), incomplete, fault, error)


def _found(stage: Path, file: _File, key: str, code: int | None) -> Found:
    name = key.rpartition(".")[2]
    parts = _NAME.fullmatch(name)
    if parts is None:
        raise ValueError(key)
    function = ".".join(filter(None, (module_of(file.place), parts["owner"], parts["name"])))
    diff = file.diff(parts["owner"] or "", parts["name"], name)
    ran = code is not None and code not in _NO_TESTS  # else the records are of an earlier run
    recorded = read_recorded(stage, key) if ran else Recorded()
    return Found(file.place, function, int(parts["number"]), diff, code, recorded)


@dataclass(frozen=True)
class _File:
    """A module beside what mutmut made of it: each function once as it was, and once for each mutant."""

    place: str
    source: str
    generated: str

    def diff(self, owner: str, name: str, mutant: str) -> str:
        """The change of a mutant, as if it had been made in the source."""
        copy = self._copies[mutant.rpartition("__mutmut_")[0] + "__mutmut_orig"]
        old = [text.replace(copy.name, name) for text in self._text(copy)]
        changed = self._copies[mutant]
        new = [text.replace(changed.name, name) for text in self._text(changed)]
        for node in _functions(self._tree, owner):
            start, end = node.lineno - 1, node.end_lineno
            if node.name == name and [_ended(line) for line in self._lines[start:end]] == old:
                if not self._lines[end - 1].endswith("\n"):  # the end of the source, which stays as it is
                    new[-1] = new[-1].removesuffix("\n")
                return diff_of(self._lines, [*self._lines[:start], *new, *self._lines[end:]], self.place)
        raise KeyError(name)

    @cached_property
    def _lines(self) -> list[str]:
        return lines_of(self.source)

    @cached_property
    def _tree(self) -> ast.Module:
        return ast.parse(self.source)

    @cached_property
    def _generated(self) -> list[str]:
        return [_ended(line) for line in lines_of(self.generated)]

    @cached_property
    def _copies(self) -> dict[str, Any]:
        return {node.name: node for node in ast.walk(ast.parse(self.generated)) if isinstance(node, _NODES)}

    def _text(self, node: Any) -> list[str]:
        return self._generated[node.lineno - 1 : node.end_lineno]


def _ended(line: str) -> str:
    """With a newline, for where the last line of a file has none."""
    return line if line.endswith("\n") else f"{line}\n"


def _functions(tree: ast.Module, owner: str) -> Iterator[Any]:
    """The functions of a class, or of the module itself."""
    bodies = [node.body for node in tree.body if isinstance(node, ast.ClassDef) and node.name == owner]
    for body in bodies if owner else [tree.body]:
        yield from (node for node in body if isinstance(node, _NODES))


def _read(file: Path) -> str:
    return file.read_text(encoding="utf-8")
