"""The walls between the rooms: which of our packages may import what, also for modules that are not written yet."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
FOLDERS = ("conformance", "fakes", "reference", "mutants")
CONTRACT = ROOT / "conformance" / "looptck" / "contract"

# Where a new module is put, what it imports, and what lint-imports must then say of it.
PLANTED = {
    "conformance/looptck/contract/planted_up.py": ("from looptck import kept_plain", "looptck.kept_plain"),
    "conformance/looptck/contract/planted_fakes.py": ("import looptck_fakes", "looptck_fakes"),
    "conformance/looptck/contract/planted_reference.py": ("import looptck_reference", "looptck_reference"),
    "conformance/looptck/contract/planted_mutants.py": ("import looptck_mutants", "looptck_mutants"),
    "conformance/looptck/contract/planted_library.py": ("import pydantic", "pydantic"),
    "conformance/looptck/contract/planted_lazy.py": ("def f():\n    import rich", "rich"),
    "conformance/looptck/planted_mutants.py": ("import looptck_mutants", "looptck_mutants"),
    "conformance/looptck/planted_reference.py": ("from looptck_reference import Agent", "looptck_reference"),
    "fakes/looptck_fakes/planted_kit.py": ("import looptck.kept_plain", "looptck.kept_plain"),
    "fakes/looptck_fakes/planted_root.py": ("from looptck import __version__", "looptck"),
    "fakes/looptck_fakes/planted_reference.py": ("import looptck_reference", "looptck_reference"),
    "fakes/looptck_fakes/planted_mutants.py": ("import looptck_mutants", "looptck_mutants"),
    "reference/looptck_reference/planted_kit.py": ("from looptck import kept_plain", "looptck.kept_plain"),
    "reference/looptck_reference/planted_fakes.py": ("import looptck_fakes", "looptck_fakes"),
    "reference/looptck_reference/planted_mutants.py": ("import looptck_mutants", "looptck_mutants"),
}

# Modules that keep the rules, so lint-imports must not name them.
KEPT = {
    "conformance/looptck/contract/kept_types.py": (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import opentelemetry.trace\n"
    ),
    "conformance/looptck/kept_fakes.py": "import looptck_fakes",
    "conformance/looptck/kept_plain.py": "import json",
    "fakes/looptck_fakes/kept_contract.py": "from looptck.contract import messages\nimport pydantic",
    "reference/looptck_reference/kept_contract.py": "import looptck.contract.ag03\nimport pydantic",
    "mutants/looptck_mutants/kept_all.py": "import looptck\nimport looptck_fakes\nimport looptck_reference",
}


def modules(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.py"))


def imports(tree: ast.AST, package: str) -> Iterator[str]:
    """Every name that the code imports, dotted in full, but for what stands under `if TYPE_CHECKING`."""
    for node in ast.iter_child_nodes(tree):
        match node:
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                continue
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                parents = package.split(".")[: len(package.split(".")) + 1 - level] if level else []
                start = ".".join([*parents, *([module] if module else [])])
                yield from (f"{start}.{alias.name}" for alias in names)
            case _:
                yield from imports(node, package)


def imports_of(module: Path, folder: Path) -> set[str]:
    package = ".".join(module.parent.relative_to(folder).parts)
    return set(imports(ast.parse(module.read_text(encoding="utf-8")), package))


def within(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_module_is_in_a_package_and_so_in_the_import_graph(folder: str) -> None:
    homes = {module.parent for module in modules(ROOT / folder)}
    assert {home for home in homes if not (home / "__init__.py").exists()} == set()


@pytest.mark.parametrize("module", modules(CONTRACT), ids=lambda module: module.stem)
def test_the_contract_names_the_standard_library_and_itself_only(module: Path) -> None:
    foreign = {
        name
        for name in imports_of(module, ROOT / "conformance")
        if name.split(".")[0] not in sys.stdlib_module_names and not within(name, "looptck.contract")
    }
    assert foreign == set()


def test_the_contract_loads_the_standard_library_and_itself_only() -> None:
    """In an interpreter that has no site-packages to import from."""
    names = [
        ".".join(module.relative_to(ROOT / "conformance").with_suffix("").parts).removesuffix(".__init__")
        for module in modules(CONTRACT)
    ]
    program = (
        f"import sys; sys.path.append({str(ROOT / 'conformance')!r}); import {', '.join(names)}; print(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-B", "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    loaded = {name for name in done.stdout.split() if name.split(".")[0] not in sys.stdlib_module_names}
    assert loaded - {"__main__"} == {"looptck", *names}


def test_a_command_line_loads_what_its_verb_needs_and_no_more() -> None:
    program = """if True:
        import sys
        from looptck.cli import run
        for line in ["--version"], ["init", "--help"], ["mutants", "--help"]:
            assert run(line) == 0
        print(*sys.modules, file=sys.stderr)
    """
    done = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True)
    loaded = {".".join(name.split(".")[:2]) for name in done.stderr.split()}
    heavy = {"asyncio", "hypothesis", "opentelemetry", "pytest", "looptck_fakes", "looptck_mutants"}
    heavy |= {"looptck.observe", "looptck.observation", "looptck.scenario", "looptck.session"}
    assert loaded & heavy == set()


@pytest.mark.parametrize("module", modules(ROOT / "reference"), ids=lambda module: module.stem)
def test_the_reference_takes_the_api_of_opentelemetry_but_not_the_sdk(module: Path) -> None:
    # import-linter sees external packages by their first name only, and here both have the same.
    named = {name for name in imports_of(module, ROOT / "reference") if within(name, "opentelemetry")}
    assert {name for name in named if within(name, "opentelemetry.sdk")} == set()


@pytest.fixture(scope="module")
def said_of_planted(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What lint-imports says of a copy of the tree in which the planted modules stand."""
    tree = tmp_path_factory.mktemp("tree")
    shutil.copy(ROOT / "pyproject.toml", tree)
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, tree / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for path, text in [*((path, text) for path, (text, _) in PLANTED.items()), *KEPT.items()]:
        (tree / path).write_text(text, encoding="utf-8")
    command = "import importlinter.cli; importlinter.cli.lint_imports_command()"
    done = subprocess.run(
        [sys.executable, "-c", command, "--no-cache", "--no-logo"],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(str(tree / folder) for folder in FOLDERS), "COLUMNS": "400"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize(("path", "imported"), [(path, imported) for path, (_, imported) in PLANTED.items()])
def test_a_new_module_on_the_wrong_side_of_a_wall_is_found(path: str, imported: str, said_of_planted: str) -> None:
    name = ".".join(Path(path).with_suffix("").parts[1:])
    assert f"{name} -> {imported} (" in said_of_planted


@pytest.mark.parametrize("path", KEPT)
def test_a_new_module_that_keeps_the_rules_is_not_named(path: str, said_of_planted: str) -> None:
    name = ".".join(Path(path).with_suffix("").parts[1:])
    assert f"{name} -> " not in said_of_planted
