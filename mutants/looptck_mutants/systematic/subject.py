"""What is mutated, and by which tests it is judged: a reference loop, or a file or package of somebody's."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from looptck.target import DEFAULT_NAME, REFERENCES

if TYPE_CHECKING:
    from collections.abc import Mapping

REFERENCE = "looptck_reference"
MODULES = {
    "ag03": ("loop", "limits", "stream", "tracing"),
    "lesson4": ("metered", "meter"),
}
"""The modules of the reference that are the loop. The registries are none: the suite brings its own in their place."""
SUITE, TESTS = "test_looptck_suite.py", "tests"
"""The file in the stage's folder of tests that stands for the suite, and that folder."""
_TAKEN = {"mutants", "source", "src", TESTS}
"""Names with a meaning of their own at the top of mutmut's working folder."""
_NO_LOOP = ("test_*.py", "*_test.py", "conftest.py")


class SubjectError(Exception):
    """There is nothing like that to mutate; the text is one line that says why."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A loop and its tests.

    `loop` is `package.module:Name`. `files` and `tests` map places below the stage, with slashes, to contents;
    `mutated` are those of `files` that are changed. Without `tests` it is the suite of `profile` that judges;
    `given` and `given_tests` are what the user called the source and the tests. `beside` is the folder that `files`
    come from: what they import of it and is not among them is found there.
    """

    profile: str
    loop: str
    files: Mapping[str, bytes]
    mutated: tuple[str, ...]
    tests: Mapping[str, bytes] = field(default_factory=dict)
    beside: Path | None = None
    given: str = ""
    given_tests: str = ""

    @property
    def is_reference(self) -> bool:
        """Whether it is the kit's own loop."""
        return not self.given

    def sources(self) -> dict[str, str]:
        """The text of each module that is mutated, by its place in the stage. Raises `SubjectError`."""
        return {place: _text(place, self.files[place]) for place in self.mutated}


def reference_subject(profile: str) -> Subject:
    """The reference loop of a profile."""
    spec = find_spec(REFERENCE)
    assert spec is not None, "it is part of this distribution"  # noqa: S101 - narrows the type
    assert spec.submodule_search_locations, "a package"  # noqa: S101 - likewise
    files = _package(Path(next(iter(spec.submodule_search_locations))))
    return Subject(profile, REFERENCES[profile], files, tuple(f"{REFERENCE}/{name}.py" for name in MODULES[profile]))


def source_subject(source: str, profile: str, loop: str = "", tests: str = "") -> Subject:
    """A file or a package of somebody's.

    `loop` is `Name` or `package.module:Name`, by default the class `Agent` of the file or the package. `tests` is a
    file or a folder of tests for pytest. Raises `SubjectError`.
    """
    path = _existing("--source", source)
    name = path.stem if path.is_file() else path.name
    if not name.isidentifier() or name in _TAKEN or (path.is_file() and path.suffix != ".py"):
        raise SubjectError(f"--source {source}: give a file or a package that can be imported under its name")
    files = {path.name: path.read_bytes()} if path.is_file() else _package(path)
    mutated = tuple(place for place in files if place.endswith(".py") and not _is_test(place))
    if not mutated:
        raise SubjectError(f"--source {source}: there is no Python file in it")
    module, _, attribute = loop.rpartition(":")
    target = f"{module or name}:{attribute or DEFAULT_NAME}"
    return Subject(profile, target, files, mutated, _tests(tests) if tests else {}, path.parent, source, tests)


def _tests(tests: str) -> dict[str, bytes]:
    path = _existing("--tests", tests)
    files = {path.name: path.read_bytes()} if path.is_file() else _folder(path)
    return {f"{TESTS}/{place}": content for place, content in files.items()}


def _existing(option: str, text: str) -> Path:
    path = Path(text).resolve()
    if not path.exists():
        raise SubjectError(f"{option} {text}: there is no such file or folder")
    return path


def _package(folder: Path) -> dict[str, bytes]:
    return {f"{folder.name}/{place}": content for place, content in _folder(folder).items()}


def _folder(folder: Path) -> dict[str, bytes]:
    """The files of a folder but hidden ones and what Python and tools leave there."""
    found = {}
    for file in sorted(folder.rglob("*")):
        inside = file.relative_to(folder)
        if file.is_file() and not any(part == "__pycache__" or part.startswith(".") for part in inside.parts):
            found[inside.as_posix()] = file.read_bytes()
    return found


def _is_test(place: str) -> bool:
    return any(Path(place).match(pattern) for pattern in _NO_LOOP)


def _text(place: str, content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise SubjectError(f"{place} is not UTF-8") from None
