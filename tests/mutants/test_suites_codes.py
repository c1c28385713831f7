"""The code of somebody's package, whatever lies in its folder: what no import could name, and what is no Python."""

from __future__ import annotations

import marshal
from pathlib import Path
from typing import Any

import pytest

from looptck_mutants.mutated_import import installed_files, installed_sources
from looptck_mutants.suites.codes import Codes

NAME = "a_package_of_codes"
MARK = "\ufeff"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for path, text in {
        "__init__.py": "",
        "loop.py": "def run():\n    turns = 1\n    return turns\n",
        "deep/inner.py": "A = 1\n",
        "old.bak.py": "def run():\n",
        "v1.0/loop.py": "B = 1\n",
        "template.py": "class {{ name }}:\n",
        "nothing.py": "a = 1\0\n",
        "marked.py": f"{MARK}def run():\n    turns = 2\n    return turns\n",
    }.items():
        file = tmp_path / NAME / path
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return tmp_path


def codes(root: Path) -> Codes:
    return Codes(NAME, root, installed_sources(NAME, root), 5)


def names(modules: Any) -> set[str]:
    return {name.removeprefix(NAME).removeprefix(".") for name in modules}


def run(module: tuple[str, str, bytes]) -> int:
    """What the function of a module gives back."""
    own: dict[str, Any] = {}
    exec(marshal.loads(module[2]), own)  # noqa: S102, S302 - our own text
    return int(own["run"]())


def test_the_files_of_a_package_are_those_that_an_import_could_name(root: Path) -> None:
    found = installed_files(NAME, root)
    assert names(found) == {"", "loop", "deep.inner", "template", "nothing", "marked"}
    assert found[NAME] == root / NAME / "__init__.py"
    assert found[f"{NAME}.deep.inner"] == root / NAME / "deep" / "inner.py"
    assert list(installed_sources(NAME, root)) == list(found)


def test_what_is_no_python_is_not_served_and_stops_nothing(root: Path) -> None:
    given = codes(root)
    served = {"", "loop", "deep.inner", "marked"}
    assert names(given.plain) == names(given.disguised({}, "m/0")) == served
    assert names(given.original([f"{NAME}.loop", f"{NAME}.template"], "m/1")) == served


def test_a_patched_text_that_is_no_python_is_told(root: Path) -> None:
    with pytest.raises(SyntaxError):
        codes(root).disguised({f"{NAME}.loop": "def run(:\n"}, "m/0")


def test_a_text_may_begin_with_a_mark_as_a_file_may(root: Path) -> None:
    given = codes(root)
    changed = {f"{NAME}.marked": f"{MARK}def run():\n    turns = 3\n    return turns\n"}
    modules = (given.plain, given.original(changed, "m/0"), given.disguised(changed, "m/1"))
    assert [run(module[f"{NAME}.marked"]) for module in modules] == [2, 2, 3]


def test_a_package_has_a_folder_and_a_module_has_none(root: Path) -> None:
    plain = codes(root).plain
    assert plain[NAME][:2] == (str(root / NAME / "__init__.py"), str(root / NAME))
    assert plain[f"{NAME}.loop"][:2] == (str(root / NAME / "loop.py"), "")
    (root / "one_file.py").write_text("A = 1\n", encoding="utf-8")
    alone = Codes("one_file", root, installed_sources("one_file", root), 5)
    assert alone.plain["one_file"][:2] == (str(root / "one_file.py"), "")
