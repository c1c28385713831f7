"""A loop under its suite: what its items need is observed when the first of them needs it, once, and judged."""

from __future__ import annotations

import io
import warnings
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from looptck import session
from looptck.describe import Description, describe
from looptck.endless import Patience
from looptck.oracle import scenarios
from looptck.profile import Profile, profile_of
from looptck.report.again import again as repeated
from looptck.report.again import replayed
from looptck.report.excuses import excused, stale
from looptck.report.text import no_commands, one_line
from looptck.scenario_files import load
from looptck.suite.labels import Labels
from looptck.target import Loader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from looptck.judge import Observed
    from looptck.pytest_suite.settings import Settings
    from looptck.report.model import CheckReport, Isolation, Report, TestReport
    from looptck.suite.model import Check, Test

WIDTH = 140
"""Columns of an explanation: those of `looptck check` where its output is no terminal."""
_FORKING = ".*multi-threaded, use of fork"


class Judgement(NamedTuple):
    """A check that was judged: its report alone in that of its test, and what is wrong with its excuse, or nothing."""

    test: TestReport
    stale: list[str]

    @property
    def check(self) -> CheckReport:
        """The report of the check."""
        return self.test.checks[0]


@dataclass
class Suite:
    """`name` is the target as reports call it, `load` makes the adapter in whatever process observes.

    `repeatable` tells whether `looptck check` can be pointed at the loop by that name.
    """

    name: str
    load: Callable[[], Any]
    settings: Settings
    repeatable: bool = True
    _observed: dict[str, dict[str, tuple[Any, Any]]] = field(default_factory=dict)
    _patience: Patience = field(default_factory=Patience)

    def __post_init__(self) -> None:
        """In this process a module is imported once, whoever asks for it first."""
        self._suits = isinstance(self.load, Loader)
        if self.settings.isolation == "none":
            self.load = cache(self.load)

    @property
    def profile(self) -> Profile:
        """The specification."""
        return profile_of(self.settings.profile)

    @cached_property
    def tests(self) -> tuple[Test, ...]:
        """The tests of the specification, and that of the user's own scenarios."""
        if not self.settings.scenarios:
            return self.profile.tests
        own = scenarios.chosen(self.profile, load(self.profile, list(self.settings.scenarios.values())))
        return (*self.profile.tests, own.test)

    def headline(self) -> str:
        """What is judged against what, in one line."""
        with_ = self.settings
        return f"{one_line(self.name)} against {with_.profile}, seed {with_.seed}, requirements {with_.pinned}"

    @cached_property
    def description(self) -> Description:
        """The adapter's name and lacks, or why there is none."""
        with own_warnings():
            return describe(self.load, isolated=self.settings.isolation != "none", limit=self.settings.limit)

    @property
    def isolation(self) -> Isolation:
        """The one that was asked for, else the one that suits the target."""
        suits = self.description.isolation if self._suits else "fork"
        return self.settings.isolation or suits

    def judge(self, test: Test, check: Check, peers: Iterable[tuple[Test, Check]]) -> Judgement:
        """Judge a check. Its scenarios are observed where they have not been, and with them some of its peers'.

        `peers` are the checks of this loop that are to be judged in this run, with their tests.
        """
        self._observe([peer for peer in peers if self._at_once(test, check, *peer)])
        chosen = session.ChosenTest(self.profile, test, [check], [], self._observed[test.name])
        report = excused(session.judged(chosen, self.description.lacks), self.settings.known, self.settings.pinned)
        return Judgement(report, stale([report], self.settings.known))

    def observed(self, test: Test) -> Observed:
        """Scenario and observation of what has been observed of a test, by the scenario's name."""
        return self._observed[test.name]

    def explain(self, judgement: Judgement, again: str) -> str:
        """What `looptck check` prints of a check that did not pass, with `again` as the command if it is not empty."""
        from rich.console import Console  # noqa: PLC0415 - only for a failure

        from looptck.report.console import print_failures  # noqa: PLC0415 - likewise

        told = judgement.check.model_copy(update={"known": ""})  # a known failure is told too, where somebody asks
        test = judgement.test.model_copy(update={"checks": [told]})
        with_ = self.settings
        whole = session.report(
            [test],
            target=self.name,
            profile=with_.profile,
            seed=with_.seed,
            isolation=self.isolation,
            requirements=with_.pinned,
            asked=with_.isolation or "auto",
            limit=with_.limit,
        )
        out = io.StringIO()
        console, seen = Console(file=out, width=WIDTH, color_system=None), {test.name: self._observed[test.name]}
        print_failures(console, whole, seen, lambda check_id: again or self._again(whole, check_id))
        return "\n".join(line.rstrip() for line in no_commands(out.getvalue()).strip().splitlines())

    def _again(self, report: Report, check_id: str) -> str:
        file = self.settings.scenarios.get(check_id)
        return repeated(report, check_id) if file is None else replayed(report, str(file))

    def _at_once(self, test: Test, check: Check, other_test: Test, other: Check) -> bool:
        """Whether to observe for another check when one is to be judged.

        In children for all of a test, side by side, unless the test's items are spread over the workers of
        pytest-xdist; for everything in processes that each have to import the target; in this process for no other, so
        that a debugger stops within the item that it is about.
        """
        if self.isolation == "process":
            return True
        return other is check or (other_test is test and self.isolation == "fork" and not self.settings.worker)

    def _observe(self, wanted: Iterable[tuple[Test, Check]]) -> None:
        names: dict[str, set[str]] = {}
        tests = {test.name: test for test, _ in wanted}
        for test, check in wanted:
            names.setdefault(test.name, set()).update(check.on)
        chosen = []
        for name, test in tests.items():
            missing = names[name] - self._observed.setdefault(name, {}).keys()
            if not missing:
                continue
            scenarios = [one for one in test.build(Labels(self.settings.seed, name)) if one.name in missing]
            chosen.append(session.ChosenTest(self.profile, test, [], scenarios))
        if not chosen:
            return
        with own_warnings():
            with_ = self.settings
            runs = session.observe_all(
                chosen,
                self.load,
                isolation=self.isolation,
                jobs=with_.jobs,
                limit=with_.limit,
                patience=None if with_.worker else self._patience,  # what a worker is given depends on time
            )
            for done in runs:
                self._observed[done.test.name].update(done.observed)


@contextmanager
def own_warnings() -> Iterator[None]:
    """A verdict rests on the loop: filters that make errors of warnings are for the tests around it."""
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.filterwarnings("ignore", _FORKING, DeprecationWarning)  # its children use no thread of this process
        yield
