"""Serves the mutated text of modules to the import system in place of the files on disk.

Nothing is written: the package on disk stays as it is, and a forked child that imports it sees the mutant. Three ways
in which a child can run something else without noticing are closed here. A package that was imported before is refused,
for `import` would hand out the old modules. A served module is compiled from its text every time, so that no bytecode
of the file on disk, however well its time and size agree, is read for it or written. And where the package has a root,
the folder that it lies in, it is looked for there and nowhere else, whatever is installed under its name.

What is called a package here may also be a module of one file.
"""

from __future__ import annotations

import importlib.util
import io
import linecache
import os
import sys
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from types import CodeType, ModuleType

__all__ = [
    "AlreadyImported",
    "Serving",
    "elsewhere",
    "find",
    "imported",
    "installed_files",
    "installed_sources",
    "serving",
]


class AlreadyImported(RuntimeError):  # noqa: N818 - named for the fact that it reports
    """Modules of the package are in `sys.modules` already: what runs next would be the original, not the mutant."""

    def __init__(self, package: str, modules: Sequence[str]) -> None:
        super().__init__(f"{package} cannot be mutated, it is imported already: {', '.join(modules)}")
        self.package = package
        self.modules = tuple(modules)


class Serving:
    """What became of the texts that were to be served."""

    def __init__(self, sources: Mapping[str, str]) -> None:
        self._names = tuple(sources)
        self._served: list[str] = []

    def served(self) -> tuple[str, ...]:
        """The modules whose given text was executed to its end, in that order."""
        return tuple(self._served)

    def missing(self) -> tuple[str, ...]:
        """The modules whose given text was not executed to its end. Whatever ran, it was not the whole mutant."""
        return tuple(name for name in self._names if name not in self._served)

    def record(self, module: str) -> None:
        """Note that the text of a module was executed to its end."""
        if module not in self._served:
            self._served.append(module)


def find(package: str, root: Path | None = None) -> ModuleSpec:
    """Where a top-level package is, without importing it: in the folder `root`, or where it is installed.

    The spec of a module of one file has no `submodule_search_locations`. Raises `ModuleNotFoundError` where there is
    no such package, or no Python text of it.
    """
    _check_top_level(package)
    if root is None:
        spec = importlib.util.find_spec(package)
    else:
        PathFinder.invalidate_caches()
        spec = PathFinder.find_spec(package, [str(root)])
    if spec is None or (spec.submodule_search_locations is None and not (spec.origin or "").endswith(".py")):
        msg = f"no package named {package!r}"
        raise ModuleNotFoundError(msg, name=package)
    return spec


def installed_files(package: str, root: Path | None = None) -> dict[str, Path]:
    """The file of every Python module of a top-level package, by module name, without importing it.

    It is looked for as `find` does; `__init__.py` is the file of a package. A file that no import could name, since
    there is a dot in its name or in that of its folder, is none. Raises `ModuleNotFoundError` where there is no such
    package.
    """
    spec = find(package, root)
    if spec.submodule_search_locations is None:
        return {package: Path(str(spec.origin))}
    found: dict[str, Path] = {}
    for folder in map(Path, spec.submodule_search_locations):
        for file in sorted(folder.rglob("*.py")):
            inside = file.relative_to(folder).with_suffix("").parts
            parts = inside[:-1] if inside[-1] == "__init__" else inside
            if not any("." in part for part in parts):
                found.setdefault(".".join((package, *parts)), file)
    return found


def installed_sources(package: str, root: Path | None = None) -> dict[str, str]:
    """The text of each of these files, by module name. Line endings are kept.

    Raises `ModuleNotFoundError` as `installed_files` does, `UnicodeDecodeError` where a file is not UTF-8.
    """
    return {name: _text(file) for name, file in installed_files(package, root).items()}


@contextmanager
def serving(sources: Mapping[str, str], package: str, root: Path | None = None) -> Iterator[Serving]:
    """While it is open, imports of the modules in `sources` (name to text) execute these texts.

    With `root` the package is imported from that folder, which comes first on the path, and no bytecode is written.

    Each module keeps the `__file__`, the origin and, for a package, the search path of the installed one; tracebacks
    and `inspect.getsource` show the served text. Other modules of the package load as always. At the end the whole
    package is forgotten, so that a later import finds the original.

    Raises `AlreadyImported` where any module of the package is imported, `ValueError` where a source does not belong
    to the package or the package is not a top-level one.
    """
    _check_top_level(package)
    strangers = [name for name in sources if not _belongs(name, package)]
    if strangers:
        msg = f"not in {package}: {', '.join(strangers)}"
        raise ValueError(msg)
    if there := imported(package):
        raise AlreadyImported(package, there)
    log = Serving(sources)
    finder = _Finder(dict(sources), log, package, root)
    sys.meta_path.insert(0, finder)
    with _first_on_the_path(root):
        try:
            yield log
        finally:
            sys.meta_path.remove(finder)
            for name in imported(package):
                del sys.modules[name]
            for path in finder.paths:
                linecache.cache.pop(path, None)


