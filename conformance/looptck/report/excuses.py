"""What a user has said beforehand of failures: those that are known, and those newer than the version asked for. Pure.

A file of known failures is TOML, a check id and its reason on each line:

    "approval/nothing-runs" = "siblings of a call that needs approval run: issue 12"

A known failure decides nothing as long as it fails. An entry whose check passes, or that no check answers to, is an
error: such a file must not grow old.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

from looptck.report.model import CheckReport, TestReport, verdict_of
from looptck.suite import extras_of, tests_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping


class KnownFailuresError(Exception):
    """A file of known failures that cannot be used; the text is one line that says where and why."""


def load_known(place: str, profile: str, files: Collection[str] | None = None) -> dict[str, str]:
    """The reasons by check id. Raises `KnownFailuresError`: unreadable, not of the form, or an id that no check has.

    `files` are the ids of checks that come from scenario files; where it is None there are none in this run, and what
    the file says of such checks is let be.
    """
    from looptck.oracle.scenarios import PREFIX  # noqa: PLC0415 - it imports what imports this module

    try:
        entries = tomllib.loads(Path(place).read_text(encoding="utf-8-sig"))
    except (OSError, ValueError) as error:
        msg = f"{place}: {getattr(error, 'strerror', None) or error}"
        raise KnownFailuresError(msg) from None
    ids = {check.id for test in (*tests_of(profile), *extras_of(profile, scenarios=False)) for check in test.checks}
    ids |= {name for name in entries if name.startswith(PREFIX)} if files is None else set(files)
    for name, reason in entries.items():
        if name not in ids:
            msg = f"{place}: no check of {profile} is called {name!r}; looptck check --list has their names"
            raise KnownFailuresError(msg)
        if not isinstance(reason, str) or not reason.strip():
            msg = f'{place}: {name}: give a reason, as in "{name}" = "why it fails"'
            raise KnownFailuresError(msg)
    return {name: " ".join(reason.split()) for name, reason in entries.items()}


def excused(report: TestReport, known: Mapping[str, str], pinned: int) -> TestReport:
    """The report with its checks marked as known or as news, and the verdict that follows.

    `pinned` is the version of the requirement set that was asked for.
    """
    checks = [_excused(check, known, pinned) for check in report.checks]
    return report.model_copy(update={"checks": checks, "verdict": verdict_of(checks)})


def _excused(check: CheckReport, known: Mapping[str, str], pinned: int) -> CheckReport:
    """A known failure that passes is no longer one: it decides again, and its entry is stale."""
    reason = known.get(check.id, "") if check.verdict in {"fail", "incomplete"} else ""
    return check.model_copy(update={"known": reason, "news": check.since > pinned})


def stale(reports: Iterable[TestReport], known: Mapping[str, str]) -> list[str]:
    """One line for each entry whose check was run and did not fail. Entries of checks that were not run are let be."""
    verdicts = {check.id: check.verdict for report in reports for check in report.checks}
    wrong = {name: verdicts[name] for name in known if verdicts.get(name) in {"pass", "skip"}}
    done = {"pass": "passes", "skip": "is skipped"}
    return [f"{name} is listed as a known failure, and {done[verdict]}" for name, verdict in wrong.items()]


def why_excused(check: CheckReport) -> str:
    """Why a failure of this check decides nothing, in a few words; empty where it decides, as a fault always does."""
    if check.verdict == "fault":
        return ""
    if check.known:
        return f"known failure ({check.known})"
    if check.news:
        return f"news since requirements {check.since}"
    return "of good sense" if check.level == "should" else ""
