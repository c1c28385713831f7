"""`looptck scenario NAME`: a scenario of a suite as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from looptck.cli import UsageError, app
from looptck.cli.options import ProfileOption, SeedOption, drawn, known_profile

if TYPE_CHECKING:
    from collections.abc import Iterable


@app.command()
def scenario(
    name: Annotated[str, typer.Argument(metavar="[NAME]", help="A scenario, or TEST/SCENARIO.")] = "",
    *,
    profile: ProfileOption = "ag03",
    seed: SeedOption = None,
    list_: Annotated[
        bool, typer.Option("--list", help="List the scenarios, as TEST/SCENARIO, and their checks.")
    ] = False,
) -> int:
    """Print a scenario of a suite as JSON, or list them.

    Those of ag03 are what `looptck serve-model` takes. The seed of its values is told on standard error.
    """
    known_profile(profile)
    number = drawn(seed)
    scenarios = _scenarios(profile, number)
    if list_ or not name:
        _list(profile, scenarios)
        return 0
    whole, chosen = _chosen(name, profile, scenarios)
    typer.echo(f"{whole} of {profile}, seed {number}", err=True)
    typer.echo(json.dumps(chosen.model_dump(mode="json", exclude_defaults=True), indent=2))
    return 0


def _scenarios(profile: str, seed: int) -> dict[str, Any]:
    """Every scenario of the profile, under its test and name."""
    from looptck.suite import tests_of  # noqa: PLC0415 - `looptck --help` needs no suite
    from looptck.suite.labels import Labels  # noqa: PLC0415 - likewise

    built = {test.name: test.build(Labels(seed, test.name)) for test in tests_of(profile)}
    return {f"{test}/{each.name}": each for test, scenarios in built.items() for each in scenarios}


def _list(profile: str, scenarios: Iterable[str]) -> None:
    from looptck.suite import tests_of  # noqa: PLC0415 - see _scenarios

    checks = {test.name: test.checks for test in tests_of(profile)}
    for whole in scenarios:
        test, _, name = whole.partition("/")
        typer.echo(f"{whole:<64} {sum(name in check.on for check in checks[test]):>3} checks")


def _chosen(name: str, profile: str, scenarios: dict[str, Any]) -> tuple[str, Any]:
    """The one scenario of that name. Raises `UsageError` where there is none, or more than one."""
    found = [whole for whole in scenarios if name in {whole, whole.partition("/")[2]}]
    if not found:
        raise UsageError(f"{profile} has no scenario {name!r}; `looptck scenario --list` shows them")
    if len(found) > 1:
        raise UsageError(f"several tests have a scenario {name!r}: say {' or '.join(found)}")
    return found[0], scenarios[found[0]]
