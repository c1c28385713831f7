"""What became of each mutant: the verdicts, the report, the exit code."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from looptck.exit_codes import EXIT_FAIL, EXIT_INCOMPLETE, EXIT_PASS
from looptck.report.model import Data, Verdict

if TYPE_CHECKING:
    from looptck_mutants.manifest import Mutant

MUTANTS_SCHEMA: Literal["looptck-mutants-1"] = "looptck-mutants-1"

Fate = Literal["killed", "by_others", "survived", "timeout", "broken", "stale", "equivalent"]
"""What became of a mutant, by who judges it.

`killed`: its killer failed, and failed again in a second run. Of somebody's tests it is any one that counts, or the one
that a manifest names, that failed by an assertion, did so again in two further runs on the mutant, and passed in two on
the unmutated loop. Of a mutant of mutmut it is any check, or any test by an assertion, and once is enough: mutmut runs
a mutant once.

`by_others`: only other checks, or tests, did, or its killer failed once and not again, or it is said to be equivalent
and was told from the original. `survived`: none did. `timeout`: its killer, or what might have been one, could not be
evaluated, since the run outlasted the limit or crashed. `broken`: it does not import, or could not be run. `stale`: its
patch does not apply. `equivalent`: as argued, or, of a mutant of mutmut, as an entry of the triage file explains."""

GOT_AWAY: tuple[Fate, ...] = ("by_others", "survived", "timeout")
NOT_RUN: tuple[Fate, ...] = ("broken", "stale")


class KillerReport(Data):
    """The test and the check that have to kill a mutant; empty for an equivalent one."""

    test: str
    check: str


class MutantReport(Data):
    """One mutant. `message` says more where it was not killed.

    `killed_by` are the ids of all checks that failed, or of the tests that failed by an assertion and count. `diff` is
    the change of one that mutmut made, and `patch` then the file that it changes.
    """

    id: str
    title: str
    pitfall: int | str | None
    patch: str
    killer: KillerReport
    verdict: Fate
    killed_by: list[str]
    message: str = ""
    diff: str = ""

    @classmethod
    def of(cls, mutant: Mutant, fate: Fate, killed_by: list[str], message: str) -> MutantReport:
        """The report of a mutant of a manifest."""
        killer = mutant.killer
        return cls(
            id=mutant.id,
            title=mutant.title,
            pitfall=mutant.pitfall,
            patch=mutant.patch,
            killer=KillerReport(test=killer.test if killer else "", check=killer.check if killer else ""),
            verdict=fate,
            killed_by=killed_by,
            message=message,
        )


class Baseline(Data):
    """The suite, or somebody's tests, on the unmutated loop: everything else rests on it.

    `checks` are those of the suite that passed; where somebody's tests judge it is the number of tests that count, and
    0 in a run of mutmut. `wall_s` is in seconds, 0 in such a run, whose own time has it in.
    """

    verdict: Verdict
    checks: int
    wall_s: float


class MutantCounts(Data):
    """How many mutants met which fate."""

    killed: int
    by_others: int
    survived: int
    timeout: int
    broken: int
    stale: int
    equivalent: int


class SuiteTest(Data):
    """A test of somebody's suite: whether it counts and, if not, for what reason; how many mutants it has killed."""

    id: str
    counts: bool
    reason: str
    kills: int


class SuiteReport(Data):
    """Somebody's suite that the mutants were run on. `path` is as given; a file without tests may stand for them."""

    path: str
    tests: list[SuiteTest]


class Systematic(Data):
    """What is told of a run of mutmut: its version, how many mutants were run in this one, and how many in a second.

    The others' results are those of an earlier run. Each kill was seen once, for mutmut runs a mutant once. `explained`
    are those that an entry of the triage file covers, `stale` has a line for each entry that covers nothing.
    """

    tool: str
    redone: int
    per_s: float
    explained: int
    stale: list[str]


class MutantsReport(Data):
    """A whole run of the mutants, of the loop `loop` or, where that is empty, of the reference of the profile.

    `wall_s` is in seconds, the baseline included.
    """

    schema_name: Literal["looptck-mutants-1"] = Field(default=MUTANTS_SCHEMA, alias="schema")
    profile: str
    loop: str = ""
    seed: int
    baseline: Baseline
    counts: MutantCounts
    wall_s: float
    mutants: list[MutantReport]
    suite: SuiteReport | None = None
    systematic: Systematic | None = None

    def whose(self) -> str:
        """What was mutated, in a word."""
        return self.loop or self.profile

    def exit_code(self) -> int:
        """2 where something that had to run did not, 1 where a mutant got away, else 0."""
        fates = {mutant.verdict for mutant in self.mutants}
        if self.baseline.verdict != "pass" or fates & set(NOT_RUN):
            return EXIT_INCOMPLETE
        stale = self.systematic is not None and bool(self.systematic.stale)
        return EXIT_FAIL if fates & set(GOT_AWAY) or stale else EXIT_PASS


def counts_of(mutants: list[MutantReport]) -> MutantCounts:
    """The counts by fate."""
    number: Counter[str] = Counter(mutant.verdict for mutant in mutants)
    return MutantCounts(**{fate: number[fate] for fate in MutantCounts.model_fields})


def fate_of(
    killer: str, failed: set[str], confirmed: set[str], unjudged: dict[str, str], *, equivalent: bool
) -> tuple[Fate, str]:
    """What became of a mutant that ran, and a remark.

    `failed` are the checks that failed when all were run, `confirmed` those that failed again in a second run,
    `unjudged` maps the checks that could not be judged to what stood in the way.
    """
    if equivalent:
        return ("by_others", "said to be equivalent, and yet told from the original") if failed else ("equivalent", "")
    if killer in failed and killer in confirmed:
        return "killed", ""
    if killer in failed:
        return ("by_others" if failed - {killer} else "survived"), f"{killer} failed once and not again"
    if killer in unjudged:
        return "timeout", unjudged[killer]
    if failed:
        return "by_others", f"{killer} passed"
    return "survived", f"{killer} passed, as did every other check"
