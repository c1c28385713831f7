"""Makes an adapter of whatever a target names: a loop's class, an adapter, an adapter's class, or a function.

What is none of these is told by what it is missing. The texts begin with the verb: whoever knows what the thing is
called in the target puts that before them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from traceback import extract_tb
from types import ModuleType
from typing import Any

from looptck.adapter import Adapter, NoInterfaceError, Outcome, Run, told

_WAYS = ("fork", "process")
"""What an adapter may say of the isolation that it needs."""


class NoAdapterError(NoInterfaceError):
    """No adapter can be made of the thing; the text is one line without its subject."""


@dataclass(frozen=True, slots=True)
class Ways:
    """What a profile drives.

    `is_loop` tells a loop's class, which has the method `shown`, and `is_adapter` what has the `methods` of an adapter.
    `contract` makes the adapter of a loop's class and its module, `guard` the one that drives an adapter. `features`
    are those that an adapter may lack. `hint` says of what is neither what it looks like to the other profile.
    """

    is_loop: Callable[[type], bool]
    shown: str
    is_adapter: Callable[[Any], bool]
    methods: tuple[str, ...]
    contract: Callable[[Any, ModuleType], Any]
    guard: Callable[[Any], Any]
    features: Callable[[], frozenset[str]]
    hint: Callable[[Any], str]

    def missing(self, thing: Any) -> str:
        """What keeps it from being an adapter, in brackets."""
        names = [name for name in ("lacks", *self.methods) if not hasattr(thing, name)]
        return f" (it has no {' and no '.join(names)})" if names else ""


def adapter_of(thing: Any, module: ModuleType, ways: Ways) -> Any:
    """The adapter that drives it. Raises `NoAdapterError` where there can be none, `NoInterfaceError` for a loop."""
    with looking():
        return _adapter_of(thing, module, ways)


@contextmanager
def looking() -> Iterator[None]:
    """Whatever a thing raises when it is looked at, a property for one, is `NoAdapterError`."""
    try:
        yield
    except (NoInterfaceError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise NoAdapterError(f"raised {_one_line(error)}, when it was looked at") from error


def _adapter_of(thing: Any, module: ModuleType, ways: Ways) -> Any:
    if not isinstance(thing, type) and not ways.is_adapter(thing):
        thing = _from_function(thing, ways)
    if not isinstance(thing, type):
        return ways.guard(_valid(thing, ways))
    if ways.is_adapter(thing):
        return ways.guard(_valid(called(thing), ways))
    if ways.is_loop(thing):
        return ways.contract(thing, module)
    if hasattr(thing, "lacks"):
        raise NoAdapterError(f"is no adapter's class of this profile{ways.missing(thing)}{ways.hint(thing)}")
    raise NoInterfaceError(f"{thing.__qualname__} has no method {ways.shown}{ways.hint(thing)}")


def _from_function(thing: Any, ways: Ways) -> Any:
    """What a function without parameters gives: a class or an adapter."""
    if not callable(thing):
        missing = ways.missing(thing)
        raise NoAdapterError(f"is no class, no adapter{missing} and no function{ways.hint(thing)}")
    made = called(thing)
    if isinstance(made, type) or ways.is_adapter(made):
        return made
    if inspect.iscoroutine(made):
        made.close()
    kind, missing = type(made).__qualname__, ways.missing(made)
    raise NoAdapterError(f"gave a {kind}, which is no class and no adapter{missing}{ways.hint(made)}")


def called(maker: Any) -> Any:
    """What a class or a function makes without arguments. Raises `NoAdapterError` where it makes nothing."""
    wanted = _required(maker)
    if wanted:
        raise NoAdapterError(f"wants {', '.join(wanted)}: what makes an adapter is called without arguments")
    try:
        return maker()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise NoAdapterError(f"raised {_one_line(error)}, when it was called to make an adapter") from error


def _required(maker: Any) -> list[str]:
    try:
        parameters = inspect.signature(maker).parameters.values()
    except (TypeError, ValueError):  # a builtin without a signature
        return []
    named = (p for p in parameters if p.kind not in {p.VAR_POSITIONAL, p.VAR_KEYWORD})
    return [parameter.name for parameter in named if parameter.default is parameter.empty]


def _valid(adapter: Any, ways: Ways) -> Any:
    """The adapter itself, if what it says of itself can be used."""
    for name in ("name", "version"):
        if not isinstance(getattr(adapter, name, None), str):
            raise NoAdapterError(f"is an adapter whose {name} is no text: {getattr(adapter, name, None)!r}")
    lacks = getattr(adapter, "lacks", None)
    if not isinstance(lacks, Mapping) or not all(isinstance(text, str) for text in (*lacks, *lacks.values())):
        raise NoAdapterError(f"is an adapter whose lacks does not map features to reasons: {lacks!r}")
    unknown = sorted(lacks.keys() - ways.features()) if lacks else []
    if unknown:
        known = ", ".join(sorted(ways.features()))
        raise NoAdapterError(
            f"is an adapter that lacks {unknown[0]!r}, and there is no such feature; there are {known}"
        )
    isolation = getattr(adapter, "isolation", _WAYS[0])
    if isolation not in _WAYS:
        raise NoAdapterError(f"is an adapter whose isolation is neither {' nor '.join(_WAYS)}: {isolation!r}")
    return adapter


class GuardedAdapter:
    """Drives an adapter of ag03 that is not the kit's own: what it raises is its fault, not the kit's."""

    def __init__(self, adapter: Adapter) -> None:
        self._adapter = adapter
        self.name, self.version, self.lacks = adapter.name, adapter.version, dict(adapter.lacks)
        self.isolation = getattr(adapter, "isolation", _WAYS[0])

    async def run(self, run: Run) -> Outcome:
        """As the adapter does. Raises `NoInterfaceError` for whatever goes wrong in it, and for what is no outcome."""
        try:
            outcome: Any = await self._adapter.run(run)
        except NoInterfaceError:
            raise
        except Exception as error:
            raise NoInterfaceError(f"the adapter {self.name} raised {_one_line(error)}") from error
        if not isinstance(outcome, Outcome):
            raise NoInterfaceError(
                f"what the adapter {self.name} gave is no Outcome, but a {type(outcome).__qualname__}"
            )
        return outcome


def _one_line(error: BaseException) -> str:
    """The error, and the place that raised it."""
    frames = extract_tb(error.__traceback__)
    where = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    return " ".join(told(error).split()).removesuffix(":") + where


def ag03(contract: Callable[[Any, ModuleType], Any], features: Callable[[], frozenset[str]]) -> Ways:
    """What the profile ag03 drives. An adapter of lesson4 has a `run` as well, with other parameters."""

    def is_adapter(thing: Any) -> bool:
        own = _has(thing, "run") and not _has(thing, "invoke", "build", "cost")
        return own and (hasattr(thing, "lacks") or inspect.iscoroutinefunction(thing.run))

    def hint(thing: Any) -> str:
        known = [name for name in ("build", "run") if _has(thing, name)]
        return f"; it has {known[0]}: --profile lesson4?" if known else ""

    return Ways(
        is_loop=lambda thing: _has(thing, "invoke"),
        shown="invoke(messages)",
        is_adapter=is_adapter,
        methods=("run",),
        contract=contract,
        guard=GuardedAdapter,
        features=features,
        hint=hint,
    )


def lesson4(contract: Callable[[Any, ModuleType], Any], features: Callable[[], frozenset[str]]) -> Ways:
    """What the profile lesson4 drives. A loop's class has `run` alone; an adapter of ag03 has `lacks` beside it."""

    def is_adapter(thing: Any) -> bool:
        return all(_has(thing, name) for name in ("build", "run", "cost"))

    def hint(thing: Any) -> str:
        known = [name for name in ("invoke", "lacks") if hasattr(thing, name)]
        return f"; it has {known[0]}: --profile ag03?" if known and not _has(thing, "build", "cost") else ""

    return Ways(
        is_loop=lambda thing: _has(thing, "run") and not hasattr(thing, "lacks"),
        shown="run(task, history)",
        is_adapter=is_adapter,
        methods=("build", "run", "cost"),
        contract=contract,
        guard=lambda adapter: adapter,
        features=features,
        hint=hint,
    )


def _has(thing: Any, *methods: str) -> bool:
    """Whether it has any of the methods."""
    return any(callable(getattr(thing, method, None)) for method in methods)
