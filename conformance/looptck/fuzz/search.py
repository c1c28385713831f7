"""Searches for scenarios in which a loop is not what was predicted, and shrinks what it finds; all by hypothesis.

Each requirement that breaks is a failure of its own, with a type of its own, by which hypothesis tells failures apart:
one search finds several, and shrinking one does not slip into another. The first of each is observed again in a process
that has run nothing before, and so is the smallest: only what differs there too is a failure.
"""

from __future__ import annotations

import time
import warnings
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, Phase, Verbosity, given, settings
from hypothesis import seed as seeded
from hypothesis.configuration import set_hypothesis_home_dir
from hypothesis.errors import HypothesisWarning

from looptck.oracle.judging import OPEN, Judged, judge_one

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hypothesis.strategies import SearchStrategy

    from looptck.fuzz.observing import Observing
    from looptck.profile import Profile

DEFAULT_EXAMPLES = 1_000
WITHOUT_END = 10**9
"""Examples of a search that only its time ends."""
PATIENCE = 25
"""Scenarios that may use up their limit of time before a search ends: shrinking one of them takes a few dozen."""
SHRINKS = 5_000
"""How often the failures of a search may shrink, all together: each does so a hundred times, a byte at a time.

hypothesis ends a search at 500, which would leave the last of half a dozen failures as large as they were drawn.
"""


@dataclass(slots=True)
class Found:
    """What a search found.

    `failures` are the smallest failing scenario and its verdict by what was broken, `should` the requirements of good
    sense that did not hold, with how often, `unsteady` how often something differed and then, alone, did not, and
    `leaked` what that was first.
    `examples` counts all scenarios that were observed, those of shrinking too, `skipped` those that ask for a feature
    which the loop lacks; `first` is the number of the first that failed. `unjudged` counts those that used up their
    limit, `PATIENCE` of which end the search, which then `gave_up`. `sure` are the first failures of each kind, which
    do not rest on others. Of a search that was `interrupted` failures may be larger than they had to be.
    """

    examples: int = 0
    skipped: int = 0
    first: int | None = None
    failures: dict[str, Judged] = field(default_factory=dict)
    should: dict[str, int] = field(default_factory=dict)
    unsteady: int = 0
    leaked: str = ""
    unjudged: int = 0
    sure: dict[str, Judged] = field(default_factory=dict)
    timed_out: bool = False
    gave_up: bool = False
    interrupted: bool = False


class _DiffersError(Exception):
    """A scenario in which the loop was not what was predicted."""


class _Enough(BaseException):
    """The search is to end where it is; hypothesis lets what is no `Exception` through."""


@dataclass(frozen=True, slots=True)
class Search:
    """A search: how many examples at most, from which seed, until when (by `time.monotonic`), and what counts.

    With `one` it ends at the first failure, which is not shrunk. With `should` a difference in good sense is a failure
    like any other; else it is only counted. `lacks` are the features that the loop's adapter says it does not have.
    With `sweep` runs are stopped and resumed (`looptck.durability`).
    """

    seed: int
    examples: int = DEFAULT_EXAMPLES
    until: float | None = None
    should: bool = False
    shrink: bool = True
    one: bool = False
    lacks: frozenset[str] = frozenset()
    sweep: bool = False


@contextmanager
def keeping_nothing() -> Iterator[None]:
    """While it lasts, what hypothesis keeps for later runs goes to a folder that is then gone, not to the user's."""
    with TemporaryDirectory(prefix="looptck-") as folder:
        set_hypothesis_home_dir(folder)
        try:
            yield
        finally:
            set_hypothesis_home_dir(None)


def _same_for_all() -> AbstractContextManager[None]:
    """While it lasts, hypothesis draws from the seed alone.

    It now and then draws a constant that stands in a module which happens to be loaded, so that the same seed would
    give other scenarios inside somebody's pytest, or after an edit.
    """
    provider = getattr(_inside_hypothesis("providers"), "HypothesisProvider", None)
    return _replaced(provider, "_maybe_draw_constant", lambda *_args, **_options: None)


def _shrinking_all() -> AbstractContextManager[None]:
    """While it lasts, that many shrinks are too many for hypothesis."""
    return _replaced(_inside_hypothesis("engine"), "MAX_SHRINKS", SHRINKS)


