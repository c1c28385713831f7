"""`looptck fuzz TARGET`: scenarios that nobody wrote, each held against what the oracle predicts of it."""

from __future__ import annotations

import sys
import time
from contextlib import closing, contextmanager, nullcontext, redirect_stdout
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from looptck.cli import UsageError, app
from looptck.cli.check import TargetArgument
from looptck.cli.choosing import sweepable, target_of
from looptck.cli.ending import insisting
from looptck.cli.options import JsonOption, ProfileOption, SeedOption, console, drawn, known_profile, named
from looptck.cli.outputs import Outputs
from looptck.fuzz.saved import FOLDER, usable
from looptck.report.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from looptck.fuzz.observing import Here, Observer
    from looptck.fuzz.report import FuzzReport
    from looptck.fuzz.search import Found, Search
    from looptck.profile import Profile
    from looptck.target import Target

_OFTEN = 25
"""Examples between two words of progress."""
_MINUTE = 60


@app.command()
def fuzz(
    target: TargetArgument = "",
    *,
    profile: ProfileOption = "ag03",
    examples: Annotated[
        int | None, typer.Option(min=1, help="Scenarios at most: 1000, or with --minutes no limit.")
    ] = None,
    minutes: Annotated[float | None, typer.Option(min=0.01, help="Time at most, shrinking included.")] = None,
    seed: SeedOption = None,
    should: Annotated[bool, typer.Option("--should", help="Good sense counts as well, and is shrunk.")] = False,
    crash_sweep: Annotated[
        bool, typer.Option("--crash-sweep", help="Stop runs at a step, and resume them from the journal.")
    ] = False,
    save: Annotated[str, typer.Option(metavar="DIR", help="Where failing scenarios are kept.")] = FOLDER,
    json: JsonOption = None,
    isolation: Annotated[
        Literal["fork", "none"], typer.Option(help="fork: in a child; none: in this process, for debuggers.")
    ] = "fork",
    limit: Annotated[float, typer.Option(min=0.1, max=3600, help="Seconds of real time for one scenario.")] = 5.0,
) -> int:
    """Search for scenarios in which a loop is not what the specification makes of them, and shrink what is found.

    The same seed gives the same scenarios. What is saved can be run again with `looptck replay`, and by `looptck check
    --scenarios` ever after. This is no sandbox: the loop runs with your rights.
    """
    known_profile(profile)
    named("--save", save)
    outputs = Outputs(json=json)
    outputs.look()
    loop = target_of(target, profile)
    if crash_sweep:
        sweepable(profile)
    _savable(save)
    plan = _search(drawn(seed), examples, minutes, should=should, sweep=crash_sweep)
    with redirect_stdout(sys.stderr) if outputs.quiet else nullcontext():  # what a loop prints here is no JSON
        report = _fuzz(loop, profile, plan, _Way(isolation, limit, save, quiet=outputs.quiet))
    outputs.write(json=report.model_dump_json(by_alias=True, indent=1))
    if report.interrupted:
        raise KeyboardInterrupt  # what was found is kept and told, and the command ends as one that was interrupted
    return report.exit_code()


def _savable(save: str) -> None:
    """See before the work that what is found can be kept. Raises `UsageError` where it cannot."""
    try:
        usable(Path(save))
    except OSError as error:
        raise UsageError(f"--save {save}: {error.strerror}; name a folder") from None


class _Way:
    """How scenarios are observed, and where those that fail are kept."""

    def __init__(self, isolation: Literal["fork", "none"], limit: float, save: str, *, quiet: bool) -> None:
        self.isolation, self.limit, self.save, self.quiet = isolation, limit, Path(save), quiet

    def observing(self, profile: Profile, load: Callable[[], Any]) -> Observer | Here:
        """What observes, which is to be closed."""
        from looptck.fuzz.observing import Here, Observer  # noqa: PLC0415 - `looptck --help` needs no kit

        return (Here if self.isolation == "none" else Observer)(profile, load, self.limit)


