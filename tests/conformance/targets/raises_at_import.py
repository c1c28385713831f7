"""Reads its key while it is imported, and there is none."""

from __future__ import annotations

str(dict[str, str]()["MODEL_API_KEY"])
