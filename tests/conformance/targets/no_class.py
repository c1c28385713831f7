"""Its loop is an object that is already made."""

from __future__ import annotations

Agent = object()