@contextmanager
def _first_on_the_path(root: Path | None) -> Iterator[None]:
    """While it is open, other modules of the folder can be imported too, and nothing is written into it."""
    if root is None:
        yield
        return
    path, writes = list(sys.path), sys.dont_write_bytecode
    # A target puts the working folder first unless it is on the path already.
    sys.path[:0] = [str(root), os.getcwd()]  # noqa: PTH109 - path strings
    sys.dont_write_bytecode = True
    try:
        yield
    finally:
        sys.path[:], sys.dont_write_bytecode = path, writes


def imported(package: str) -> list[str]:
    """The modules of a package that are imported."""
    return sorted(name for name in sys.modules if _belongs(name, package))


def elsewhere(package: str, root: Path) -> list[str]:
    """The modules of a package that were imported from outside the folder `root`."""
    specs = {name: getattr(sys.modules[name], "__spec__", None) for name in imported(package)}
    return [name for name, spec in specs.items() if not _lies_in(spec, root)]


class _Finder(MetaPathFinder):
    """Finds the modules that are served, where the installed ones are."""

    def __init__(self, sources: Mapping[str, str], log: Serving, package: str, root: Path | None) -> None:
        self._sources = sources
        self._log = log
        self._package = package
        self._root = root
        self.paths: list[str] = []

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of a served module, or of one of a package with a root; None for others, and what is not there."""
        if fullname not in self._sources:
            return PathFinder.find_spec(fullname, self._where(path)) if self._rooted(fullname) else None
        installed = self._installed(fullname, path, target)
        if installed is None or installed.origin is None:
            return None
        self.paths.append(installed.origin)
        return importlib.util.spec_from_file_location(
            fullname,
            installed.origin,
            loader=_TextLoader(fullname, installed.origin, self._sources[fullname], self._log),
            submodule_search_locations=installed.submodule_search_locations,
        )

    def _installed(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None) -> ModuleSpec | None:
        """What the other finders say: editable installs bring their own."""
        if self._rooted(fullname):
            return PathFinder.find_spec(fullname, self._where(path))
        for finder in sys.meta_path:
            if finder is not self and (spec := finder.find_spec(fullname, path, target)) is not None:
                return spec
        return None

    def _rooted(self, fullname: str) -> bool:
        return self._root is not None and _belongs(fullname, self._package)

    def _where(self, path: Sequence[str] | None) -> Sequence[str]:
        """Inside the package where its own path says, the package itself in its root."""
        return [str(self._root)] if path is None else path


class _TextLoader(SourceFileLoader):
    """Loads a module from a text as if its file contained it; resources still come from the folder of the file."""

    def __init__(self, fullname: str, path: str, text: str, log: Serving) -> None:
        super().__init__(fullname, path)
        self._text = text
        self._lines = io.StringIO(text, newline=None).readlines()
        self._log = log

    def get_source(self, fullname: str) -> str:  # noqa: ARG002 - the import protocol
        """The text, with every line ending as a newline, as the import protocol wants it."""
        return "".join(self._lines)

    def get_data(self, path: str) -> bytes:
        """The text in bytes for the module's own path, else what the file system has."""
        return self._text.encode() if path == self.path else super().get_data(path)

    def get_code(self, fullname: str) -> CodeType:  # noqa: ARG002 - the import protocol
        """The text, compiled; unlike the loader that this one extends it knows of no bytecode files."""
        try:
            # As bytes, like a file: with a mark at its start, and an encoding that it declares, if there are any.
            code: CodeType = self.source_to_code(self._text.encode(), self.path)
        except SyntaxError as error:
            # The compiler looks its line up in the file on disk, which is not what it compiled.
            if error.lineno is not None and 0 < error.lineno <= len(self._lines):
                error.text = self._lines[error.lineno - 1]
            raise
        return code

    def exec_module(self, module: ModuleType) -> None:
        """Execute the text and note that it got to its end."""
        # linecache prefers the file on disk to a loader; an entry without a time is never checked against it.
        linecache.cache[self.path] = (len(self._text), None, self._lines, self.path)
        super().exec_module(module)
        self._log.record(module.__name__)


def _check_top_level(package: str) -> None:
    if not package.isidentifier():
        msg = f"not the name of a top-level package: {package!r}"
        raise ValueError(msg)


def _belongs(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


def _lies_in(spec: ModuleSpec | None, root: Path) -> bool:
    if spec is None:
        return False
    places = [spec.origin] if spec.origin is not None else list(spec.submodule_search_locations or ())
    return bool(places) and all(Path(place).is_relative_to(root) for place in places)


def _text(file: Path) -> str:
    """Raises `UnicodeDecodeError` with the file's name in its reason."""
    try:
        return file.read_bytes().decode()
    except UnicodeDecodeError as error:
        error.reason += f" in {file.name}"
        raise
