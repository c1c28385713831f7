"""What the tests of mutmut's runs share: a module of two functions, and what mutmut writes about it."""

from __future__ import annotations

import json
from pathlib import Path

from looptck_mutants.systematic.recording import record_file
from looptck_mutants.systematic.settings import MUTATED
from looptck_mutants.systematic.subject import Subject

PLACE = "fares/meter.py"
SOURCE = """\
BASE = 4


def total(
    rides: int,
) -> int:
    if rides > 3:
        return BASE
    return rides


class Meter:
    @property
    def half(self) -> int:
        return BASE // 2

    async def fare(self, rides: int) -> int:
        return total(rides) + 1
"""
GENERATED = """\
BASE = 4
from mutmut.mutation.trampoline import wrap_in_trampoline as _mutmut_mutated, MutantDict
mutants_x_total__mutmut: MutantDict = {}  # type: ignore


@_mutmut_mutated(mutants_x_total__mutmut)
def total(
    rides: int,
) -> int:
    if rides > 3:
        return BASE
    return rides


def x_total__mutmut_orig(
    rides: int,
) -> int:
    if rides > 3:
        return BASE
    return rides


def x_total__mutmut_1(
    rides: int,
) -> int:
    if rides >= 3:
        return BASE
    return rides


def x_total__mutmut_2(
    rides: int,
) -> int:
    if rides > 4:
        return BASE
    return rides


class Meter:
    @property
    def half(self) -> int:
        return BASE // 2

    @_mutmut_mutated(mutants_xǁMeterǁfare__mutmut)
    async def fare(self, rides: int) -> int:
        return total(rides) + 1

    async def xǁMeterǁfare__mutmut_orig(self, rides: int) -> int:
        return total(rides) + 1

    async def xǁMeterǁfare__mutmut_1(self, rides: int) -> int:
        return total(rides) - 1
"""
KEYS = ("fares.meter.x_total__mutmut_1", "fares.meter.x_total__mutmut_2", "fares.meter.xǁMeterǁfare__mutmut_1")


def subject(source: str = SOURCE, other: dict[str, bytes] | None = None) -> Subject:
    """The module in a package, with other files of it, judged by the suite of lesson4."""
    files = {"fares/__init__.py": b"", PLACE: source.encode(), **(other or {})}
    return Subject("lesson4", "fares.meter:Meter", files, (PLACE,), {}, Path("beside"))


def finished(
    stage: Path, codes: tuple[int | None, ...] = (0, 0, 1), *, source: str = SOURCE, generated: str = GENERATED
) -> None:
    """Write into a folder what a run of mutmut leaves there."""
    for file, text in ((stage / PLACE, source), (stage / MUTATED / PLACE, generated)):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    meta = {
        "exit_code_by_key": dict(zip(KEYS, codes, strict=True)),
        "hash_by_function_name": {"x_total": "1", "xǁMeterǁfare": "2"},
    }
    (stage / MUTATED / f"{PLACE}.meta").write_text(json.dumps(meta), encoding="utf-8")


def record(stage: Path, mutant: str, *lines: dict[str, list[str]]) -> None:
    """Write what the tests said of a mutant."""
    file = record_file(stage, mutant)
    file.parent.mkdir(exist_ok=True)
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
