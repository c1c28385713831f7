"""The JSON Schema of the report of `looptck mutants`: a file that ships, generated from the report's model.

`python -m looptck_mutants.schemas` writes the file anew after a change of the model.
"""

from __future__ import annotations

from typing import Any

from looptck.schemas import read_schema, schema_text
from looptck_mutants.outcome import MUTANTS_SCHEMA, MutantsReport

MUTANTS_FILE = "mutants.schema.json"


def mutants_schema() -> dict[str, Any]:
    """The schema of `looptck mutants --json`, as shipped."""
    return read_schema(__name__, MUTANTS_FILE)


def mutants_text() -> str:
    """What the shipped file should hold."""
    return schema_text(MutantsReport, MUTANTS_SCHEMA)
