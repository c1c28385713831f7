"""Writes the schema of the check report anew, beside this file."""

from __future__ import annotations

from pathlib import Path

from looptck.schemas import CHECK_FILE, check_text

if __name__ == "__main__":
    Path(__file__).with_name(CHECK_FILE).write_text(check_text(), encoding="utf-8")
