"""What is vendored: unmodified, described, licensed, and safe inside a script element."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

import looptck_mutants

VENDOR = Path(looptck_mutants.__file__).parent / "vendor"
SCHEMA = Path(__file__).parent / "schema"


@pytest.mark.parametrize(
    ("folder", "name"),
    [(VENDOR, "mutation-test-elements.js"), (SCHEMA, "mutation-testing-report-schema.json")],
    ids=["elements", "schema"],
)
def test_a_vendored_file_is_the_one_that_its_note_describes(folder: Path, name: str) -> None:
    note = (folder / "README.md").read_text(encoding="utf-8")
    assert f"`{hashlib.sha256((folder / name).read_bytes()).hexdigest()}`" in note
    assert f"{name}` of the package" in note
    assert "Apache-2.0" in note


def test_its_licence_lies_beside_the_script() -> None:
    assert "Apache License" in (VENDOR / "LICENSE").read_text(encoding="utf-8")


def test_the_script_cannot_end_its_element_and_a_browser_reads_it_as_it_is() -> None:
    # So that its text in a page, and its digest in the page's policy, are those of the file.
    script = (VENDOR / "mutation-test-elements.js").read_bytes().decode()
    assert set("\0\r") & set(script) == set()
    assert re.search("</?script", script, re.IGNORECASE) is None
