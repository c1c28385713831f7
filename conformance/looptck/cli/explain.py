"""`looptck explain ID`: a check or a requirement, with what belongs to it."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Annotated

import typer

from looptck.cli import UsageError, app
from looptck.cli.options import ProfileOption, known_profile
from looptck.suite import PROFILES
from looptck.suite.threads import threads_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from looptck.requirements import Requirement
    from looptck.suite.model import Check, Test
    from looptck_mutants.manifest import Mutant

_SCENARIOS = 20
"""Names of scenarios that are told: those of a sweep are too many to read."""

_REPORTED = {
    "crash": "A run that ended its process, or an exception out of the loop's own methods: a must that broke.",
    "limit": "A run that had not ended when its time was up (--limit): it is judged no further, and is incomplete.",
    "open": "A run of which nothing can be said, since the specification leaves too much of it open: it is incomplete.",
    "TestScenarios": "The test that scenario files make together, each a check scenario/NAME: as `looptck explain "
    "as-predicted` says.",
    "fuzz/as-predicted": "The item of a search in pytest (--loop-fuzz): as `looptck explain as-predicted` says.",
}
"""What reports call by a name that no suite has."""


@app.command()
def explain(
    name: Annotated[str, typer.Argument(metavar="ID", help="A check, a requirement, a test or a mutant.")],
    *,
    profile: ProfileOption = "ag03",
) -> int:
    """Explain a check, a requirement, a test or a mutant: what it states, where that stands, what belongs to it."""
    from looptck.requirements import requirements  # noqa: PLC0415 - `looptck --help` needs no suite
    from looptck_mutants.profiles import mutants_of  # noqa: PLC0415 - likewise

    known_profile(profile)
    tests, records, mutants = _tests(profile), requirements(profile), mutants_of(profile)
    checks = {check.id: (test, check) for test in tests for check in test.checks}
    lines: list[str] = []
    if name in checks:
        lines = [*_check(*checks[name], records), *_killed(mutants, {name})]
    elif name in records:
        served = [check for _, check in checks.values() if check.requirement == name]
        lines = [*_requirement(records[name], served), *_killed(mutants, {check.id for check in served})]
    elif name in {test.name for test in tests}:
        lines = list(_test(next(test for test in tests if test.name == name)))
    elif name in {mutant.id for mutant in mutants}:
        mutant = next(mutant for mutant in mutants if mutant.id == name)
        killer = f"{mutant.killer.check} of {mutant.killer.test}" if mutant.killer is not None else "nothing"
        lines = [f"{mutant.id}  {mutant.title}", f"  pitfall  {mutant.pitfall or 'none'}", f"  patch    {mutant.patch}"]
        lines += [f"  killer   {killer}"]
    elif name in _REPORTED:
        lines = [name, f"  {_REPORTED[name]}"]
    else:
        raise UsageError(f"nothing in {profile} is called {name!r}; {_hint(name, profile)}")
    typer.echo("\n".join(lines))
    return 0


def _tests(profile: str) -> tuple[Test, ...]:
    """Those of the suite, and those that run only where they are asked for."""
    from looptck.suite import extras_of, tests_of  # noqa: PLC0415 - `looptck --help` needs no suite

    return (*tests_of(profile), *extras_of(profile))


def _names(profile: str) -> Iterator[str]:
    """Whatever can be explained."""
    from looptck.requirements import requirements  # noqa: PLC0415 - `looptck --help` needs no suite
    from looptck_mutants.profiles import mutants_of  # noqa: PLC0415 - likewise

    yield from (check.id for test in _tests(profile) for check in test.checks)
    yield from requirements(profile)
    yield from (test.name for test in _tests(profile))
    yield from (mutant.id for mutant in mutants_of(profile))


def _hint(name: str, profile: str) -> str:
    """What may be meant by a name that the profile does not have: that of another profile before one like it."""
    if name.startswith("scenario/"):
        return "such a check is that of a scenario file of your own, which `looptck replay` runs: it is as predicted"
    for other in PROFILES:
        if name in _names(other):
            return f"it is of {other}: add --profile {other}"
    near = difflib.get_close_matches(name, _names(profile), n=3)
    return f"is it {' or '.join(near)}?" if near else "`looptck check --list` shows the checks"


def _check(test: Test, check: Check, records: Mapping[str, Requirement]) -> Iterator[str]:
    requirement = records[check.requirement]
    yield f"{check.id}  ({requirement.level}, section {requirement.section}, {test.name})"
    yield f"  {check.statement}"
    yield f"  requirement  {requirement.id}: {requirement.statement}"
    for alternative in requirement.alternatives:
        yield f"  accepted     {alternative}"
    rest = f" and {len(check.on) - _SCENARIOS} more" if len(check.on) > _SCENARIOS else ""
    yield f"  scenarios    {', '.join(check.on[:_SCENARIOS])}{rest}"
    for thread in threads_of(check.id):
        yield f"  thread       {thread.title}: {thread.happened}"
        yield f"               {thread.url}"


def _requirement(requirement: Requirement, checks: list[Check]) -> Iterator[str]:
    yield f"{requirement.id}  ({requirement.level}, section {requirement.section})"
    yield f"  {requirement.statement}"
    for alternative in requirement.alternatives:
        yield f"  accepted     {alternative}"
    for check in checks:
        yield f"  check        {check.id}: {check.statement}"
    if requirement.unchecked:
        yield f"  no check     {requirement.unchecked}"


def _killed(mutants: Iterable[Mutant], checks: set[str]) -> Iterator[str]:
    """The mutants that have to be killed by one of the checks."""
    for mutant in mutants:
        if mutant.killer is not None and mutant.killer.check in checks:
            yield f"  mutant       {mutant.id}  {mutant.title}"


def _test(test: Test) -> Iterator[str]:
    yield f"{test.name}  (section {test.section})"
    for check in test.checks:
        yield f"  {check.id:<32} {check.statement}"
