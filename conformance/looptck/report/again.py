"""The command that repeats a report, or one check of it, with the same values and limits. Pure."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING

from looptck.observe import LIMIT
from looptck.requirements import requirement_set
from looptck.suite import extras_of

if TYPE_CHECKING:
    from looptck.report.model import Report


def typed(target: str) -> str:
    """A target as it can stand in a command line: a name that begins with a dash would be an option there."""
    return f"./{target}" if target.startswith("-") else target


def replayed(report: Report, file: str) -> str:
    """The command line that runs the scenario of a file once more."""
    parts = ["looptck", "replay", quote(typed(report.target)), quote(typed(file)), "--profile", report.profile]
    parts += ["--limit", f"{report.limit:g}"] if report.limit != LIMIT else []
    usual = report.isolation == "fork" and report.isolation_asked == "auto"
    return " ".join(parts + ([] if usual else ["--isolation", report.isolation]))


def again(report: Report, check_id: str = "") -> str:
    """The command line; for one check where its id is given. A file of known failures is left out: it only excuses."""
    parts = ["looptck", "check", quote(typed(report.target)), "--profile", report.profile]
    parts += ["--crash-sweep"] if _swept(report, check_id) else []
    parts += ["-k", check_id] if check_id else []
    parts += ["--seed", str(report.seed)]
    parts += ["--limit", f"{report.limit:g}"] if report.limit != LIMIT else []
    newest = requirement_set(report.profile).version
    parts += ["--requirements", str(report.requirements)] if report.requirements != newest else []
    usual = report.isolation == "fork" and report.isolation_asked == "auto"
    parts += [] if usual else ["--isolation", report.isolation]
    return " ".join(parts)


def _swept(report: Report, check_id: str) -> bool:
    """Whether the report, or the test of that check, is one of a test that runs only where it is asked for."""
    extras = {test.name for test in extras_of(report.profile, scenarios=False)}
    told = [test for test in report.tests if not check_id or any(check.id == check_id for check in test.checks)]
    return any(test.name in extras for test in told)
