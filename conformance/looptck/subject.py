"""The loop that a suite of tests is run on: `from looptck.subject import Agent`.

What the names are is decided when they are first asked for. The environment variable `LOOPTCK_SUBJECT` has a target as
`looptck check` takes it, `LOOPTCK_SUBJECT_PROFILE` its profile; where they are not set, it is the reference of ag03.
`Agent` is the class that the target names, whatever it is called there; every other name (of lesson4: `Budget`, `Run`,
`Step`) is looked up in the module that the class was named in.
"""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING, Any

from looptck.suite import PROFILES
from looptck.target import DEFAULT_NAME, REFERENCES, parse_target

if TYPE_CHECKING:
    from types import ModuleType

SUBJECT, SUBJECT_PROFILE = "LOOPTCK_SUBJECT", "LOOPTCK_SUBJECT_PROFILE"
REFERENCE = "reference"


def __getattr__(name: str) -> Any:
    """The class `Agent`, or what else stands beside it.

    Raises `UnknownTargetError`, `BrokenTargetError`, and `ImportError` where the module has no such name: of an
    `AttributeError`, `from looptck.subject import` would not keep the text.
    """
    if name.startswith("_"):
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    text = os.environ.get(SUBJECT) or REFERENCE
    loop, module = _loaded(text, os.environ.get(SUBJECT_PROFILE) or PROFILES[0])
    if name == DEFAULT_NAME:
        return loop
    try:
        return getattr(module, name)
    except AttributeError:
        msg = f"{text} has no {name} beside its loop"
        raise ImportError(msg, name=__name__) from None


@cache  # a file is executed each time it is loaded, and its classes are then others
def _loaded(text: str, profile: str) -> tuple[Any, ModuleType]:
    if profile not in REFERENCES:
        msg = f"{SUBJECT_PROFILE}: there is no profile {profile!r}; there are {' and '.join(PROFILES)}"
        raise ValueError(msg)
    loaded: tuple[Any, ModuleType] = parse_target(text, {REFERENCE: REFERENCES[profile]}).load(_with_module)
    return loaded


def _with_module(loop: Any, module: ModuleType) -> tuple[Any, ModuleType]:
    return loop, module
