"""Serves the mutated text of modules to the import system in place of the installed files.

Nothing is written: the package on disk stays as it is, and a forked child that imports it sees the mutant. Two ways in
which a child can run the original without noticing are closed here. A package that was imported before is refused, for
`import` would hand out the old modules. And a served module is compiled from its text every time, so that no bytecode
of the file on disk, however well its time and size agree, is read for it or written.
"""

from __future__ import annotations

import importlib.util
import io
import linecache
import sys
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from types import CodeType, ModuleType

__all__ = ["AlreadyImported", "Serving", "installed_sources", "serving"]


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


def installed_sources(package: str) -> dict[str, str]:
    """The text of every Python module of a top-level package as installed, by module name, without importing it.

    Line endings are kept. Raises `ModuleNotFoundError` where there is no such package, `UnicodeDecodeError` where a
    file is not UTF-8.
    """
    _check_top_level(package)
    spec = importlib.util.find_spec(package)
    if spec is None or spec.submodule_search_locations is None:
        msg = f"no package named {package!r}"
        raise ModuleNotFoundError(msg, name=package)
    sources: dict[str, str] = {}
    for root in map(Path, spec.submodule_search_locations):
        for file in sorted(root.rglob("*.py")):
            inside = file.relative_to(root).with_suffix("").parts
            parts = inside[:-1] if inside[-1] == "__init__" else inside
            sources.setdefault(".".join((package, *parts)), file.read_bytes().decode())
    return sources


@contextmanager
def serving(sources: Mapping[str, str], package: str) -> Iterator[Serving]:
    """While it is open, imports of the modules in `sources` (name to text) execute these texts.

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
    if imported := _imported(package):
        raise AlreadyImported(package, imported)
    log = Serving(sources)
    finder = _Finder(dict(sources), log)
    sys.meta_path.insert(0, finder)
    try:
        yield log
    finally:
        sys.meta_path.remove(finder)
        for name in _imported(package):
            del sys.modules[name]
        for path in finder.paths:
            linecache.cache.pop(path, None)


class _Finder(MetaPathFinder):
    """Finds the modules that are served, where the installed ones are."""

    def __init__(self, sources: Mapping[str, str], log: Serving) -> None:
        self._sources = sources
        self._log = log
        self.paths: list[str] = []

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of a served module; None for every other, and for one that is not installed."""
        if fullname not in self._sources:
            return None
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
        for finder in sys.meta_path:
            if finder is not self and (spec := finder.find_spec(fullname, path, target)) is not None:
                return spec
        return None


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
            code: CodeType = self.source_to_code(self._text, self.path)
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


def _imported(package: str) -> list[str]:
    return sorted(name for name in sys.modules if _belongs(name, package))
