"""What is an assertion: when the failure of a test says that the test itself found something not as it should be."""

from __future__ import annotations

import os
import sys
import unittest
from pathlib import Path
from typing import TYPE_CHECKING

import _pytest
import pytest

if TYPE_CHECKING:
    from collections.abc import Sequence


class Assertions:
    """Tells the assertions of a suite from whatever else is raised while one of its tests is called.

    It is to be made before the suite is imported, which may put others in the place of the modules that assert.
    """

    def __init__(self, suite: Path | str) -> None:
        self._suite = os.path.realpath(suite)
        self._asserting = [self._suite, *(_folder(str(module.__file__)) for module in (unittest, pytest, _pytest))]

    def made(self, item: pytest.Item, call: pytest.CallInfo[None]) -> bool:
        """Whether the call of a test ended in one: of such a kind, and raised by the suite or what asserts for it."""
        if call.when != "call" or call.excinfo is None or not call.excinfo.traceback:
            return False
        last = str(call.excinfo.traceback[-1].path)
        return isinstance(call.excinfo.value, self._kinds(item)) and _lies_in(last, self._asserting)

    def _kinds(self, item: pytest.Item) -> tuple[type[BaseException], ...]:
        own = getattr(getattr(item, "cls", None), "failureException", AssertionError)
        return (AssertionError, pytest.fail.Exception, *([own] if self._is_own(own) else []))

    def _is_own(self, kind: object) -> bool:
        """Whether a test case's `failureException` is a class of the suite, and not a name for whatever is raised."""
        if not isinstance(kind, type) or not issubclass(kind, Exception):
            return False
        file = getattr(sys.modules.get(kind.__module__), "__file__", None)
        return file is not None and _lies_in(file, [self._suite])


def _folder(file: str) -> str:
    return str(Path(file).resolve().parent)


def _lies_in(file: str, folders: Sequence[str]) -> bool:
    real = os.path.realpath(file)
    return any(real.startswith(folder + os.sep) for folder in folders)
