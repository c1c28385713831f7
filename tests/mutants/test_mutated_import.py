"""Serving mutated texts to the import system: what runs is the mutant, and nothing else of the machine notices."""

from __future__ import annotations

import importlib
import importlib.resources
import importlib.util
import inspect
import itertools
import linecache
import os
import py_compile
import sys
import textwrap
import traceback
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from looptck_mutants.mutated_import import AlreadyImported, installed_sources, serving

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import ModuleType

LOOP = textwrap.dedent("""\
    from . import limits
    from .limits import CAP


    def cap():
        return CAP + 0


    def fail():
        raise RuntimeError("original")
    """)
MUTATED_LOOP = LOOP.replace("CAP + 0", "CAP + 1")
NUMBERS = itertools.count()


class Package:
    """A package on disk that nobody has imported yet, under a name that no other test uses."""

    def __init__(self, root: Path) -> None:
        self.name = f"victim{next(NUMBERS)}"
        self.root = root / self.name
        self.write("__init__.py", "KIND = 'original'\n")
        self.write("loop.py", LOOP)
        self.write("limits.py", "CAP = 8\n")
        self.write("deep/__init__.py", "from ..limits import CAP\nDEPTH = 1\n")
        self.write("deep/inner.py", "from .. import loop\nfrom ..loop import cap\n\nSEEN = cap()\n")

    def write(self, path: str, text: str) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, newline="")
        return file

    def module(self, name: str) -> str:
        return f"{self.name}.{name}"

    def load(self, name: str) -> Any:
        return importlib.import_module(self.module(name))

    def forget(self) -> None:
        for name in [name for name in sys.modules if name == self.name or name.startswith(f"{self.name}.")]:
            del sys.modules[name]

    def bytecode(self, path: str) -> Path:
        return Path(importlib.util.cache_from_source(str(self.root / path)))


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Package]:
    """The package, importable, while Python reads and writes bytecode in `__pycache__` as it does for a user."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys, "pycache_prefix", None)
    monkeypatch.syspath_prepend(tmp_path)
    package = Package(tmp_path)
    yield package
    package.forget()


# ------------------------------------------------------------------------------------------------------ what is served


def test_the_served_text_runs_in_place_of_the_file(package: Package) -> None:
    with serving({package.module("loop"): MUTATED_LOOP}, package.name) as log:
        assert log.missing() == (package.module("loop"),)
        assert package.load("loop").cap() == 9
        assert log.served() == (package.module("loop"),)
        assert log.missing() == ()
    assert (package.root / "loop.py").read_text() == LOOP


@pytest.mark.parametrize("name", ["", "deep"], ids=["top", "inner"])
def test_a_package_can_be_served_and_its_modules_are_still_found(package: Package, name: str) -> None:
    full = f"{package.name}.{name}".removesuffix(".")
    with serving({full: "KIND = 'mutant'\n"}, package.name) as log:
        module = importlib.import_module(full)
        assert module.KIND == "mutant"
        assert list(module.__path__) == [str(package.root / name)]
        assert module.__package__ == full
        assert package.load("deep.inner").SEEN == 8
        assert log.served() == (full,)


def test_modules_that_import_the_mutant_relatively_get_the_mutant(package: Package) -> None:
    with serving({package.module("loop"): MUTATED_LOOP}, package.name) as log:
        assert package.load("deep.inner").SEEN == 9
        assert package.load("deep.inner").loop is package.load("loop")
        assert log.missing() == ()


def test_a_mutant_of_a_module_that_others_import_names_from_reaches_them(package: Package) -> None:
    sources = {package.module("limits"): "CAP = 80\n", package.module("loop"): MUTATED_LOOP}
    with serving(sources, package.name) as log:
        assert package.load("deep").CAP == 80
        assert package.load("loop").cap() == 81
        assert log.served() == (package.module("limits"), package.module("loop"))


def test_a_module_keeps_its_place(package: Package) -> None:
    with serving({package.module("loop"): MUTATED_LOOP}, package.name):
        module = package.load("loop")
        assert module.__file__ == str(package.root / "loop.py")
        assert module.__spec__.origin == str(package.root / "loop.py")
        assert module.__spec__.has_location
        assert module.__package__ == package.name
        assert not hasattr(module, "__path__")
        assert module.cap.__code__.co_filename == str(package.root / "loop.py")


def test_a_served_package_still_has_its_resources(package: Package) -> None:
    package.write("words.txt", "hello")
    with serving({package.name: "KIND = 'mutant'\n"}, package.name):
        module: Any = importlib.import_module(package.name)
        assert importlib.resources.files(module).joinpath("words.txt").read_text() == "hello"
        assert module.__loader__.get_data(str(package.root / "words.txt")) == b"hello"
        assert module.__loader__.get_data(str(package.root / "__init__.py")) == b"KIND = 'mutant'\n"


def test_a_module_that_is_reloaded_is_the_mutant_again(package: Package) -> None:
    with serving({package.module("loop"): MUTATED_LOOP}, package.name) as log:
        assert importlib.reload(package.load("loop")).cap() == 9
        assert log.served() == (package.module("loop"),)


def test_without_sources_the_original_runs(package: Package) -> None:
    with serving({}, package.name) as log:
        assert package.load("loop").cap() == 8
        assert (log.served(), log.missing()) == ((), ())


def test_a_text_in_crlf_runs_and_is_shown(package: Package) -> None:
    with serving({package.module("loop"): MUTATED_LOOP.replace("\n", "\r\n")}, package.name):
        module = package.load("loop")
        assert module.cap() == 9
        assert inspect.getsource(module.cap) == "def cap():\n    return CAP + 1\n"
        assert module.__loader__.get_source(module.__name__) == MUTATED_LOOP


# ------------------------------------------------------------------------------------------------------ false survivors


@pytest.mark.parametrize("imported", ["", "limits", "deep.inner"], ids=["package", "module", "inner module"])
def test_a_package_that_was_imported_is_refused(package: Package, imported: str) -> None:
    importlib.import_module(f"{package.name}.{imported}".removesuffix("."))
    finders = list(sys.meta_path)
    with (
        pytest.raises(AlreadyImported, match=rf"^{package.name} cannot be mutated, it is imported already: ") as caught,
        serving({package.module("loop"): MUTATED_LOOP}, package.name),
    ):
        pytest.fail("the original would have run")
    assert package.name in caught.value.modules
    assert sys.meta_path == finders


def test_one_module_left_behind_is_enough_to_refuse(package: Package) -> None:
    package.load("loop")
    del sys.modules[package.name]
    with pytest.raises(AlreadyImported), serving({package.module("loop"): MUTATED_LOOP}, package.name):
        pytest.fail("the original would have run")


def test_a_package_whose_name_only_starts_the_same_does_not_matter(package: Package, tmp_path: Path) -> None:
    neighbour = f"{package.name}_fakes"
    (tmp_path / f"{neighbour}.py").write_text("")
    importlib.invalidate_caches()
    importlib.import_module(neighbour)
    with serving({package.module("loop"): MUTATED_LOOP}, package.name):
        assert package.load("loop").cap() == 9
    assert neighbour in sys.modules
    del sys.modules[neighbour]


def test_a_module_that_nobody_imports_is_missing(package: Package) -> None:
    with serving({package.module("loop"): MUTATED_LOOP}, package.name) as log:
        package.load("limits")
        assert log.served() == ()
        assert log.missing() == (package.module("loop"),)


def test_a_module_that_another_finder_took_is_missing(package: Package) -> None:
    class Greedy:
        """Gets ahead of whoever is there and finds the original."""

        @staticmethod
        def find_spec(
            name: str,
            path: Sequence[str] | None = None,
            target: ModuleType | None = None,  # noqa: ARG004 - the import protocol
        ) -> ModuleSpec | None:
            return PathFinder.find_spec(name, path) if name.startswith(package.name) else None

    with serving({package.module("loop"): MUTATED_LOOP}, package.name) as log:
        sys.meta_path.insert(0, Greedy)
        try:
            assert package.load("loop").cap() == 8
        finally:
            sys.meta_path.remove(Greedy)
        assert log.missing() == (package.module("loop"),)


def test_a_module_that_fails_on_the_way_is_missing(package: Package) -> None:
    broken = MUTATED_LOOP + "raise LookupError\n"
    with serving({package.module("loop"): broken}, package.name) as log:
        with pytest.raises(LookupError):
            package.load("loop")
        assert log.missing() == (package.module("loop"),)


def test_a_module_that_does_not_compile_is_missing_and_its_error_shows_the_served_line(package: Package) -> None:
    with serving({package.module("loop"): LOOP.replace("def cap():", "def cap(:")}, package.name) as log:
        with pytest.raises(SyntaxError) as caught:
            package.load("loop")
        assert (caught.value.filename, caught.value.lineno) == (str(package.root / "loop.py"), 5)
        assert caught.value.text == "def cap(:\n"
        assert log.missing() == (package.module("loop"),)


def test_a_module_that_is_not_installed_is_not_made_up(package: Package) -> None:
    with serving({package.module("ghost"): "HERE = True\n"}, package.name) as log:
        with pytest.raises(ModuleNotFoundError):
            package.load("ghost")
        assert log.missing() == (package.module("ghost"),)


def test_sources_from_outside_of_the_package_are_refused(package: Package) -> None:
    finders = list(sys.meta_path)
    sources = {package.module("loop"): MUTATED_LOOP, f"{package.name}x.loop": "", "os": ""}
    with (
        pytest.raises(ValueError, match=rf"^not in {package.name}: {package.name}x\.loop, os$"),
        serving(sources, package.name),
    ):
        pytest.fail("os would have been replaced")
    assert sys.meta_path == finders


@pytest.mark.parametrize("function", [installed_sources, lambda name: serving({}, name).__enter__()])
def test_only_a_top_level_package_can_be_mutated(function: Callable[[str], object]) -> None:
    with pytest.raises(ValueError, match=r"^not the name of a top-level package: 'os\.path'$"):
        function("os.path")


# ------------------------------------------------------------------------------------------------------- stale bytecode


def poison(package: Package, path: str, text: str) -> bytes:
    """Leave bytecode of another text beside a file, with the time and the size of the file as they are."""
    source = package.root / path
    original, times = source.read_text(), source.stat()
    assert len(text) == len(original)
    source.write_text(text)
    os.utime(source, ns=(times.st_atime_ns, times.st_mtime_ns))
    py_compile.compile(str(source), doraise=True)
    source.write_text(original)
    os.utime(source, ns=(times.st_atime_ns, times.st_mtime_ns))
    return package.bytecode(path).read_bytes()


def test_stale_bytecode_of_a_served_module_is_neither_read_nor_replaced(package: Package) -> None:
    stale = poison(package, "loop.py", LOOP.replace("CAP + 0", "CAP + 7"))
    assert package.load("loop").cap() == 15  # the trap: same size, same second, other code
    package.forget()
    with serving({package.module("loop"): MUTATED_LOOP}, package.name):
        assert package.load("loop").cap() == 9
    assert package.bytecode("loop.py").read_bytes() == stale


def test_bytecode_that_is_never_checked_is_not_read_for_a_served_module(package: Package) -> None:
    source = package.root / "loop.py"
    py_compile.compile(str(source), doraise=True, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    with serving({package.module("loop"): MUTATED_LOOP}, package.name):
        module = package.load("loop")
        assert module.cap() == 9
        assert module.__loader__.get_code(module.__name__) == compile(
            MUTATED_LOOP, module.__file__, "exec", dont_inherit=True
        )


def test_bytecode_is_written_for_the_other_modules_alone(package: Package) -> None:
    with serving({package.module("loop"): MUTATED_LOOP}, package.name):
        package.load("loop")
    assert package.bytecode("limits.py").exists()
    assert not package.bytecode("loop.py").exists()
    assert package.load("loop").cap() == 8


# ----------------------------------------------------------------------------------------------- what a reader is shown


def test_inspect_and_tracebacks_show_the_served_text(package: Package) -> None:
    mutated = "# one line more\n" + LOOP.replace('"original"', '"mutant"')
    with serving({package.module("loop"): mutated}, package.name):
        module = package.load("loop")
        assert inspect.getsource(module) == mutated
        assert inspect.getsource(module.fail) == 'def fail():\n    raise RuntimeError("mutant")\n'
        linecache.checkcache()
        with pytest.raises(RuntimeError, match="mutant") as caught:
            module.fail()
        frame = traceback.extract_tb(caught.value.__traceback__)[-1]
        assert (frame.filename, frame.lineno) == (str(package.root / "loop.py"), 11)
        assert frame.line == 'raise RuntimeError("mutant")'


# ----------------------------------------------------------------------------------------------------------- at the end


def test_afterwards_the_original_is_back(package: Package) -> None:
    finders = list(sys.meta_path)
    with serving({package.module("loop"): MUTATED_LOOP}, package.name):
        package.load("deep.inner")
    assert sys.meta_path == finders
    assert not [name for name in sys.modules if name.startswith(package.name)]
    module = package.load("loop")
    assert module.cap() == 8
    assert inspect.getsource(module.cap) == "def cap():\n    return CAP + 0\n"


def test_the_original_is_back_after_an_error_as_well(package: Package) -> None:
    finders = list(sys.meta_path)
    with pytest.raises(KeyError, match="9"), serving({package.module("loop"): MUTATED_LOOP}, package.name):
        raise KeyError(package.load("loop").cap())
    assert sys.meta_path == finders
    assert package.load("loop").cap() == 8


def test_one_mutant_after_the_other_each_runs_its_own_text(package: Package) -> None:
    for extra in (1, 2, 3):
        with serving({package.module("loop"): LOOP.replace("CAP + 0", f"CAP + {extra}")}, package.name) as log:
            assert package.load("loop").cap() == 8 + extra
            assert log.missing() == ()


# ---------------------------------------------------------------------------------------------------- installed sources


def test_the_installed_sources_are_read_without_importing_anything(package: Package) -> None:
    package.write("limits.py", "CAP = 8\r\n")
    sources = installed_sources(package.name)
    assert sources == {
        package.name: "KIND = 'original'\n",
        package.module("loop"): LOOP,
        package.module("limits"): "CAP = 8\r\n",
        package.module("deep"): "from ..limits import CAP\nDEPTH = 1\n",
        package.module("deep.inner"): "from .. import loop\nfrom ..loop import cap\n\nSEEN = cap()\n",
    }
    assert not [name for name in sys.modules if name.startswith(package.name)]
    with serving(sources, package.name) as log:
        package.load("deep.inner")
        assert log.missing() == ()


@pytest.mark.parametrize("name", ["no_such_package_anywhere", "math"], ids=["nothing", "no text"])
def test_what_is_no_package_has_no_sources(name: str) -> None:
    with pytest.raises(ModuleNotFoundError, match=f"^no package named '{name}'$"):
        installed_sources(name)
