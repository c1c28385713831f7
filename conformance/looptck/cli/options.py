"""What the verbs share: option types, targets by name, writing JSON, consoles."""

from __future__ import annotations

import os
import secrets
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from looptck.cli import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.console import Console

REFERENCES = {"ag03": "looptck_reference:Agent", "lesson4": "looptck_reference.metered:Agent"}
SEEDS = 1_000_000

ProfileOption: TypeAlias = Annotated[str, typer.Option("--profile", help="The specification to check against.")]
SeedOption: TypeAlias = Annotated[
    int | None, typer.Option("--seed", min=0, help="Seed of the scenarios' values; drawn and printed where not given.")
]
JsonOption: TypeAlias = Annotated[
    str | None, typer.Option("--json", metavar="FILE|-", help="Write the report as JSON; - is standard output.")
]
JobsOption: TypeAlias = Annotated[int, typer.Option("--jobs", min=0, help="Children at a time; 0: one for each core.")]


def known_profile(profile: str) -> str:
    """The profile itself. Raises `UsageError` where there is none of that name."""
    if profile not in REFERENCES:
        raise UsageError(f"there is no profile {profile!r}; there are {' and '.join(REFERENCES)}")
    return profile


def drawn(seed: int | None) -> int:
    """The seed, or a new one."""
    return secrets.randbelow(SEEDS) if seed is None else seed


def writable(place: str | None) -> None:
    """See before the work that its report can be written. Raises `UsageError` where it cannot."""
    if place is None or place == "-":
        return
    file, new = Path(place), not os.path.lexists(place)
    try:
        with file.open("a", encoding="utf-8"):
            pass
        if new:
            file.unlink()
    except (OSError, ValueError) as error:
        raise UsageError(f"--json {place!r}: {getattr(error, 'strerror', None) or error}") from None


def write_json(text: str, place: str | None) -> None:
    """Write a report where `--json` says. Raises `UsageError` where that cannot be written."""
    if place is None:
        return
    if place == "-":
        sys.stdout.write(text + "\n")
        return
    try:
        Path(place).write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--json {place}: {error.strerror}") from None


def console(*, quiet: bool) -> Console:
    """Where people read: standard output, or standard error where that carries JSON."""
    from rich.console import Console  # noqa: PLC0415 - `looptck --version` needs no tables

    return Console(stderr=quiet, highlight=False, width=None if sys.stdout.isatty() else 140)


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
