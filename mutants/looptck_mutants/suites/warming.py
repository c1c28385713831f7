"""What a zygote is to import beforehand: what the loop and the suite import of what is installed."""

from __future__ import annotations

import ast
import importlib.util
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from looptck_mutants.project import Project
    from looptck_mutants.suites.suite import Suite


def warmed(project: Project, suite: Suite) -> list[str]:
    """The modules, by name. None of the loop's own, none of the suite's: these must not be there before a run."""
    texts = [*project.sources().values(), *_texts(suite.folder)]
    named = {name for text in texts for name in _imported(text)}
    installed = {
        top for top in {name.partition(".")[0] for name in named} if top != project.package and _installed(top)
    }
    own = {path.name.removesuffix(".py") for path in suite.folder.rglob("*")}
    return sorted(name for name in named if name.partition(".")[0] in installed - own)


def _texts(folder: Path) -> Iterator[str]:
    for file in folder.rglob("*.py"):
        if file.is_file():
            yield file.read_bytes().decode(errors="replace")


def _imported(text: str) -> Iterable[str]:
    """What the text imports whenever it is executed."""
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError):  # it is told by the run
        return
    for node in body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module


def _installed(package: str) -> bool:
    """Whether a top-level package comes with Python or was installed, and is nobody's work in progress."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin in {None, "built-in", "frozen"}:
        return spec is not None and spec.origin is not None
    places = (sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib"))
    return any(Path(str(spec.origin)).is_relative_to(place) for place in places)
