"""Greets whoever imports it, at length."""

from __future__ import annotations

import sys

from looptck_reference import Agent

__all__ = ["Agent"]

for _ in range(4_000):
    sys.stdout.write("welcome! " * 30 + "\n")
