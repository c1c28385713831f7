"""What is said of each mutant that a suite was run on. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from looptck_mutants.outcome import MutantReport
from looptck_mutants.suites.runs import Run

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from looptck_mutants.manifest import Mutant
    from looptck_mutants.outcome import Fate


@dataclass(slots=True)
class Case:
    """A mutant and what was seen of it.

    `patched` are the modules that it changes. `failed` are the tests that failed by an assertion. Of them, `confirmed`
    are those that did so whenever they were run on it, and passed whenever they were run on the unmutated loop;
    `suspects` those that failed there as well, `unsure` those that failed on the mutant each time, and did not always
    come to an end on the unmutated loop. `known` are the files that cannot be collected whatever the loop.
    """

    mutant: Mutant
    patched: tuple[str, ...] = ()
    run: Run = field(default_factory=Run)
    failed: list[str] = field(default_factory=list)
    confirmed: list[str] = field(default_factory=list)
    suspects: list[str] = field(default_factory=list)
    unsure: list[str] = field(default_factory=list)
    known: frozenset[str] = frozenset()
    stale: str = ""
    broken: str = ""

    def compare(self, mutated: Sequence[Run], unmutated: Sequence[Run]) -> None:
        """Take what further runs of the tests that failed have shown, on the mutant and on the unmutated loop."""
        for test in self.failed:
            if any(run.ended_as(test, "assertion", "error") for run in unmutated):
                self.suspects.append(test)
            elif all(run.ended_as(test, "assertion") for run in mutated):
                everywhere = all(run.ended_as(test, "passed") for run in unmutated)
                (self.confirmed if everywhere else self.unsure).append(test)

    def unconfirmed(self, test: str) -> str:
        """Why a test that failed has not killed."""
        if test in self.suspects:
            return "failed, and fails on the unmutated loop as well"
        if test in self.unsure:
            return "failed, and did not come to its end on the unmutated loop"
        return "failed once and not again"


def report_of(case: Case, counting: set[str]) -> MutantReport:
    """The report, where only these tests count."""
    killers = [test for test in case.confirmed if test in counting]
    fate, message = _fate(case, killers, counting)
    return MutantReport.of(case.mutant, fate, [] if fate in {"stale", "broken"} else killers, message)


def _fate(case: Case, killers: list[str], counting: set[str]) -> tuple[Fate, str]:
    if case.stale:
        return "stale", case.stale
    modules = case.run.modules
    broken = case.broken or next((modules[name] for name in case.patched if modules.get(name)), "")
    if broken:
        return "broken", broken
    if case.mutant.equivalent is not None:
        return ("by_others", "said to be equivalent, and yet told from the original") if killers else ("equivalent", "")
    return _killed(case, killers) if killers else _got_away(case, counting)


def _killed(case: Case, killers: list[str]) -> tuple[Fate, str]:
    """A manifest that names a test means this one."""
    killer = case.mutant.killer
    if killer is None or killer.check or any(map(killer.means, killers)):
        return "killed", ""
    meant, test = killer.test, next(filter(killer.means, case.run.ended), None)
    if test is None:
        return "by_others", f"{meant} is no test that counts"
    end, how = case.run.ended[test], {"passed": "passed", "assertion": case.unconfirmed(test)}
    return "by_others", f"{meant} {how.get(end.outcome, f'ended otherwise: {end.text}')}"


def _got_away(case: Case, counting: set[str]) -> tuple[Fate, str]:
    for test, end in case.run.ended.items():
        if test in counting and end.outcome in {"timeout", "died"}:
            return "timeout", f"{test} {end.text}"
    return "survived", next(_why(case, counting))


def _why(case: Case, counting: set[str]) -> Iterator[str]:
    """Why no test has killed a mutant that was run to its end, the nearest first."""
    if not counting:
        yield "no test counts"
    yield from (f"{test} {case.unconfirmed(test)}" for test in case.failed if test in counting)
    yield from (f"{test} {case.unconfirmed(test)}" for test in case.suspects)
    for test, end in case.run.ended.items():
        if end.outcome == "error":
            yield f"{test} ended with an error, which is no assertion: {end.text}"
    yield from (
        f"{file} cannot be collected: {text}" for file, text in case.run.errors.items() if file not in case.known
    )
    if case.run.stopped:
        yield f"the run of the suite {case.run.stopped}"
    if not set(case.patched) & set(case.run.modules):
        yield f"no test failed; the suite never imports {', '.join(case.patched)}"
    yield "no test failed"
