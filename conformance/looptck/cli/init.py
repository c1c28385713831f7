"""`looptck init DIR`: a starter, a loop to be written with what belongs around it."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from looptck import __version__
from looptck.cli import UsageError, app
from looptck.cli.options import ProfileOption, known_profile

if TYPE_CHECKING:
    from collections.abc import Mapping


@app.command()
def init(
    folder: Annotated[str, typer.Argument(metavar="DIR", help="Where to write it; made where it is not there.")],
    *,
    profile: ProfileOption = "ag03",
) -> int:
    """Write a starter: the skeleton of a loop, what to do with it, a workflow for CI. Nothing is overwritten."""
    from looptck.report.again import typed  # noqa: PLC0415 - `looptck --help` needs no suite
    from looptck.starter import LOOP, starter  # noqa: PLC0415 - likewise
    from looptck.suite import tests_of  # noqa: PLC0415 - likewise

    known_profile(profile)
    if not folder:
        raise UsageError("DIR: the name is empty; . is the folder that you are in")
    place = Path(folder)
    for file in written(place, starter(profile, __version__)):
        typer.echo(file)
    typer.echo(
        f"next: looptck check {quote(typed(str(place / LOOP)))} --profile {profile} -k {tests_of(profile)[0].name}"
    )
    return 0


def written(place: Path, texts: Mapping[str, str]) -> list[Path]:
    """Write all files, or none; the paths below `place` are the keys of `texts`.

    Raises `UsageError` where a file of such a name is there already, and where one cannot be written.
    """
    there = [str(place / path) for path in texts if os.path.lexists(place / path)]
    if there:
        raise UsageError(f"nothing was written: there is already {', '.join(there)}; choose another folder")
    made: list[Path] = []
    try:
        for path, text in texts.items():
            file = place / path
            _make_folder(file.parent, made)
            with file.open("x", encoding="utf-8") as stream:
                made.append(file)
                stream.write(text)
    except (OSError, ValueError) as error:  # a ValueError is a name with a null character in it
        _remove(made)
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"nothing was written: {str(place)!r}: {reason}; choose another folder") from None
    return [place / path for path in texts]


def _make_folder(folder: Path, made: list[Path]) -> None:
    """Make a folder and those above it; what was not there joins `made`."""
    for each in reversed((folder, *folder.parents)):
        if not each.is_dir():
            each.mkdir()
            made.append(each)


def _remove(made: list[Path]) -> None:
    """Take back what was made, the last first."""
    for path in reversed(made):
        with suppress(OSError):  # somebody else has put something there meanwhile
            if path.is_dir():
                path.rmdir()
            else:
                path.unlink()
