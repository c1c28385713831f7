"""The report of `looptck check` as data: what is printed, and what `--json` writes."""

from __future__ import annotations

from collections import Counter
from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

from looptck.exit_codes import EXIT_FAIL, EXIT_FAULT, EXIT_INCOMPLETE, EXIT_PASS

Verdict = Literal["pass", "fail", "skip", "incomplete", "fault"]
Level = Literal["must", "should"]
Isolation = Literal["fork", "process", "none"]
Asked = Literal["auto", "fork", "process", "none"]
"""What a user asks for: an isolation, or the one that suits the target."""
CHECK_SCHEMA: Literal["looptck-check-1"] = "looptck-check-1"


class Data(BaseModel):
    """A part of a report: frozen, and nothing but its fields, all of which are written."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, populate_by_name=True, json_schema_serialization_defaults_required=True
    )


class CheckReport(Data):
    """One check: `expected`, `seen` and `alternatives` are filled where it was evaluated.

    `scenario` is the one that decided the verdict; `message` says what stood in the way of evaluating it. `since` is
    the version of the requirement set that brought the check, and `news` that this is later than the one asked for;
    `known` is the reason that a file of known failures gives for it. Neither decides anything.
    """

    id: str
    requirement: str
    level: Level
    verdict: Verdict
    message: str
    expected: Any = None
    seen: Any = None
    alternatives: list[Any] = []
    statement: str = ""
    scenario: str = ""
    since: int = 1
    news: bool = False
    known: str = ""

    def decides(self) -> bool:
        """Whether its verdict counts: a must that is neither known to fail nor newer than what was asked for."""
        return self.level == "must" and not self.news and not self.known

    def evaluated(self) -> bool:
        """Whether the check came to be asked, on whatever it was."""
        return self.expected is not None or self.seen is not None

    def told_apart(self) -> bool:
        """Whether the check was evaluated and failed; that a loop could not be run says nothing of its fact."""
        return self.verdict == "fail" and self.evaluated()


class TestReport(Data):
    """A named test of the specification. `verdict` is that of its must-checks; durations are in seconds."""

    __test__ = False  # pytest must not collect it
    name: str
    section: str
    verdict: Verdict
    duration_s: float
    checks: list[CheckReport]

    def passed(self) -> int:
        """How many of its checks did."""
        return sum(check.verdict == "pass" for check in self.checks)


class Counts(Data):
    """How many checks got which verdict."""

    passed: int = Field(alias="pass")
    fail: int
    skip: int
    incomplete: int
    fault: int


class Kit(Data):
    """Which kit judged."""

    name: str = "looptck"
    version: str


class Likeness(Data):
    """A mutant of the kit beside the loop, over the checks that were evaluated.

    `explanation` is of its pitfall, `check` the one that is meant for it, `statement` what that states. `others` are
    the mutants that fail the same of these checks. Numbers of checks: `shared` fail in both, `extra` only in the loop,
    `missing` only in the mutant; `unseen` fail in the mutant and were not evaluated.
    """

    id: str
    title: str
    pitfall: int | str | None
    explanation: str
    check: str
    statement: str
    others: list[str]
    shared: int
    extra: int
    missing: int
    unseen: int


class Diagnosis(Data):
    """Which mutants fail the checks that the loop fails. It is a likeness: it decides nothing, and proves nothing.

    `same`: each of `mutants` does. `together`: what they fail is just that if taken together. `near`: none does, and
    these are the nearest. `unlike`: none is near. `more` is how many more mutants, unions or near ones there are. Of
    the `checks` of the suite so many were `evaluated`, of which `failed`.
    """

    kind: Literal["same", "together", "near", "unlike"]
    mutants: list[Likeness]
    more: int
    failed: int
    evaluated: int
    checks: int


class Report(Data):
    """A whole run of a suite against one target.

    `requirements` is the version of the requirement set that decides; `stale` are lines about entries of the known
    failures that are not true. `limit` is the real time of one scenario, in seconds. There is a `diagnosis` where
    enough was evaluated and something of it failed.
    """

    schema_name: Literal["looptck-check-1"] = Field(default=CHECK_SCHEMA, alias="schema")
    kit: Kit
    target: str
    profile: str
    requirements: int
    seed: int
    isolation: Isolation
    isolation_asked: Asked = "auto"
    limit: float = 10.0
    python: str
    verdict: Verdict
    counts: Counts
    tests: list[TestReport]
    stale: list[str] = []
    diagnosis: Diagnosis | None = None

    def checks(self) -> list[CheckReport]:
        """Those of every test."""
        return [check for test in self.tests for check in test.checks]

    def exit_code(self) -> int:
        """The documented exit code."""
        return exit_code_of(self.verdict)


def exit_code_of(verdict: Verdict) -> int:
    """The documented exit code of a verdict on a whole."""
    return {"pass": EXIT_PASS, "fail": EXIT_FAIL, "fault": EXIT_FAULT}.get(verdict, EXIT_INCOMPLETE)


def worst(verdicts: list[Verdict]) -> Verdict:
    """The verdict of a whole: the worst of its parts. Where nothing was executed it is never a pass."""
    for verdict in ("fault", "incomplete", "fail", "pass"):
        if verdict in verdicts:
            return verdict
    return "skip" if verdicts else "incomplete"


def verdict_of(checks: list[CheckReport]) -> Verdict:
    """The verdict of checks together: only some decide (`decides`), except that the kit's own fault always shows."""
    if any(check.verdict == "fault" for check in checks):
        return "fault"
    deciding = [check.verdict for check in checks if check.decides()]
    # Where none decides, a failure is none; but what could not be judged is no pass.
    return worst(deciding or ["pass" if check.verdict == "fail" else check.verdict for check in checks])


def counts_of(checks: list[CheckReport]) -> Counts:
    """The counts of all checks."""
    number = Counter(check.verdict for check in checks)
    return Counts.model_validate({verdict: number[verdict] for verdict in get_args(Verdict)})


def in_words(counts: Data) -> str:
    """Counts of a report, those that are not 0: `5 pass, 2 fail`."""
    numbers = counts.model_dump(by_alias=True)
    return ", ".join(f"{number} {name.replace('_', ' ')}" for name, number in numbers.items() if number)
