"""Scenarios a second and core of the fuzzer, in this process: what drawing, observing and predicting each cost.

The references are searched, several rounds of each profile in turn; CPU is counted and the least of the rounds, since
noise only adds. Beside it the same search with the loop in a child, whose CPU is counted too.

Aim: 250 scenarios a second and core in this process. Exits with 1 below half of it.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import closing
from typing import Any

from rich.console import Console
from rich.table import Table

from looptck.fuzz.observing import Here, Observer
from looptck.fuzz.search import Search, keeping_nothing, search
from looptck.oracle import differences
from looptck.profile import PROFILES, profile_of
from looptck.target import REFERENCES, Loader, parse_target

ROUNDS, EXAMPLES, LIMIT = 5, 500, 10.0
AIM, BOUND = 250, 125


def cpu() -> float:
    """Seconds of CPU of this process and of the children that are gone."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


class Kept(Here):
    """Observes here, and keeps what it cost and what it saw."""

    seconds = 0.0
    seen: list[tuple[Any, Any]]

    def observe(self, scenario: Any) -> Any:
        """The observation, timed."""
        begun = time.process_time()
        observation = super().observe(scenario)
        self.seconds += time.process_time() - begun
        self.seen.append((scenario, observation))
        return observation


def measured(profile_name: str, seed: int) -> tuple[float, float, float, float]:
    """Seconds of CPU a scenario: in all and of that observing and predicting, here; and in all with a child."""
    profile = profile_of(profile_name)
    load = Loader(parse_target("reference", {"reference": REFERENCES[profile_name]}), profile_name)
    plan = Search(seed, EXAMPLES, should=True)
    here = Kept(profile, load, LIMIT)
    here.seen = []
    begun = time.process_time()
    assert not search(profile, here, plan).failures
    whole = time.process_time() - begun
    begun = time.process_time()
    for scenario, observation in here.seen:
        differences(profile, scenario, observation)
    predicting = time.process_time() - begun
    begun = cpu()
    with closing(Observer(profile, load, LIMIT)) as observer:
        search(profile, observer, plan)
    forked = cpu() - begun
    return whole / EXAMPLES, here.seconds / EXAMPLES, predicting / EXAMPLES, forked / EXAMPLES


def main() -> int:
    """Print the table; the exit code."""
    table = Table(title=f"the fuzzer on the reference loops, least of {ROUNDS} rounds of {EXAMPLES} scenarios")
    for head in ("profile", "drawing", "observing", "predicting", "a scenario", "a second and core", "with a child"):
        table.add_column(head, justify="left" if head == "profile" else "right")
    slowest = float("inf")
    with keeping_nothing():
        for name in PROFILES:
            rounds = [measured(name, seed) for seed in range(ROUNDS)]
            whole, observing, predicting, forked = map(min, zip(*rounds, strict=True))
            slowest = min(slowest, 1 / whole)
            times = (whole - observing - predicting, observing, predicting, whole)
            shown = [f"{seconds * 1000:.2f} ms" for seconds in times]
            table.add_row(name, *shown, f"{1 / whole:.0f}", f"{1 / forked:.0f}")
    Console(width=120).print(table)
    within = "within the aim" if slowest >= AIM else "misses the aim"
    print(f"scenarios a second and core, in this process: {slowest:.0f} {within} (aim {AIM}, bound {BOUND})")
    return int(slowest < BOUND)


if __name__ == "__main__":
    sys.exit(main())