def _inside_hypothesis(name: str) -> Any:
    """A module that hypothesis promises to nobody; None where it has none of that name."""
    with suppress(ImportError):
        return import_module(f"hypothesis.internal.conjecture.{name}")
    return None


@contextmanager
def _replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    """While it lasts, an attribute is another; nothing happens where there is no such attribute."""
    before = getattr(owner, name, None)
    if before is None:
        yield
        return
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


def search(
    profile: Profile,
    observing: Observing,
    plan: Search,
    progress: Callable[[Found], None] = lambda _found: None,
    found: Found | None = None,
) -> Found:
    """Search. `progress` is called after each example. The same seed gives the same examples.

    What is found stands in `found` as soon as it is, for whoever is interrupted.
    """
    found = Found() if found is None else found

    @seeded(plan.seed)
    @_settings(plan)
    @given(_strategy(profile, plan))
    def example(scenario: Any) -> None:
        if plan.until is not None and time.monotonic() >= plan.until:
            found.timed_out = True
            raise _Enough
        _example(profile, observing, plan, found, scenario)
        progress(found)

    try:
        with suppress(_Enough), _same_for_all(), _shrinking_all(), warnings.catch_warnings():
            warnings.simplefilter("ignore", HypothesisWarning)  # of how long the text of a scenario is
            example()
    except (_DiffersError, BaseExceptionGroup) as error:
        if not found.failures:
            raise  # not ours
        del error
    _confirm(profile, observing, found)
    return found


def _settings(plan: Search) -> settings:
    """What hypothesis is to do: nothing that it prints, keeps or measures is for whoever fuzzes."""
    return settings(
        max_examples=plan.examples,
        phases=(Phase.generate, Phase.shrink) if plan.shrink else (Phase.generate,),
        database=None,
        deadline=None,
        verbosity=Verbosity.quiet,
        suppress_health_check=list(HealthCheck),
        print_blob=False,
    )


def _confirm(profile: Profile, observing: Observing, found: Found) -> None:
    """The smallest failure of each kind is tried alone and with all of its time; else the first of its kind is told."""
    observing.hurry(on=False)
    for broken, smallest in found.failures.items():
        if smallest is not found.sure[broken]:
            judged = judge_one(profile, smallest.scenario, observing.afresh(smallest.scenario))
            found.failures[broken] = judged if judged.broken == broken else found.sure[broken]


def _strategy(profile: Profile, plan: Search) -> SearchStrategy[Any]:
    module = import_module(f"looptck.fuzz.{profile.name}")
    made: SearchStrategy[Any] = module.swept() if plan.sweep else module.scenarios()
    return made


def _example(profile: Profile, observing: Observing, plan: Search, found: Found, scenario: Any) -> None:
    """Observe and judge one scenario. Raises `_DiffersError` where that is a failure."""
    if scenario.features() & plan.lacks:
        found.skipped += 1
        return
    judged = judge_one(profile, scenario, observing.observe(scenario))
    found.examples += 1
    if judged.differs and judged.broken not in found.sure and (judged.level != "should" or plan.should):
        behind, judged = judged, judge_one(profile, scenario, observing.afresh(scenario))
        if not judged.differs:
            found.unsteady += 1
            found.leaked = found.leaked or f"{behind.broken} in scenario {found.examples}"
    if not judged.differs:
        return
    if judged.level == "should" and not plan.should:
        found.should[judged.broken] = found.should.get(judged.broken, 0) + 1
        return
    _keep(found, judged)
    if judged.level == "incomplete" and judged.broken != OPEN:
        found.unjudged += 1
        observing.hurry(on=True)
    found.gave_up = found.unjudged >= PATIENCE
    if plan.one or found.gave_up:
        raise _Enough
    raise _kind(judged.broken)(judged.broken)


def _keep(found: Found, judged: Judged) -> None:
    """Keep a failure where it is the first or the smallest of its kind."""
    found.first = found.first or found.examples
    found.sure.setdefault(judged.broken, judged)
    smallest = found.failures.get(judged.broken)
    if smallest is None or judged.size() <= smallest.size():
        found.failures[judged.broken] = judged


@cache
def _kind(broken: str) -> type[_DiffersError]:
    """The type of a failure: hypothesis takes failures of different types for different ones."""
    return type(f"Breaks_{broken}", (_DiffersError,), {})
