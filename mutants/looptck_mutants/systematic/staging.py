"""The stage: a scratch copy of a loop and its tests, with mutmut's settings, so that nothing of a user's changes.

mutmut writes into a folder of its working folder, names modules by their paths below it, and takes the tests from
inside it. So the stage has, at its top, the file or the package, `tests`, and a `pyproject.toml`. A stage that is kept
holds the results of the last run: mutmut finds out itself which functions were edited, and what it cannot see starts
the stage, or the results of a module, anew.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import platform
import shutil
from contextlib import suppress
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from looptck import __version__
from looptck_mutants.systematic.settings import MUTATED, SETTINGS, STATS, Settings, read_settings
from looptck_mutants.systematic.subject import SUITE, TESTS, Subject

if TYPE_CHECKING:
    from collections.abc import Iterator

LIMIT = 5.0
"""Seconds for a scenario. One that spins is not stopped by the kit, which runs in the same process, but by mutmut."""
CONSTANT, MULTIPLIER = 3.0, 5.0
"""mutmut gives a mutant (seconds of its tests + the first) times the second."""
_RECORDING, _JUDGING = ("looptck_mutants.systematic", "looptck_mutants.suites"), ("looptck", "looptck_fakes")
"""The packages of the kit that take part in each run (what is an assertion is said in `suites`), and those that do
where the suite judges."""
_SUITE_FILE = b"from looptck_mutants.systematic.items import pytest_generate_tests, test_suite\n"


class StageError(Exception):
    """A folder that cannot be used as a stage; the text is one line."""


def make_stage(subject: Subject, folder: Path, seed: int | None, drawn: int) -> Settings:
    """Copy the subject into the folder, and say what the processes in it are to know.

    Where the folder has the results of an earlier run, they stay as far as they hold: files that are the same are not
    written again. Such a stage keeps its seed, unless `seed` says another; else it is `drawn`. Raises `StageError`.
    """
    known = _known(folder)
    chosen = seed if seed is not None else known.seed if known is not None else drawn
    key = _key(subject, chosen)
    settings = Settings(subject.profile, subject.loop, chosen, LIMIT, key)
    try:
        if known is None or known.key != key:
            _clear(folder)
        _copy(subject, folder)
        settings.write(folder)
    except OSError as error:
        raise StageError(f"{folder}: {error.strerror}") from None
    return settings


def _known(folder: Path) -> Settings | None:
    """The settings of the stage that is there, None for a new or empty folder. Raises `StageError` for any other."""
    try:
        return read_settings(folder)
    except (OSError, ValueError):
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise StageError(f"{folder} is no stage of an earlier run, and not empty: give another folder") from None
        return None


def _clear(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def _copy(subject: Subject, folder: Path) -> None:
    """Write what differs. mutmut goes by the times of files: one that is written is looked at again."""
    for place in subject.mutated:
        _forget(folder, place, subject.files[place])
    wanted = {**subject.files, **_tests(subject), "pyproject.toml": _pyproject(subject).encode()}
    for place, content in wanted.items():
        file = folder / place
        if not file.is_file() or file.read_bytes() != content:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
    with suppress(FileNotFoundError):  # which tests reach which function is learnt anew in each run
        (folder / MUTATED / STATS).unlink()


def _tests(subject: Subject) -> dict[str, bytes]:
    return dict(subject.tests) or {f"{TESTS}/{SUITE}": _SUITE_FILE}


def _forget(folder: Path, place: str, content: bytes) -> None:
    """Drop the results of a module where something changed that mutmut does not compare: all but what it mutates."""
    old, meta = folder / place, folder / MUTATED / f"{place}.meta"
    try:
        compared = set(json.loads(meta.read_text(encoding="utf-8"))["hash_by_function_name"])
        same = outline(old.read_text(encoding="utf-8"), compared) == outline(content.decode(), compared)
    except (OSError, ValueError, KeyError, SyntaxError):
        same = False
    if not same:
        for file in (meta, folder / MUTATED / place):
            with suppress(FileNotFoundError):
                file.unlink()


def outline(source: str, compared: set[str]) -> str:
    """A module without the functions of these names, as mutmut writes them. Raises `SyntaxError`."""
    tree = ast.parse(source)
    for body, prefix in _bodies(tree):
        body[:] = [node for node in body if f"{prefix}{getattr(node, 'name', '')}" not in compared]
    return ast.dump(tree)


def _bodies(tree: ast.Module) -> Iterator[tuple[list[ast.stmt], str]]:
    """Where functions stand that mutmut looks at, with what it puts before their names."""
    yield tree.body, "x_"
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield node.body, f"xǁ{node.name}ǁ"


def _key(subject: Subject, seed: int) -> str:
    """Changes with everything that a verdict rests on, but the modules that are mutated."""
    digest = hashlib.sha256()
    facts = [__version__, platform.python_version(), version("mutmut"), subject.profile, subject.loop, str(seed)]
    digest.update(json.dumps([*facts, sorted(subject.mutated), sorted(subject.files)]).encode())
    rest = {place: content for place, content in subject.files.items() if place not in subject.mutated}
    for files in (rest, _tests(subject), _kit(suite=not subject.tests), _beside(subject)):
        for place, content in sorted(files.items()):
            digest.update(f"{place}\n{len(content)}\n".encode() + content)
    return digest.hexdigest()


def _beside(subject: Subject) -> dict[str, bytes]:
    """The modules that the subject may import from beside it; virtual environments and stages are none."""
    own = {place.partition("/")[0] for place in subject.files}
    if subject.beside is None:
        return {}
    found = {}
    for name, folders, files in os.walk(subject.beside):
        folder = Path(name)
        if {"pyvenv.cfg", SETTINGS} & set(files):
            folders.clear()
            continue
        top = own if folder == subject.beside else set()
        folders[:] = [inner for inner in folders if inner.isidentifier() and inner not in {"__pycache__", *top}]
        for file in (folder / inner for inner in files if inner.endswith(".py") and inner not in top):
            with suppress(OSError):  # whoever cannot read it cannot import it
                found[file.relative_to(subject.beside).as_posix()] = file.read_bytes()
    return found


def _kit(*, suite: bool) -> dict[str, bytes]:
    """The files of the kit that a verdict rests on."""
    found = {}
    for package in (*_RECORDING, *(_JUDGING if suite else ())):
        spec = find_spec(package)
        for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
            for file in Path(folder).rglob("*"):
                if file.suffix in {".py", ".toml"}:
                    found[f"{package}/{file.relative_to(folder).as_posix()}"] = file.read_bytes()
    return found


def _pyproject(subject: Subject) -> str:
    """The settings of mutmut. Later options of pytest win: mutmut itself asks for the first failure only."""
    top = sorted({place.partition("/")[0] for place in subject.mutated})
    plugin = "looptck_mutants.systematic.recording"
    options = ["-p", plugin, "-p", "no:cacheprovider", "--maxfail=100000"]
    lines = {
        "source_paths": top,
        "only_mutate": list(subject.mutated),
        "pytest_add_cli_args": options,
        "pytest_add_cli_args_test_selection": [TESTS],
        "timeout_constant": CONSTANT,
        "timeout_multiplier": MULTIPLIER,
        "use_git_change_detection": False,
    }
    settings = "".join(f"{name} = {json.dumps(value, ensure_ascii=False)}\n" for name, value in lines.items())
    return f"[tool.mutmut]\n{settings}\n[tool.pytest.ini_options]\n"
