"""Sizes: no module so long that it holds more than one subject, and no function so long that it leaves the screen."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULE, FUNCTION = 400, 40
"""The most lines of each; those of a function are counted from its `def`, docstring and all, to its last."""

EXCEPTIONS: dict[str, str] = {}
"""What may be longer, as this test calls it, and why: `folder/file.py` a module, `folder/file.py:name` a function."""


def ours() -> list[Path]:
    """The Python files of the checkout. Hidden folders are left out: environments and caches."""
    return sorted([*ROOT.glob("*.py"), *(path for folder in ROOT.glob("[!.]*/") for path in folder.rglob("*.py"))])


def too_long(file: Path, root: Path) -> list[str]:
    """The module, if it is too long, and its functions that are."""
    text = file.read_text(encoding="utf-8")
    name = file.relative_to(root).as_posix()
    found = [name] if len(text.splitlines()) > MODULE else []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            if node.end_lineno - node.lineno >= FUNCTION:
                found.append(f"{name}:{node.name}")
    return found


@pytest.mark.parametrize("file", ours(), ids=lambda file: file.relative_to(ROOT).as_posix())
def test_a_module_and_its_functions_are_short(file: Path) -> None:
    assert [name for name in too_long(file, ROOT) if name not in EXCEPTIONS] == []


def test_what_is_excepted_is_there_and_too_long_and_has_a_reason() -> None:
    found = {name for file in ours() for name in too_long(file, ROOT)}
    assert [name for name, reason in EXCEPTIONS.items() if name not in found or not reason] == []


@pytest.mark.parametrize("folder", ["conformance", "examples", "fakes", "mutants", "reference", "tests"])
def test_files_of_every_folder_are_looked_at(folder: str) -> None:
    assert [file for file in ours() if file.is_relative_to(ROOT / folder)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a = 1\n" * MODULE, []),
        ("a = 1\n" * (MODULE + 1), ["long.py"]),
        ("def f():\n" + "    a = 1\n" * (FUNCTION - 1), []),
        ("def f():\n" + "    a = 1\n" * FUNCTION, ["long.py:f"]),
        ("@wrapped\nclass C:\n    async def f(\n        self,\n    ):\n" + "        a = 1\n" * (FUNCTION - 3), []),
        ("class C:\n    async def f(\n        self,\n    ):\n" + "        a = 1\n" * (FUNCTION - 2), ["long.py:f"]),
    ],
    ids=["module", "longer module", "function", "longer function", "method", "longer method"],
)
def test_one_line_more_is_found(text: str, found: list[str], tmp_path: Path) -> None:
    file = tmp_path / "long.py"
    file.write_text(text, encoding="utf-8")
    assert too_long(file, tmp_path) == found
