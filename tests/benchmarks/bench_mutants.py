"""The full kill matrix beside two other ways to spend the time: pytest on a patched copy, and no mutation at all.

(a) For a mutant: copy the reference, apply the patch, start pytest on `pytest_suite/` with the copy first on the path.
    That file holds the same suite, one item for each check, observed in process. A sample of the mutants is run, one
    after the other, and scaled (`--all` runs every one); which checks failed is compared with the harness.
(b) The harness again, with the sources of every mutant replaced by the originals: what it costs that they are mutants.

All of them take turns, a few mutants at a time, so that whatever else the machine does meets them alike. What a process
pays once (imports, the baseline) is counted to the harness whole.

Aims: the harness is 20 times faster than (a) in wall clock and in CPU, and takes at most 1.15 times (b).
Exits with 1 below 8 times and above 1.5 times.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from unittest import mock

from rich.console import Console
from rich.table import Table

from looptck_mutants.harness import Harness
from looptck_mutants.manifest import Mutant
from looptck_mutants.mutated_import import installed_sources
from looptck_mutants.outcome import Baseline
from looptck_mutants.patchfile import PACKAGE, Patch, PatchError, apply, load
from looptck_mutants.profiles import mutants_of, patches_of
from looptck_mutants.project import reference_project

PROFILE = "ag03"
SEED = 7
SAMPLE = 12
TIMEOUT = 120.0
"""Seconds for one pytest: a mutant that hangs in process would never end."""
AIM_FASTER, BOUND_FASTER = 20.0, 8.0
AIM_OVERHEAD, BOUND_OVERHEAD = 1.15, 1.5
PYTEST_SUITE = Path(__file__).parent / "pytest_suite" / "test_suite.py"
HARNESS, UNMUTATED = "harness", "harness, unmutated"
PYTEST, BARE = "pytest on a patched copy", "likewise, without plugins"
ENVIRONMENTS = {PYTEST: {}, BARE: {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}}

_FAILED = re.compile(r"^FAILED .*?\[([a-z0-9/-]+)\]", re.MULTILINE)


def cpu_now() -> float:
    """Seconds of CPU of this process and of all its children that are over."""
    who = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(used.ru_utime + used.ru_stime for used in map(resource.getrusage, who))


@dataclass(slots=True)
class Cost:
    """What one way has cost so far: seconds, for so many mutants, and the turns that it came in."""

    wall: float = 0.0
    cpu: float = 0.0
    mutants: int = 0
    turns: list[float] = field(default_factory=list)

    @contextmanager
    def turn(self, mutants: int) -> Iterator[None]:
        """Count what is done in the context."""
        wall, cpu = time.perf_counter(), cpu_now()
        yield
        self.turns.append(time.perf_counter() - wall)
        self.wall += self.turns[-1]
        self.cpu += cpu_now() - cpu
        self.mutants += mutants


# --------------------------------------------------------------------------------------------------------- the two ways


def originals(patch: Patch, sources: Mapping[str, str]) -> dict[str, str]:
    """In place of `apply`: the modules that the patch names, as they are."""
    return {module: sources[module] for module in patch.modules}


def run_harness(harness: Harness, mutants: Sequence[Mutant], baseline: Baseline) -> dict[str, set[str]]:
    """The ids of the checks that failed, by mutant."""
    report = harness.run(mutants, baseline, lambda _report: None)
    return {mutant.id: set(mutant.killed_by) for mutant in report.mutants}


def run_pytest(mutant: Mutant, sources: Mapping[str, str], environment: Mapping[str, str]) -> set[str]:
    """Copy, patch, start pytest; the ids of the checks that failed."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for module, text in {**sources, **apply(load(patches_of(PROFILE) / mutant.patch), sources)}.items():
            place = root / "reference" / module.replace(".", "/")
            file = place / "__init__.py" if module == PACKAGE else place.with_suffix(".py")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text.encode())
        shutil.copy(PYTEST_SUITE, root)
        path = os.pathsep.join([str(root / "reference"), *filter(None, [os.environ.get("PYTHONPATH")])])
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "--tb=no", "-rf", PYTEST_SUITE.name],
            cwd=root,
            env={**os.environ, **environment, "PYTHONPATH": path, "LOOPTCK_BENCH_SEED": str(SEED)},
            check=False,
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
        )
    if done.returncode not in {0, 1}:
        raise RuntimeError(f"pytest on {mutant.id} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return set(_FAILED.findall(done.stdout))


# ------------------------------------------------------------------------------------------------------------ measuring


def applicable(console: Console) -> list[Mutant]:
    """The mutants whose patches apply; the others are named."""
    sources, found = installed_sources(PACKAGE), []
    for mutant in mutants_of(PROFILE):
        try:
            apply(load(patches_of(PROFILE) / mutant.patch), sources)
        except PatchError as error:
            console.print(f"left out: {error}", highlight=False, soft_wrap=True)
        else:
            found.append(mutant)
    return found


def measure(console: Console, sample: int) -> dict[str, Cost]:
    """Run everything, in so many rounds; each has its share of the mutants, and pytest on the first of them.

    With 0 for the sample, pytest is run on all of them.
    """
    mutants = applicable(console)
    sources = installed_sources(PACKAGE)
    harness = Harness(reference_project(PROFILE), SEED)
    baseline = harness.baseline()
    costs = {name: Cost() for name in (HARNESS, UNMUTATED, *ENVIRONMENTS)}
    # Until here the process was busy with what the harness needs: its CPU stands for the time that took as well.
    costs[HARNESS].cpu = costs[HARNESS].wall = costs[UNMUTATED].cpu = costs[UNMUTATED].wall = cpu_now()
    agreed = runs = 0
    share = -(-len(mutants) // (sample or SAMPLE))
    for begin in range(0, len(mutants), share):
        chosen = mutants[begin : begin + share]
        with costs[HARNESS].turn(len(chosen)):
            failed = run_harness(harness, chosen, baseline)
        with costs[UNMUTATED].turn(len(chosen)), mock.patch("looptck_mutants.project.apply", originals):
            run_harness(harness, chosen, baseline)
        for mutant in chosen[: 1 if sample else None]:
            for name, environment in ENVIRONMENTS.items():
                with costs[name].turn(1):
                    seen = run_pytest(mutant, sources, environment)
                runs += 1
                agreed += seen == failed[mutant.id]
    console.print(f"{agreed} of {runs} runs of pytest failed the same checks as the harness", highlight=False)
    return costs


def overhead(costs: Mapping[str, Cost]) -> float:
    """How many times (b) the harness takes in wall clock: the median over the turns."""
    pairs = zip(costs[HARNESS].turns, costs[UNMUTATED].turns, strict=True)
    return median(mutated / unmutated for mutated, unmutated in pairs)


# ------------------------------------------------------------------------------------------------------------ reporting


def show(console: Console, costs: Mapping[str, Cost]) -> None:
    """The table: seconds for all mutants (scaled, where fewer were run), and how many times the harness that is."""
    all_of_them = costs[HARNESS].mutants
    table = Table(title=f"{all_of_them} mutants, every check", title_justify="left")
    table.add_column("")
    for heading in ("run", "wall s", "CPU s", "wall ms / mutant", "CPU ms / mutant", "wall ratio", "CPU ratio"):
        table.add_column(heading, justify="right")
    for name, cost in costs.items():
        each = [seconds / cost.mutants for seconds in (cost.wall, cost.cpu)]
        base = [seconds / all_of_them for seconds in (costs[HARNESS].wall, costs[HARNESS].cpu)]
        table.add_row(
            name,
            str(cost.mutants),
            *(f"{seconds * all_of_them:.1f}" for seconds in each),
            *(f"{seconds * 1e3:.0f}" for seconds in each),
            *(f"{seconds / least:.2f}" for seconds, least in zip(each, base, strict=True)),
        )
    console.print(table)


def judge(console: Console, what: str, seen: float, aim: float, bound: float) -> bool:
    """One line that compares a ratio with its aim, which is a least or a most; False where it is beyond the bound."""
    sign = 1 if aim > bound else -1
    word = "within the aim" if sign * seen >= sign * aim else "misses the aim"
    held = sign * seen >= sign * bound
    console.print(
        f"{what}: {seen:.2f}, {word if held else 'beyond the bound'} (aim {aim:g}, bound {bound:g})", highlight=False
    )
    return held


def main() -> int:
    """Measure, print, compare with the bounds."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sample", type=int, default=SAMPLE, help="mutants that pytest is started on")
    parser.add_argument("--all", action="store_true", help="start pytest on every mutant")
    given = parser.parse_args()
    console = Console(width=120)
    costs = measure(console, 0 if given.all else max(given.sample, 1))
    show(console, costs)
    cost = {name: (cost.wall / cost.mutants, cost.cpu / cost.mutants) for name, cost in costs.items()}
    faster = [slow / fast for slow, fast in zip(cost[PYTEST], cost[HARNESS], strict=True)]
    held = [
        judge(console, "times faster than pytest, wall", faster[0], AIM_FASTER, BOUND_FASTER),
        judge(console, "times faster than pytest, CPU", faster[1], AIM_FASTER, BOUND_FASTER),
        judge(console, "wall over unmutated", overhead(costs), AIM_OVERHEAD, BOUND_OVERHEAD),
    ]
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
