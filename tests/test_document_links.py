"""Links in the documents lead somewhere, targets of make are there, and the map names every module."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("conformance/looptck", "fakes/looptck_fakes", "reference/looptck_reference", "mutants/looptck_mutants")
ALL = sorted(
    str(path.relative_to(ROOT)) for folder in (".", "docs", "examples") for path in (ROOT / folder).glob("*.md")
)


def read(document: str) -> str:
    return (ROOT / document).read_text(encoding="utf-8")


FENCED = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)


def anchors(document: str) -> set[str]:
    """What links may name of a document: its headings, in lower case, without punctuation, joined by hyphens."""
    headings = re.findall(r"^#+ (.+)$", re.sub(FENCED, "", read(document)), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", ALL)
def test_links_into_the_repository_lead_somewhere(document: str) -> None:
    lost = []
    for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(FENCED, "", read(document))):
        place, _, anchor = target.partition("#")
        file = (ROOT / document).parent.joinpath(place).resolve() if place else ROOT / document
        if target.startswith("https://"):
            continue
        if not file.exists() or (anchor and anchor not in anchors(str(file.relative_to(ROOT)))):
            lost.append(target)
    assert lost == []


@pytest.mark.parametrize("document", ALL)
def test_the_targets_of_make_are_there(document: str) -> None:
    targets = re.findall(r"(?:`|^)make ([a-z-]+)", read(document), re.MULTILINE)
    assert set(targets) - set(re.findall(r"^([a-z-]+):", read("Makefile"), re.MULTILINE)) == set()


def mapped() -> tuple[set[str], set[str]]:
    """The packages and the modules that are on the map, as paths."""
    packages, modules = set(), set()
    for section in re.split(r"^### ", read("DESIGN.md"), flags=re.MULTILINE)[1:]:
        folder = re.match(r"`([^`]*)`\n", section)
        if folder is not None and folder[1] != "tests":
            packages.add(folder[1])
            modules |= {f"{folder[1]}/{name}" for name in re.findall(r"^\* `([^`]*)`:", section, re.MULTILINE)}
    return packages, modules


def test_the_map_names_every_module_and_nothing_else() -> None:
    files = {str(path.relative_to(ROOT)) for package in PACKAGES for path in (ROOT / package).rglob("*.py")}
    packages = {name.removesuffix("/__init__.py") for name in files if name.endswith("/__init__.py")}
    modules = {name for name in files if not name.endswith("/__init__.py")}
    on_map = mapped()
    assert (packages - on_map[0], modules - on_map[1]) == (set(), set()), "not on the map"
    assert (on_map[0] - packages, on_map[1] - modules) == (set(), set()), "on the map, and not there"
