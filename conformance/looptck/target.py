"""What `looptck check` is pointed at: a name, resolved into an adapter in the process that observes.

A target is a file (`loop.py` or `loop.py:Name`), a module (`package.module:Name`), an adapter by its entry point
(`adapter:NAME`), or a name that the command line knows (`reference`). What it names is a loop's class, an adapter, or
what makes one (`looptck.adapting`). Nothing is imported until `load`, which runs in the observing process: code under
test must not be in the process that forks it.
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

from looptck.adapter import NoInterfaceError
from looptck.adapters import known_adapters
from looptck.adapting import NoAdapterError
from looptck.observe.quiescence import strangers
from looptck.profile import profile_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

REFERENCES = {"ag03": "looptck_reference:Agent", "lesson4": "looptck_reference.metered:Agent"}
"""The target `reference` of each profile. Names alone: nothing here imports them."""
DEFAULT_NAME = "Agent"
ADAPTER = "adapter:"
"""What the name of an adapter with an entry point begins with."""
FILE_MODULE = "looptck_target"
_SHOWN = 200


class UnknownTargetError(Exception):
    """There is no such target; the text is one line that says why and what would be one."""


class BrokenTargetError(Exception):
    """The target is there and cannot be used; the text is one line with its own error."""


@dataclass(frozen=True, slots=True)
class Target:
    """A target: what the user wrote, and the file or module and the name in it.

    `file` is a whole path: who imports it may be elsewhere by then. `hint` is what helps where its import fails for
    want of a package.
    """

    text: str
    module: str
    name: str
    file: Path | None = None
    hint: str = ""

    def load(self, adapt: Callable[[Any, ModuleType], Any] | None = None) -> Any:
        """Import it, and make an adapter of what it names: by `adapt` of its profile, that of ag03 if none is given.

        Raises `BrokenTargetError` where that fails, `NoInterfaceError` where it is no loop.
        """
        strangers()  # a thread that the import starts is the loop's
        try:
            module = self._from_file() if self.file is not None else self._from_module()
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            hint = f": {self.hint}" if self.hint and isinstance(error, ImportError) else ""
            msg = f"{self.text} cannot be imported: {_one_line(error, self.file)}{hint}"
            raise BrokenTargetError(msg) from error
        loop = _attribute(module, self.name)
        if loop is None:
            there = [name for name, value in vars(module).items() if isinstance(value, type) and _own(value, module)]
            known = f"; its classes are {', '.join(there)}" if there else ""
            msg = f"{self._place()} has no {self.name}{known}; name one with {self._place()}:Name"
            raise BrokenTargetError(msg)
        try:
            return (adapt or profile_of("ag03").adapt)(loop, module)
        except NoAdapterError as error:
            msg = f"{self._place()}:{self.name} {error}"
            raise NoInterfaceError(msg) from error

    def _place(self) -> str:
        return split_target(self.text)[0] if self.file is not None else self.module

    def _from_module(self) -> ModuleType:
        if os.getcwd() not in sys.path:  # noqa: PTH109 - compared with path strings
            sys.path.insert(0, os.getcwd())  # noqa: PTH109 - likewise
        return importlib.import_module(self.module)

    def _from_file(self) -> ModuleType:
        assert self.file is not None, "asked for files only"  # noqa: S101 - narrows the type
        sys.path.insert(0, str(self.file.parent))  # files beside it can be imported
        spec = importlib.util.spec_from_file_location(FILE_MODULE, self.file)
        assert spec is not None, "the name ends in .py"  # noqa: S101 - narrows the type
        assert spec.loader is not None, "the name ends in .py"  # noqa: S101 - narrows the type
        module = importlib.util.module_from_spec(spec)
        sys.modules[FILE_MODULE] = module
        spec.loader.exec_module(module)
        return module


@dataclass(frozen=True, slots=True)
class Loader:
    """Loads a target for a profile when it is called. It is plain data: another process can be told it."""

    target: Target
    profile: str

    def __call__(self) -> Any:
        """The adapter. Raises what `Target.load` does."""
        return self.target.load(profile_of(self.profile).adapt)


def parse_target(text: str, known: dict[str, str]) -> Target:
    """Resolve what the user wrote. `known` maps names to `package.module:Name`. Raises `UnknownTargetError`."""
    if text in known:
        module, _, name = known[text].partition(":")
        return Target(text, module, name)
    if text.startswith(ADAPTER):
        return _by_entry_point(text)
    place, name = split_target(text)
    if place.endswith(".py"):
        file = Path(place)
        if not _is_file(file):
            msg = f"there is no file {place[:_SHOWN]}"
            raise UnknownTargetError(msg)
        return Target(text, FILE_MODULE, name or DEFAULT_NAME, file.resolve())
    if not name or not all(part.isidentifier() for part in place.split(".")):
        names = ", ".join(known)
        msg = (
            f"{text!r} is no target: give a file (loop.py or loop.py:Name), package.module:Name, {ADAPTER}NAME, "
            f"or one of: {names}"
        )
        raise UnknownTargetError(msg)
    return Target(text, place, name)


def split_target(text: str) -> tuple[str, str]:
    """The file or module of a target, and the name in it; an empty one where none is given."""
    place, colon, name = text.rpartition(":")
    return (text, "") if not colon or os.sep in name or name.endswith(".py") else (place, name)


def _by_entry_point(text: str) -> Target:
    name, known = text.removeprefix(ADAPTER), known_adapters()
    if name not in known:
        names = ", ".join(known) or "none"
        msg = f"there is no adapter {name[:_SHOWN]!r}; installed are: {names}"
        raise UnknownTargetError(msg)
    found = known[name]
    return Target(text, found.module, found.attribute or DEFAULT_NAME, hint=found.hint)


def _is_file(file: Path) -> bool:
    try:
        return file.is_file()
    except (OSError, ValueError):  # a name too long, or with a zero byte in it
        return False


def _own(value: type, module: ModuleType) -> bool:
    return getattr(value, "__module__", None) == module.__name__


def _attribute(module: ModuleType, name: str) -> Any:
    value: Any = module
    for part in name.split("."):
        value = getattr(value, part, None)
    return value


def _one_line(error: BaseException, file: Path | None) -> str:
    """The error in one line, with the line of the target's own file that raised it."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if file is not None and Path(frame.filename) == file]
    where = f" (line {own[-1].lineno})" if own else ""
    if isinstance(error, SyntaxError) and error.filename is not None:
        other = "" if file is not None and Path(error.filename) == file else f"{Path(error.filename).name}, "
        return f"{type(error).__name__}: {error.msg} ({other}line {error.lineno})"
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}{where}" if text else f"{type(error).__name__}{where}"
