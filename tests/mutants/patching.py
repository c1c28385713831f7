"""What the tests of the strict applier share: a module, a patch that fits it, and how it is applied or refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from looptck_mutants import patchfile
from looptck_mutants.patchfile import PatchError

if TYPE_CHECKING:
    from collections.abc import Mapping

MODULE = "looptck_reference.loop"
FILE = "reference/looptck_reference/loop.py"
HEADER = f"--- a/{FILE}\n+++ b/{FILE}\n"

SOURCE = """\
def run(cap):
    calls = 0
    while True:
        if calls >= cap:
            raise StopAsyncIteration
        calls += 1
        if ask():
            return calls


def ask():
    return False
"""
MUTATED = SOURCE.replace("calls >= cap", "calls > cap")
HUNK = """\
@@ -1,7 +1,7 @@
 def run(cap):
     calls = 0
     while True:
-        if calls >= cap:
+        if calls > cap:
             raise StopAsyncIteration
         calls += 1
         if ask():
"""
GIT_HEADER = f"diff --git a/{FILE} b/{FILE}\nindex 1f1e2d3..4c5b6a7 100644\n"


def applied(text: str, sources: Mapping[str, str] | None = None) -> dict[str, str]:
    return patchfile.apply(patchfile.parse(text, "s01.patch"), {MODULE: SOURCE} if sources is None else sources)


def refusal(text: str, sources: Mapping[str, str] | None = None) -> PatchError:
    with pytest.raises(PatchError) as caught:
        applied(text, sources)
    assert "\n" not in str(caught.value)
    return caught.value


def crlf(text: str) -> str:
    return text.replace("\n", "\r\n")
