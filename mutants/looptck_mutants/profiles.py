"""The mutants of each profile, as their manifests list them."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from looptck.suite import tests_of
from looptck_mutants.manifest import Mutant, load_manifest

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable


def patches_of(profile: str) -> Traversable:
    """The folder with the patches and the manifest of a profile."""
    return files("looptck_mutants") / "patches" / profile


def known_checks(profile: str) -> dict[str, str]:
    """The name of the test of each check."""
    return {check.id: test.name for test in tests_of(profile) for check in test.checks}


@cache
def mutants_of(profile: str) -> tuple[Mutant, ...]:
    """The mutants of a profile, in the order of their manifest. Raises `ManifestError`."""
    return load_manifest(patches_of(profile), known_checks(profile))
