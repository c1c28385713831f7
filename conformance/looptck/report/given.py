"""What a scenario gives its loop that is not the default, in a line: what a worked example alone would not tell. Pure.

It is read off the fields of the scenario, whichever they are, so that an option which is added later is told as well.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

_LONGEST = 40
"""Characters of one value."""
_RUNS = ("invocations", "runs")
"""The fields that list the runs of a scenario, one for each profile."""
_IN_ROWS = frozenset({"messages", "turns", "task", "replies"})
"""The fields of a run that its rows tell."""


def given(scenario: Any) -> str:
    """`with` and everything that is not the default, of the whole and then of each run; empty where there is nothing.

    A value is JSON and is cut where it is long; of truth values the name stands alone, with a `no` for false.
    """
    whole = [part for name, value in _fields(scenario, {"name", *_RUNS}) for part in _flat(name, value)]
    runs = next(getattr(scenario, name) for name in _RUNS if name in type(scenario).model_fields)
    each = [[_told(name, value) for name, value in _fields(run, _IN_ROWS)] for run in runs]
    if len(each) == 1:
        whole += each.pop()
    told = [("", whole), *((f"run {number} ", parts) for number, parts in enumerate(each, 1))]
    return "; ".join(f"{run}with {', '.join(parts)}" for run, parts in told if parts)


def _fields(model: BaseModel, without: Collection[str] = ()) -> Iterator[tuple[str, Any]]:
    """The fields that are not the default, with their values: a model for a model, else JSON values."""
    for name, value in model.model_dump(mode="json", exclude_defaults=True, exclude=set(without)).items():
        own = getattr(model, name)
        yield name, own if isinstance(own, BaseModel) else value


def _flat(name: str, value: Any) -> list[str]:
    """A field of the whole: of a group of options those that it has."""
    inner = [_told(*field) for field in _fields(value)] if isinstance(value, BaseModel) else []
    return inner or [_told(name, value)]


def _told(name: str, value: Any) -> str:
    if isinstance(value, BaseModel):
        return f"{name}({', '.join(_told(*field) for field in _fields(value))})"
    if isinstance(value, bool):
        return name if value else f"no {name}"
    if name == "continues":  # runs are numbered from 1 wherever they are told
        return f"continues=run {value + 1}"
    text = json.dumps(value, ensure_ascii=False)
    return f"{name}={text if len(text) <= _LONGEST else text[: _LONGEST - 1] + '…'}"
