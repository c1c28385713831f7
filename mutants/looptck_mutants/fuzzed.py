"""How many scenarios of the fuzzer each mutant survives: the measure of what the fuzzer finds that nobody wrote down.

`python -m looptck_mutants.fuzzed [PROFILE]` measures with five seeds and writes the results beside the kill matrices.
"""

from __future__ import annotations

import json
import math
import sys
from contextlib import ExitStack, closing
from importlib.resources import files
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict

from looptck.fuzz.observing import Observer
from looptck.fuzz.search import Search, keeping_nothing, search
from looptck.profile import PROFILES, profile_of
from looptck_mutants.mutated_import import serving
from looptck_mutants.profiles import mutants_of
from looptck_mutants.project import reference_project

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from looptck_mutants.manifest import Mutant
    from looptck_mutants.project import Project

SEEDS = (1, 2, 3, 4, 5)
MOST = 1_000
"""Scenarios after which a mutant is said not to be found."""
_LIMIT = 2.0
_OPEN = ExitStack()


class Survived(BaseModel):
    """How many scenarios a mutant survived before one found it, by seed, None where none of `MOST` did.

    `broken` is what the first of them broke.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    survived: list[int | None]
    broken: str

    @property
    def middle(self) -> float:
        """The median; infinite where more than half of the seeds did not find it."""
        return median(math.inf if number is None else number for number in self.survived)


def measure(profile: str, mutant: Mutant, seeds: tuple[int, ...] = SEEDS, most: int = MOST) -> Survived:
    """Search on a mutant, from each seed anew."""
    project = reference_project(profile)
    load = _loader(project, project.patched(mutant, project.sources()))
    survived: list[int | None] = []
    broken = ""
    for seed in seeds:
        with closing(Observer(profile_of(profile), load, _LIMIT)) as observing:
            plan = Search(seed, most, should=True, shrink=False, one=True)
            found = search(profile_of(profile), observing, plan)
        survived.append(None if found.first is None else found.first - 1)
        broken = broken or next(iter(found.failures), "")
    return Survived(id=mutant.id, survived=survived, broken=broken)


def _loader(project: Project, sources: Mapping[str, str]) -> Callable[[], Any]:
    def load() -> Any:
        _OPEN.enter_context(serving(sources, project.package))  # for as long as the child lives
        return project.target().load(profile_of(project.profile).adapt)

    return load


def recorded(profile: str) -> list[Survived]:
    """What was measured last."""
    told = json.loads((files("looptck_mutants") / "matrices" / f"{profile}-fuzzed.json").read_text(encoding="utf-8"))
    return [Survived.model_validate(entry) for entry in told]


def summary_table() -> str:
    """How many mutants of each profile were found within how many scenarios, as a table of Markdown."""
    heads = ("profile", "mutants", "within 10", "within 100", "within 500", "later", "not found")
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    for profile in PROFILES:
        middles = [one.middle for one in recorded(profile)]
        within = [sum(middle < most for middle in middles) for most in (10, 100, 500, math.inf)]
        row = [len(middles), *within[:3], within[3] - within[2], len(middles) - within[3]]
        lines.append(f"| `{profile}` | {' | '.join(map(str, row))} |")
    return "\n".join(lines)


def survival_table(profile: str) -> str:
    """Every mutant of a profile with the scenarios it survived, the most first, as a table of Markdown."""
    titles = {mutant.id: mutant.title.replace("|", r"\|") for mutant in mutants_of(profile)}
    lines = ["| mutant | mistake | scenarios survived | what broke first |", "|---|---|---|---|"]
    for one in sorted(recorded(profile), key=lambda one: (-one.middle, one.id)):
        middle = f"{one.middle:g}" if math.isfinite(one.middle) else "∞"
        lines.append(f"| {one.id} | {titles[one.id]} | {middle} | {f'`{one.broken}`' if one.broken else ''} |")
    return "\n".join(lines)


def record(profile: str) -> None:
    """Measure every mutant of a profile, and write it down."""
    found = []
    with keeping_nothing():
        for mutant in mutants_of(profile):
            found.append(measure(profile, mutant))
            print(mutant.id, found[-1].middle, found[-1].broken, file=sys.stderr, flush=True)  # noqa: T201 - progress
    lines = ",\n".join(json.dumps(one.model_dump()) for one in found)
    place = Path(__file__).parent / "matrices" / f"{profile}-fuzzed.json"
    place.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    for name in sys.argv[1:] or PROFILES:
        record(name)
