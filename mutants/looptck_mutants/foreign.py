"""Reads the manifest of a project that is not ours: somebody's loop, somebody's patches, with their tests or our suite.

    [project]
    profile = "ag03"
    loop = "my_loop.agent:Agent"
    package = "my_loop"
    root = "../src"
    tests = "../tests"
    known_failures = "known.toml"

    [[mutant]]
    id = "m01"
    title = "the cap is looked at after the call"
    patch = "m01-cap.patch"
    killer = { test = "test_cap.py::test_the_cap_holds" }

Paths are relative to the manifest. `package` is a package or a module of one file; the patches change it alone. It is
imported from `root`, where nothing is ever written. The entries are those of the kit's own manifests
(`looptck_mutants.manifest`); with `tests`, a killer is one of these and has no check. Without `tests` the suite of the
profile judges, and the checks that `known_failures` lists are left out.
"""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import field_validator, model_validator

from looptck.report.excuses import KnownFailuresError, load_known
from looptck.suite import PROFILES
from looptck.target import ADAPTER, UnknownTargetError, parse_target
from looptck_mutants.manifest import (
    MANIFEST,
    Killer,
    ManifestError,
    Mutants,
    Record,
    Text,
    check_entries,
    check_problems,
    hint,
    read_manifest,
)
from looptck_mutants.mutated_import import find, imported
from looptck_mutants.profiles import known_checks
from looptck_mutants.project import Project

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

__all__ = ["check_killers", "load_project"]

_LOOP = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")


class _Table(Record):
    """What the manifest says of the project."""

    profile: Text
    loop: Text
    package: Text
    root: Text
    tests: Text | None = None
    known_failures: Text | None = None

    @field_validator("profile")
    @classmethod
    def _known(cls, value: str) -> str:
        if value not in PROFILES:
            msg = f"there is no profile {value!r}; there are {' and '.join(PROFILES)}"
            raise ValueError(msg)
        return value

    @field_validator("loop")
    @classmethod
    def _by_import(cls, value: str) -> str:
        if not value.startswith(ADAPTER) and not _LOOP.fullmatch(value):
            msg = f"expected package.module:Name or {ADAPTER}NAME, there is {value!r}"
            raise ValueError(msg)
        try:
            parse_target(value, {})
        except UnknownTargetError as error:
            raise ValueError(str(error)) from None
        return value

    @field_validator("package")
    @classmethod
    def _top_level(cls, value: str) -> str:
        if not value.isidentifier():
            msg = f"expected the name of a top-level package or module, there is {value!r}"
            raise ValueError(msg)
        if imported(value):
            msg = f"the kit itself imports a package named {value!r}, which therefore cannot be mutated"
            raise ValueError(msg)
        return value

    @model_validator(mode="after")
    def _of_our_suite(self) -> _Table:
        if self.tests is not None and self.known_failures is not None:
            msg = "known_failures lists checks of our suite, and tests leaves the judging to others; take one out"
            raise ValueError(msg)
        return self


class _Manifest(Record):
    project: _Table
    mutant: Mutants


def load_project(given: str) -> Project:
    """The project whose manifest lies in the folder that the user gave. Nothing of it is imported.

    Raises `ManifestError`: at a manifest that cannot be read or is malformed, a folder or package that is not there, a
    file of known failures that is wrong, and at the first entry that is wrong.
    """
    folder, where = Path(given), manifest_of(given)
    manifest = read_manifest(folder, where, _Manifest)
    table = manifest.project
    try:
        root = _root(folder, table.root)
        tests = "" if table.tests is None else _checked(folder, "tests", table.tests)
        one_file = _is_one_file(table, root)
        known = {} if table.known_failures is None else load_known(str(folder / table.known_failures), table.profile)
    except KnownFailuresError as error:
        raise ManifestError(f"{where}: project: known_failures: {error}") from None
    except LookupError as error:
        raise ManifestError(f"{where}: project: {error.args[0]}") from None
    killers = _their_problems if tests else partial(_our_problems, table.profile, known)
    check_entries(folder, where, manifest.mutant, killers)
    project = Project(
        profile=table.profile,
        loop=table.loop,
        package=table.package,
        patches=folder,
        mutants=manifest.mutant,
        root=root,
        one_file=one_file,
        given=given,
        tests=tests,
        known=known,
    )
    try:
        project.sources()
    except UnicodeDecodeError as error:
        raise ManifestError(f"{where}: project: package: not UTF-8: {error.reason}") from None
    return project


def check_killers(project: Project, tests: Collection[str]) -> None:
    """Hold the killers against the tests that were found. Those that are checks of our suite were looked at before.

    Raises `ManifestError` at the first that is none of them.
    """
    names = {*tests, *(test.partition("[")[0] for test in tests)}
    for position, mutant in enumerate(project.mutants, start=1):
        killer = mutant.killer
        if killer is not None and not killer.check and not any(map(killer.means, tests)):
            entry = f"{manifest_of(project.given)}: mutant {position} ({mutant.id})"
            raise ManifestError(f"{entry}: killer.test: unknown test {killer.test!r}{hint(killer.test, names)}")


def manifest_of(given: str) -> str:
    """What errors call the manifest of a folder that the user gave."""
    return f"{given.rstrip('/')}/{MANIFEST}"


def _root(folder: Path, place: str) -> Path:
    """The folder of the package, as a whole path. Raises `LookupError`."""
    path = Path(_checked(folder, "root", place)).resolve()
    if not path.is_dir():
        msg = f"root: {place!r} is no folder"
        raise LookupError(msg)
    return path


def _checked(folder: Path, key: str, place: str) -> str:
    """The path of what a key names. Raises `LookupError` where there is nothing."""
    path = folder / place
    if not path.exists():
        msg = f"{key}: there is no {place!r} beside the manifest"
        raise LookupError(msg)
    return str(path)


def _is_one_file(table: _Table, root: Path) -> bool:
    """Whether the package is a module of one file. Raises `LookupError` where it is not there, or not of text."""
    package = table.package
    try:
        return find(package, root).submodule_search_locations is None
    except ModuleNotFoundError:
        msg = f"package: there is neither {package}/ nor {package}.py in the root {table.root!r}"
        raise LookupError(msg) from None


def _our_problems(profile: str, known: Mapping[str, str], killer: Killer) -> Iterator[str]:
    yield from check_problems(killer, known_checks(profile))
    if killer.check in known:
        yield f"check: {killer.check!r} is a known failure of the loop, and can kill nothing"


def _their_problems(killer: Killer) -> Iterator[str]:
    if killer.check:
        yield "check: with tests of your own a killer is one of these, and has no check"
