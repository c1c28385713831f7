"""What a search found, as data and in lines: `looptck fuzz` prints the lines, and `--json` writes the data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from looptck import __version__
from looptck.report.model import Data, Kit, Verdict, exit_code_of
from looptck.report.text import how_many, one_line
from looptck.wire import sayable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from looptck.fuzz.search import Found, Search


class Failure(Data):
    """A failing scenario: what broke (a requirement, `crash`, `limit` or `open`), where in the run, and its file."""

    broken: str
    level: Literal["must", "should", "incomplete", "fault"]
    about: str
    expected: Any = None
    seen: Any = None
    file: str
    scenario: Any


class FuzzReport(Data):
    """A whole search. `rate` is scenarios a second, `should` counts what broke of good sense alone.

    `first` is the number of the first scenario that failed. `unsteady` scenarios differed behind others and not alone,
    `unjudged` ones used up their limit, at too many of which the search `gave_up`.
    """

    schema_name: Literal["looptck-fuzz-1"] = Field(default="looptck-fuzz-1", alias="schema")
    kit: Kit
    target: str
    profile: str
    seed: int
    verdict: Verdict
    examples: int
    skipped: int = 0
    seconds: float
    rate: float
    timed_out: bool = False
    gave_up: bool = False
    interrupted: bool = False
    first: int | None = None
    failures: list[Failure] = Field(default_factory=list)
    should: dict[str, int] = Field(default_factory=dict)
    unsteady: int = 0
    leaked: str = ""
    unjudged: int = 0
    message: str = ""

    def exit_code(self) -> int:
        """The documented exit code."""
        return exit_code_of(self.verdict)

    def lines(self) -> list[str]:
        """What is said at the end, a line each."""
        said = []
        if self.should:
            counts = ", ".join(f"{name} ({number})" for name, number in sorted(self.should.items()))
            said.append(f"where good sense alone speaks, and not shrunk: {counts}; --should shrinks them")
        if self.unsteady:
            said.append(
                f"{self.unsteady} scenario(s) differed behind others in one process and did not alone, first "
                f"{self.leaked}: state that outlives a run"
            )
        if self.unjudged:
            ended = "; the search ended there" if self.gave_up else ""
            said.append(f"{self.unjudged} scenario(s) used up their limit, those of shrinking too{ended}")
        if self.skipped:
            said.append(f"{self.skipped} scenario(s) were left out: they ask for what the loop lacks")
        broken = [one.broken for one in self.failures]
        what = f"{', '.join(broken)}, first in scenario {self.first}; " if broken else ""
        ended = ", its time was up" if self.timed_out else ", interrupted" if self.interrupted else ""
        scenarios = how_many(self.examples, "scenario")
        said.append(
            f"{self.verdict.upper()} {one_line(self.target)} against {self.profile}: {what}{scenarios} "
            f"in {self.seconds:.1f} s ({self.rate:.0f}/s, seed {self.seed}{ended})"
        )
        return said


def refused(target: str, profile: str, plan: Search, why: str) -> FuzzReport:
    """The report where the target cannot be used."""
    return FuzzReport(
        kit=Kit(version=__version__),
        target=sayable(target),
        profile=profile,
        seed=plan.seed,
        verdict="incomplete",
        examples=0,
        seconds=0.0,
        rate=0.0,
        message=one_line(why),
    )


def report_of(
    target: str, profile: str, plan: Search, found: Found, files: Mapping[str, str], seconds: float
) -> FuzzReport:
    """The report of a search; `files` are those of the failures, by what broke."""
    failures = [_failure(broken, judged, files[broken]) for broken, judged in found.failures.items()]
    return FuzzReport(
        kit=Kit(version=__version__),
        target=sayable(target),
        profile=profile,
        seed=plan.seed,
        verdict=_verdict(found),
        examples=found.examples,
        skipped=found.skipped,
        seconds=round(seconds, 3),
        rate=round(found.examples / seconds, 1),
        timed_out=found.timed_out,
        gave_up=found.gave_up,
        interrupted=found.interrupted,
        first=found.first,
        failures=failures,
        should=found.should,
        unsteady=found.unsteady,
        leaked=found.leaked,
        unjudged=found.unjudged,
    )


def _failure(broken: str, judged: Any, file: str) -> Failure:
    difference = judged.difference
    return Failure(
        broken=broken,
        level=judged.level,
        about=judged.why if difference is None else difference.about,
        expected=None if difference is None else difference.expected,
        seen=None if difference is None else difference.seen,
        file=file,
        scenario=judged.scenario.model_dump(mode="json", exclude_defaults=True),
    )


def _verdict(found: Found) -> Verdict:
    """A fault before what could not be judged, that before a failure; good sense decides nothing.

    A search that was interrupted before anything failed has not seen what it was to see.
    """
    levels = {judged.level for judged in found.failures.values()}
    if "fault" in levels:
        return "fault"
    if "incomplete" in levels or found.unsteady or not found.examples:
        return "incomplete"
    if "must" in levels:
        return "fail"
    return "incomplete" if found.interrupted else "pass"
