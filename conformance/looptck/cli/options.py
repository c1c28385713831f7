"""What the verbs share: option types, targets by name, writing JSON, consoles."""

from __future__ import annotations

import os
import secrets
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TextIO, TypeAlias, cast

import typer

from looptck.cli import UsageError
from looptck.report.text import no_commands
from looptck.suite import PROFILES, SEEDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.console import Console

ProfileOption: TypeAlias = Annotated[str, typer.Option("--profile", help="The specification to check against.")]
SeedOption: TypeAlias = Annotated[
    int | None, typer.Option("--seed", min=0, help="Seed of the scenarios' values; drawn and printed where not given.")
]
JsonOption: TypeAlias = Annotated[
    str | None, typer.Option("--json", metavar="FILE|-", help="Write the report as JSON; - is standard output.")
]
HtmlOption: TypeAlias = Annotated[
    str | None, typer.Option("--html", metavar="FILE", help="Write the report as one HTML page.")
]
JunitOption: TypeAlias = Annotated[
    str | None, typer.Option("--junit", metavar="FILE", help="Write the report as JUnit XML.")
]
FolderOption: TypeAlias = Annotated[
    str | None, typer.Option("--report", metavar="DIR", help="Write each result to this folder as soon as it is there.")
]
FormatOption: TypeAlias = Annotated[
    Literal["text", "github"],
    typer.Option("--output-format", help="github: annotations too, and a summary to $GITHUB_STEP_SUMMARY."),
]
JobsOption: TypeAlias = Annotated[int, typer.Option("--jobs", min=0, help="Children at a time; 0: one for each core.")]


def known_profile(profile: str) -> str:
    """The profile itself. Raises `UsageError` where there is none of that name."""
    if profile not in PROFILES:
        raise UsageError(f"there is no profile {profile!r}; there are {' and '.join(PROFILES)}")
    return profile


def drawn(seed: int | None) -> int:
    """The seed, or a new one."""
    return secrets.randbelow(SEEDS) if seed is None else seed


def named(option: str, place: str | None) -> None:
    """Raises `UsageError` for a place without a name, as an unset variable of a script gives it."""
    if place == "":
        raise UsageError(f"{option}: the name is empty")


def writable(option: str, place: str | None) -> None:
    """See before the work that its report can be written. Raises `UsageError` where it cannot."""
    if place is None:
        return
    named(option, place)
    file, new = Path(place), not os.path.lexists(place)
    try:
        with file.open("a", encoding="utf-8"):
            pass
        if new:
            file.unlink()
    except (OSError, ValueError) as error:
        raise UsageError(f"{option} {place!r}: {getattr(error, 'strerror', None) or error}") from None


def write(option: str, place: str | None, make: Callable[[], str], base: Path | None = None) -> None:
    """Write a report where an option says, from `base` if that is given. Raises `UsageError` where it cannot."""
    if place is None:
        return
    try:
        (base or Path()).joinpath(place).write_text(make(), encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise UsageError(f"{option} {place}: {error.strerror}") from None


def console(*, quiet: bool) -> Console:
    """Where people read: standard output, or standard error where that carries JSON."""
    from rich.console import Console  # noqa: PLC0415 - `looptck --version` needs no tables

    stream = cast("TextIO", _Log(sys.stderr if quiet else sys.stdout))
    return Console(file=stream, highlight=False, width=None if sys.stdout.isatty() else 140)


class _Log:
    """A stream that may end up in the log of a CI: nothing that is written to it is a command there."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write whole lines."""
        return self._stream.write(no_commands(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def progress(total: int, what: str, *, shown: bool = True) -> Iterator[Callable[[], None]]:
    """A bar on standard error while there is something to wait for, and a function that advances it.

    It is gone when done, and there is none off a terminal, or where a debugger may want the terminal.
    """
    from rich.console import Console  # noqa: PLC0415 - see console
    from rich.progress import Progress  # noqa: PLC0415 - see console

    err = Console(stderr=True)
    hidden = not (shown and err.is_terminal)
    with Progress(console=err, transient=True, disable=hidden, auto_refresh=False) as bar:  # no thread: we are to fork
        task = bar.add_task(what, total=total)
        yield lambda: bar.update(task, advance=1, refresh=True)
