"""The JSON Schema of the report of `looptck check`: a file that ships, generated from the report's model.

`python -m looptck.schemas` writes the file anew after a change of the model; a test tells when that is due. The
mutants' report has its own in `looptck_mutants.schemas`, made by the same functions.
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from pydantic import BaseModel

from looptck.report.model import CHECK_SCHEMA, Report

CHECK_FILE = "check.schema.json"
DIALECT = "https://json-schema.org/draft/2020-12/schema"


def check_schema() -> dict[str, Any]:
    """The schema of `looptck check --json`, as shipped."""
    return read_schema(__name__, CHECK_FILE)


def check_text() -> str:
    """What the shipped file should hold."""
    return schema_text(Report, CHECK_SCHEMA)


def read_schema(package: str, name: str) -> dict[str, Any]:
    """A schema that lies in a package, as data."""
    schema: dict[str, Any] = json.loads((files(package) / name).read_text(encoding="utf-8"))
    return schema


def schema_text(model: type[BaseModel], identity: str) -> str:
    """The schema of what a model writes as JSON, as the text of a file; `identity` becomes its `$id`."""
    body = model.model_json_schema(by_alias=True, mode="serialization")
    return json.dumps({"$schema": DIALECT, "$id": identity, **body}, indent=2, ensure_ascii=False) + "\n"