def _search(seed: int, examples: int | None, minutes: float | None, *, should: bool, sweep: bool) -> Search:
    try:
        from looptck.fuzz.search import DEFAULT_EXAMPLES, WITHOUT_END, Search  # noqa: PLC0415 - hypothesis is heavy
    except ModuleNotFoundError as error:
        if error.name != "hypothesis":
            raise
        raise UsageError('fuzz needs hypothesis: python -m pip install "looptck[fuzz]"') from None
    number = examples or (DEFAULT_EXAMPLES if minutes is None else WITHOUT_END)
    until = None if minutes is None else time.monotonic() + minutes * _MINUTE
    return Search(seed, number, until, should=should, sweep=sweep)


def _fuzz(target: Target, name: str, plan: Search, way: _Way) -> FuzzReport:
    from dataclasses import replace  # noqa: PLC0415 - likewise

    from looptck.describe import describe  # noqa: PLC0415 - likewise
    from looptck.fuzz.report import refused, report_of  # noqa: PLC0415 - likewise
    from looptck.fuzz.telling import tell  # noqa: PLC0415 - likewise
    from looptck.profile import profile_of  # noqa: PLC0415 - likewise
    from looptck.target import Loader  # noqa: PLC0415 - likewise

    out, profile, begun = console(quiet=way.quiet), profile_of(name), time.perf_counter()
    load: Callable[[], Any] = Loader(target, name)
    if way.isolation == "none":  # in this process a target is imported once
        load = cache(load)
    out.print(f"Fuzzing {one_line(target.text)} against {name} (seed {plan.seed})", markup=False, highlight=False)
    description = describe(load, isolated=way.isolation != "none", limit=way.limit)
    if description.refused:
        typer.echo(f"looptck: {one_line(description.refused)}", err=True)
        return refused(target.text, name, plan, description.refused)
    found = _found(profile, load, replace(plan, lacks=frozenset(description.lacks)), way)
    files = _saved(found, name, way)
    report = report_of(target.text, name, plan, found, files, time.perf_counter() - begun)
    tell(out, report, found, profile, way.isolation, way.limit)
    return report


def _found(profile: Profile, load: Callable[[], Any], plan: Search, way: _Way) -> Found:
    """Search; what was found until somebody interrupted it, too."""
    from looptck.fuzz.search import Found, keeping_nothing, search  # noqa: PLC0415 - likewise

    found = Found()
    try:
        with (
            keeping_nothing(),
            insisting() if way.isolation == "none" else nullcontext(),
            closing(way.observing(profile, load)) as observing,
            _progress(shown=way.isolation != "none") as told,
        ):
            search(profile, observing, plan, told, found)
    except KeyboardInterrupt:
        found.interrupted = True
    return found


@contextmanager
def _progress(*, shown: bool) -> Iterator[Callable[[Found], None]]:
    """Examples and their rate on standard error, gone when done; nothing off a terminal."""
    from rich.console import Console  # noqa: PLC0415 - likewise
    from rich.progress import Progress, TextColumn, TimeElapsedColumn  # noqa: PLC0415 - likewise

    err = Console(stderr=True)
    words = TextColumn("fuzzing: {task.completed:.0f} scenarios, {task.fields[rate]:.0f}/s, {task.fields[found]}")
    hidden, begun = not (shown and err.is_terminal), time.perf_counter()
    with Progress(words, TimeElapsedColumn(), console=err, transient=True, disable=hidden, auto_refresh=False) as bar:
        task = bar.add_task("fuzzing", total=None, rate=0.0, found="nothing found")

        def told(found: Found) -> None:
            if found.examples % _OFTEN == 0:
                rate = found.examples / (time.perf_counter() - begun)
                what = f"shrinking {len(found.failures)}" if found.failures else "nothing found"
                bar.update(task, completed=found.examples, rate=rate, found=what, refresh=True)

        yield told


def _saved(found: Found, profile: str, way: _Way) -> dict[str, str]:
    """Keeps each failing scenario; the files by what was broken. Raises `UsageError` where one cannot be written."""
    from looptck.fuzz.telling import keep  # noqa: PLC0415 - likewise

    try:
        return keep(found, profile, way.save)
    except OSError as error:
        raise UsageError(f"--save {way.save}: {error.strerror}") from None
