"""Importing it never ends."""

from __future__ import annotations

import threading

threading.Event().wait()
