"""What `looptck check` and its like are to run: the target, tests and checks, scenario files, known failures, by name.

The kit is imported within the functions: `looptck --help` needs none of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from looptck.cli import UsageError
from looptck.cli.options import named
from looptck.report.text import one_line

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from looptck.session import ChosenTest
    from looptck.target import Target


def pinned_of(profile: str, version: int | None) -> int:
    """The version of the requirements that decides, the newest where None. Raises `UsageError`."""
    from looptck.requirements import version_asked  # noqa: PLC0415 - see above

    try:
        return version_asked(profile, version)
    except ValueError as error:
        raise UsageError(f"--requirements {version}: {error}") from None


def known_of(place: str | None, profile: str, files: Collection[str] | None) -> dict[str, str]:
    """The known failures of a file, reasons by check ids; `files` are those of scenario files. Raises `UsageError`."""
    from looptck.report.excuses import KnownFailuresError, load_known  # noqa: PLC0415 - see above

    named("--known-failures", place)
    try:
        return {} if place is None else load_known(place, profile, files)
    except KnownFailuresError as error:
        raise UsageError(f"--known-failures {error}") from None


def in_folder(folder: str, profile: str) -> list[Path]:
    """The scenario files of a folder; those of another profile are left out, and that is said. Raises `UsageError`."""
    from looptck.profile import profile_of  # noqa: PLC0415 - see above
    from looptck.scenario import ScenarioError  # noqa: PLC0415 - see above
    from looptck.scenario_files import files_in  # noqa: PLC0415 - see above

    named("--scenarios", folder)
    try:
        files, others = files_in(folder, profile_of(profile))
    except ScenarioError as error:
        raise UsageError(f"--scenarios {error}") from None
    if others:
        names = ", ".join(file.name for file in others)
        typer.echo(f"looptck: --scenarios {folder}: left out, as of another profile: {one_line(names)}", err=True)
    return files


def of_files(profile: str, files: Sequence[Path]) -> tuple[ChosenTest, dict[str, str]]:
    """The test of scenario files, and their names by the ids of their checks. Raises `UsageError`."""
    from looptck.oracle.scenarios import chosen  # noqa: PLC0415 - see above
    from looptck.profile import profile_of  # noqa: PLC0415 - see above
    from looptck.scenario import ScenarioError  # noqa: PLC0415 - see above
    from looptck.scenario_files import load  # noqa: PLC0415 - see above

    try:
        found = load(profile_of(profile), files)
    except ScenarioError as error:
        raise UsageError(str(error)) from None
    return chosen(profile_of(profile), found), dict(zip(found, map(str, files), strict=True))


def chosen_of(profile: str, select: str, seed: int, own: ChosenTest | None, *, sweep: bool) -> list[ChosenTest]:
    """The tests of the suite that are chosen, and that of the user's own scenarios where it is. Raises `UsageError`."""
    from looptck.session import NothingChosenError, choose, matching  # noqa: PLC0415 - see above

    if sweep:
        sweepable(profile)
    mine = [] if own is None or (found := matching(own, select)) is None else [found]
    exact = [check.id for item in mine for check in item.checks]
    try:
        return [*choose(profile, select, seed, extras=sweep, exact=exact), *mine]
    except NothingChosenError as error:
        if mine:
            return mine
        raise UsageError(f"{error}{_missing(select, own, sweep=sweep)}") from None


def _missing(select: str, own: ChosenTest | None, *, sweep: bool) -> str:
    """Which option a selection is without that names what only this option brings."""
    if not sweep and "sweep" in select.lower():
        return "; those of the crash sweep need --crash-sweep"
    return "; those of scenario files need --scenarios DIR" if own is None and "scenario" in select.lower() else ""


def sweepable(profile: str) -> None:
    """Raises `UsageError` where there is nothing to sweep."""
    from looptck.suite import extras_of  # noqa: PLC0415 - see above

    if not extras_of(profile, scenarios=False):
        raise UsageError(
            f"--crash-sweep: a loop of {profile} has no step runner, so there is no journal to resume from"
        )


def target_of(text: str, profile: str) -> Target:
    """What the user has named. Raises `UsageError` where that is nothing."""
    from looptck.target import REFERENCES, UnknownTargetError, parse_target  # noqa: PLC0415 - see above

    if not text:
        raise UsageError(
            "no target: give reference, a file (loop.py or loop.py:Name), package.module:Name, or adapter:NAME"
        )
    try:
        return parse_target(text, {"reference": REFERENCES[profile]})
    except UnknownTargetError as error:
        raise UsageError(str(error)) from None
