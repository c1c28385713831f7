"""A suite of somebody's tests: where it lies, and the copies of it in which it is run."""

from __future__ import annotations

import configparser
import os
import shutil
import tomllib
from dataclasses import dataclass
from pathlib import Path

_LEFT_OUT = frozenset(
    {"__pycache__", ".git", ".hg", ".svn", ".venv", "venv", ".tox", ".nox", "node_modules", ".pytest_cache"}
    | {".mypy_cache", ".ruff_cache", ".hypothesis", ".DS_Store"}
)
"""What is not copied."""
_QUIET = ("-W", "ignore::pytest.PytestAssertRewriteWarning")
"""Plugins are imported before pytest is told of them."""
_FILES, _BYTES = 2_000, 20_000_000
"""What a suite may hold: every run has a copy of it."""
_SETTINGS = {
    "pytest.toml": ("pytest",),
    ".pytest.toml": ("pytest",),
    "pytest.ini": ("pytest",),
    ".pytest.ini": ("pytest",),
    "pyproject.toml": ("tool", "pytest"),
    "tox.ini": ("pytest",),
    "setup.cfg": ("tool:pytest",),
}
"""The files that may hold pytest's settings, in the order in which it looks for them, and the place in each."""


class NoSuiteError(Exception):
    """There is no suite that could be run; the text is one line that says why."""


@dataclass(frozen=True, slots=True)
class Suite:
    """A suite as it was when it was read: `name` is what the user wrote.

    `folder` is a copy of its folder, `file` the file in it that is to be collected, "" for all of it. `settings` is the
    file in it with pytest's settings, "" for none.
    """

    name: str
    folder: Path
    file: str
    settings: str

    def lay(self, place: Path) -> list[str]:
        """Copy it into the folder of a run, for its working folder `suite`. Returns what pytest is told."""
        shutil.copytree(self.folder, place / "suite", symlinks=True)
        settings = place / "suite" / self.settings
        if not self.settings:
            settings = place / "pytest.ini"
            settings.write_text("[pytest]\npython_files = test*.py *_test.py\n", encoding="utf-8")
        root = place / "suite"
        told = [
            "-c",
            str(settings),
            "--rootdir",
            str(root),
            "--maxfail=0",
            "--continue-on-collection-errors",
            "-q",
            "--tb=no",
        ]
        return [*told, *_QUIET, "-p", "no:cacheprovider", "-p", "looptck.pytest_subject", str(root / self.file)]


def read_suite(name: str, place: Path) -> Suite:
    """Copy the suite of a file or folder into `place`, so that it stays as it is now. Raises `NoSuiteError`."""
    path = Path(name)
    try:
        if not path.exists():
            raise NoSuiteError(f"{name}: there is no such file or folder")
        path = path.resolve()  # of a link to a file, the folder and the name are those of the file
        if path.is_file() and path.suffix != ".py":
            raise NoSuiteError(f"{name} is no Python file; name a file or a folder with tests")
        folder = path if path.is_dir() else path.parent
        _measure(name, folder)
        shutil.copytree(folder, place / "suite", symlinks=True, ignore=_left_out)
        settings = next((file for file in _SETTINGS if _has_settings(folder / file)), "")
    except (OSError, ValueError, shutil.Error) as error:
        raise NoSuiteError(f"{name}: {getattr(error, 'strerror', None) or error}") from None
    return Suite(name, place / "suite", "" if path.is_dir() else path.name, settings)


def _left_out(_folder: str, names: list[str]) -> set[str]:
    return {name for name in names if name in _LEFT_OUT or name.endswith(".pyc")}


def _measure(name: str, folder: Path) -> None:
    """Raise `NoSuiteError` where the folder is too large to be copied for each run."""
    files = size = 0
    for root, folders, names in os.walk(folder):
        folders[:] = [each for each in folders if each not in _LEFT_OUT]
        files += len(names)
        size += sum((Path(root) / each).lstat().st_size for each in names)
        if files > _FILES or size > _BYTES:
            raise NoSuiteError(
                f"{name}: {folder} holds more than {_FILES:,} files or {_BYTES // 1_000_000} MB, and is copied for "
                "each run; put the tests into a folder of their own"
            )


def _has_settings(file: Path) -> bool:
    """Whether pytest would take its settings from this file."""
    if not file.is_file():
        return False
    place = _SETTINGS[file.name]
    if file.name in {"pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml"}:
        return True
    try:
        if file.suffix == ".toml":
            tool = tomllib.loads(file.read_text(encoding="utf-8")).get(place[0], {})
            return isinstance(tool, dict) and place[1] in tool
        parser = configparser.ConfigParser(interpolation=None)
        parser.read(file, encoding="utf-8")
        return parser.has_section(place[0])
    except (ValueError, configparser.Error):
        return False
