"""A script that was never meant to be imported: it calls sys.exit."""

from __future__ import annotations

import sys

sys.exit("usage: exits_at_import QUESTION")
