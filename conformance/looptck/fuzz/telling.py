"""Tells what a search found: each failure as a worked example, as `looptck check` tells one, then what was done."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from looptck import session
from looptck.fuzz.saved import save
from looptck.oracle import scenarios
from looptck.report.again import replayed
from looptck.report.console import print_failures
from looptck.scenario_files import load

if TYPE_CHECKING:
    from rich.console import Console

    from looptck.fuzz.report import FuzzReport
    from looptck.fuzz.search import Found
    from looptck.profile import Profile
    from looptck.report.model import Isolation


def keep(found: Found, profile: str, folder: Path) -> dict[str, str]:
    """Keep each failing scenario in a file; the files by what broke. Raises `OSError` where one cannot be written."""
    return {
        broken: str(save(folder, f"{profile}-{broken}", judged.scenario)) for broken, judged in found.failures.items()
    }


def tell(out: Console, report: FuzzReport, found: Found, profile: Profile, isolation: Isolation, limit: float) -> None:
    """Print everything; `isolation` and `limit` are for the commands that repeat a failure."""
    if found.failures:
        files = [Path(one.file) for one in report.failures]
        names = load(profile, files)
        test = scenarios.chosen(profile, names)
        for scenario, judged in zip(test.scenarios, found.failures.values(), strict=True):
            test.observed[scenario.name] = (scenario, judged.observation)
        told = session.report(
            [session.judged(test, {})],
            target=report.target,
            profile=profile.name,
            seed=report.seed,
            isolation=isolation,
            asked="auto" if isolation == "fork" else isolation,
            limit=limit,
        )
        file_of = dict(zip(names, map(str, files), strict=True))
        observed: dict[str, Any] = {test.test.name: test.observed}
        print_failures(out, told, observed, lambda check_id: replayed(told, file_of[check_id]))
    for line in report.lines():
        out.print(line, markup=False, highlight=False, soft_wrap=True)
