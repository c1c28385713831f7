"""Which tests of a suite count: those that pass on the unmutated loop whenever and however it is run. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from looptck_mutants.suites.runs import Ended, Run

SKIPPED = "skipped"
LATER = "fails by chance: it passed on the unmutated loop first, and not later"


def reasons(runs: Sequence[Run], disguised: Run) -> dict[str, str]:
    """Why each test does not count, "" for one that does, in the order of the first run.

    `runs` are those of the unmutated loop as it is written, in different orders of the tests, `disguised` is one in
    disguise. A file that could not be collected is there as if it were a test.
    """
    everything = [*runs, disguised]
    found: dict[str, str] = {}
    for run in everything:
        for test in [*run.tests, *run.ended]:
            if test not in found:
                found[test] = _reason([each.ended.get(test) for each in runs], disguised.ended.get(test))
    for run in everything:
        for file, text in run.errors.items():
            found.setdefault(file, f"cannot be collected: {text}")
    return found


def _reason(ended: Sequence[Ended | None], disguised: Ended | None) -> str:
    return next(_against(ended, disguised), "")


def _against(ended: Sequence[Ended | None], disguised: Ended | None) -> Iterator[str]:
    """What stands against a test, the gravest first."""
    here = [each for each in ended if each is not None]
    wrong = [each for each in here if each.outcome != "passed"]
    if wrong and all(each.outcome == "skipped" for each in here):
        yield SKIPPED
    if wrong and len(wrong) == len(here):
        yield f"fails on the unmutated loop: {wrong[0].text}"
    if wrong:
        yield f"fails by chance, or for the order of the tests: {wrong[0].text}"
    if len(here) < len(ended):
        yield "is not there in every run"
    if disguised is None:
        yield "looks at the source: it is not there when the same loop is written differently"
    elif disguised.outcome != "passed":
        yield f"looks at the source: it fails when the same loop is written differently: {disguised.text}"


def stands_against(reason: str) -> bool:
    """Whether the reason for which a test does not count leaves the whole run incomplete."""
    return reason not in {"", SKIPPED}
