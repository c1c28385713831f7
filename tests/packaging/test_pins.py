"""The pins: every library that the project names has one exact version and its hashes, and no address of an index."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PINS = (ROOT / "requirements" / "pins.txt").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
NAMED = [Requirement(text) for text in [*PROJECT["project"]["dependencies"], *PROJECT["dependency-groups"]["dev"]]]


def entries() -> list[tuple[Requirement, list[str]]]:
    """Each pinned requirement with its hashes; an entry goes on over lines that end with a backslash."""
    joined = PINS.replace("\\\n", " ").splitlines()
    parts = [line.split("--hash=") for line in joined if line.strip()]
    return [(Requirement(first), [text.strip() for text in hashes]) for first, *hashes in parts]


@pytest.mark.parametrize("named", NAMED, ids=lambda named: named.name)
def test_what_the_project_names_is_pinned_to_a_version_that_it_allows(named: Requirement) -> None:
    versions = [
        specifier.version
        for pin, _ in entries()
        if canonicalize_name(pin.name) == canonicalize_name(named.name)
        for specifier in pin.specifier
    ]
    assert versions
    assert all(named.specifier.contains(version, prereleases=True) for version in versions)


def test_the_build_backend_is_pinned() -> None:
    backend = {Requirement(text).name for text in PROJECT["build-system"]["requires"]}
    assert backend <= {pin.name for pin, _ in entries()}


@pytest.mark.parametrize(("pin", "hashes"), entries(), ids=lambda value: getattr(value, "name", ""))
def test_a_pin_is_exact_and_has_hashes(pin: Requirement, hashes: list[str]) -> None:
    assert [specifier.operator for specifier in pin.specifier] == ["=="]
    assert hashes
    assert all(text.startswith("sha256:") for text in hashes)


def test_the_pins_name_no_index_and_no_path() -> None:
    assert "://" not in PINS
    assert "# via" not in PINS
