"""What `looptck check` is pointed at: a name, resolved into an adapter in the process that observes.

A target is a file (`loop.py` or `loop.py:Name`), a module (`package.module:Name`), or a name that the command line
knows (`reference`). Nothing is imported until `load`, which runs in the observing process: code under test must not
be in the process that forks it.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from looptck.adapter import ContractAdapter, NoInterfaceError
from looptck.observe.quiescence import strangers

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

DEFAULT_NAME = "Agent"
FILE_MODULE = "looptck_target"
_SHOWN = 200


class UnknownTargetError(Exception):
    """There is no such target; the text is one line that says why and what would be one."""


class BrokenTargetError(Exception):
    """The target is there and cannot be used; the text is one line with its own error."""


@dataclass(frozen=True, slots=True)
class Target:
    """A target: what the user wrote, and the file or module and the name in it."""

    text: str
    module: str
    name: str
    file: Path | None = None

    def load(self, adapt: Callable[[Any, ModuleType], Any] | None = None) -> Any:
        """Import it, and make an adapter of its class: by `adapt` of its profile, that of ag03 where none is given.

        Raises `BrokenTargetError` where that fails, `NoInterfaceError` where it is no loop.
        """
        strangers()  # a thread that the import starts is the loop's
        try:
            module = self._from_file() if self.file is not None else self._from_module()
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            msg = f"{self.text} cannot be imported: {_one_line(error, self.file)}"
            raise BrokenTargetError(msg) from error
        loop = _attribute(module, self.name)
        if loop is None:
            msg = f"{self.text} has no {self.name}; name another with {self._place()}:Name"
            raise BrokenTargetError(msg)
        if not isinstance(loop, type):
            msg = f"{self._place()}:{self.name} is no class"
            raise NoInterfaceError(msg)
        return ContractAdapter(loop) if adapt is None else adapt(loop, module)

    def _place(self) -> str:
        return str(self.file) if self.file is not None else self.module

    def _from_module(self) -> ModuleType:
        if os.getcwd() not in sys.path:  # noqa: PTH109 - compared with path strings
            sys.path.insert(0, os.getcwd())  # noqa: PTH109 - likewise
        return importlib.import_module(self.module)

    def _from_file(self) -> ModuleType:
        assert self.file is not None, "asked for files only"  # noqa: S101 - narrows the type
        sys.path.insert(0, str(self.file.resolve().parent))  # files beside it can be imported
        spec = importlib.util.spec_from_file_location(FILE_MODULE, self.file.resolve())
        assert spec is not None, "the name ends in .py"  # noqa: S101 - narrows the type
        assert spec.loader is not None, "the name ends in .py"  # noqa: S101 - narrows the type
        module = importlib.util.module_from_spec(spec)
        sys.modules[FILE_MODULE] = module
        spec.loader.exec_module(module)
        return module


def parse_target(text: str, known: dict[str, str]) -> Target:
    """Resolve what the user wrote. `known` maps names to `package.module:Name`. Raises `UnknownTargetError`."""
    if text in known:
        module, _, name = known[text].partition(":")
        return Target(text, module, name)
    place, colon, name = text.rpartition(":")
    if not colon or os.sep in name or name.endswith(".py"):
        place, name = text, ""
    if place.endswith(".py"):
        file = Path(place)
        if not _is_file(file):
            msg = f"there is no file {place[:_SHOWN]}"
            raise UnknownTargetError(msg)
        return Target(text, FILE_MODULE, name or DEFAULT_NAME, file)
    if not name or not all(part.isidentifier() for part in place.split(".")):
        names = ", ".join(known)
        msg = f"{text!r} is no target: give a file (loop.py or loop.py:Name), package.module:Name, or one of: {names}"
        raise UnknownTargetError(msg)
    return Target(text, place, name)


def _is_file(file: Path) -> bool:
    try:
        return file.is_file()
    except (OSError, ValueError):  # a name too long, or with a zero byte in it
        return False


def _attribute(module: ModuleType, name: str) -> Any:
    value: Any = module
    for part in name.split("."):
        value = getattr(value, part, None)
    return value


def _one_line(error: BaseException, file: Path | None) -> str:
    """The error in one line, with the line of the target's own file that raised it."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if file is not None and Path(frame.filename) == file.resolve()]
    where = f" (line {own[-1].lineno})" if own else ""
    if isinstance(error, SyntaxError) and error.filename is not None:
        other = "" if file is not None and Path(error.filename) == file.resolve() else f"{Path(error.filename).name}, "
        return f"{type(error).__name__}: {error.msg} ({other}line {error.lineno})"
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}{where}" if text else f"{type(error).__name__}{where}"
