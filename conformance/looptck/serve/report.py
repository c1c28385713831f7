"""The verdict of a served scenario as data: the last line of `looptck serve-model`, and what its `--json` writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from looptck import __version__
from looptck.report.beside import pairs
from looptck.report.model import Verdict, exit_code_of
from looptck.report.text import message_of, one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

SERVE_SCHEMA: Literal["looptck-serve-1"] = "looptck-serve-1"


class Data(BaseModel):
    """A part of the report: frozen, and nothing but its fields."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class RequestFinding(Data):
    """A check that did not pass. `invocation`, from 1, is the one that decided; `message` says what stood in the way.

    `expected` and `seen` are filled where it was evaluated.
    """

    id: str
    verdict: Verdict
    level: Literal["must", "should"]
    requirement: str
    section: str
    statement: str
    invocation: int
    message: str = ""
    expected: Any = None
    seen: Any = None


class ServeReport(Data):
    """The verdict on one client. `passed` are ids, `skipped` maps ids to the reason why they were not looked at.

    `findings` are all other checks. `ended` says how serving came to its end, `command_exit` is the exit code of the
    command where one was run and has ended: it decides nothing. `notes` are remarks that decide nothing either.
    """

    type: Literal["verdict"] = "verdict"
    schema_name: Literal["looptck-serve-1"] = Field(default=SERVE_SCHEMA, alias="schema")
    kit: str = __version__
    scenario: str
    verdict: Verdict
    requests: int
    ended: str
    command_exit: int | None
    notes: list[str]
    findings: list[RequestFinding]
    passed: list[str]
    skipped: dict[str, str]

    def exit_code(self) -> int:
        """The documented exit code."""
        return exit_code_of(self.verdict)


def summary(report: ServeReport) -> Iterator[str]:
    """The report as lines for people."""
    for finding in report.findings:
        yield ""
        yield f"{finding.verdict} {finding.id} ({finding.level}, section {finding.section})"
        yield f"  {finding.statement}"
        if finding.message:
            yield f"  {message_of(finding.verdict, finding.message)}"
        if finding.expected is not None or finding.seen is not None:
            for pair in pairs(finding.expected, finding.seen):
                if pair.differs:
                    label = f"{pair.label}: " if pair.label else ""
                    yield f"  {label}expected  {pair.expected}"
                    yield f"  {' ' * len(label)}seen      {pair.seen}"
    yield from ("", *(f"note: {one_line(note)}" for note in report.notes), f"{report.ended}")
    counts = [f"{len(report.passed)} pass"]
    for verdict in ("fail", "incomplete", "fault"):
        number = sum(finding.verdict == verdict for finding in report.findings)
        counts += [f"{number} {verdict}"] if number else []
    yield f"{report.verdict.upper()} {report.scenario}: {report.requests} requests, {', '.join(counts)}"
