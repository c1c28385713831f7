"""Building the distribution from this checkout, without fetching anything."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = {
    "conformance": "looptck",
    "fakes": "looptck_fakes",
    "reference": "looptck_reference",
    "mutants": "looptck_mutants",
}
"""Each package by the folder that it is in."""


def build(target: str, into: Path) -> Path:
    """Build with the backend of this environment alone: an isolated build would have to fetch it."""
    command = [sys.executable, "-m", "hatchling", "build", "--target", target, "--directory", str(into)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (path,) = into.glob("*.whl")
    return path
