"""Writes the schema of the mutants' report anew, beside this file."""

from __future__ import annotations

from pathlib import Path

from looptck_mutants.schemas import MUTANTS_FILE, mutants_text

if __name__ == "__main__":
    Path(__file__).with_name(MUTANTS_FILE).write_text(mutants_text(), encoding="utf-8")
