"""Where the verbs write their reports beside the text: JSON, JUnit, HTML, a folder, GitHub."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from looptck.cli import UsageError
from looptck.cli.options import writable, write

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from looptck.report.folder import RunFolder

SUMMARY = "GITHUB_STEP_SUMMARY"


@dataclass(frozen=True, slots=True)
class Outputs:
    """The places that the options name; `-` for JSON is standard output, and text then goes to standard error."""

    json: str | None = None
    junit: str | None = None
    html: str | None = None
    folder: str | None = None
    github: bool = False

    @property
    def quiet(self) -> bool:
        """Whether standard output carries JSON alone."""
        return self.json == "-"

    def look(self) -> None:
        """See before the work that everything can be written. Raises `UsageError` where something cannot."""
        places: dict[Path, str] = {}
        for option, place in (("--json", self.json), ("--junit", self.junit), ("--html", self.html)):
            if place is None or (place == "-" and option == "--json"):
                continue
            file = Path(os.path.abspath(place))  # noqa: PTH100 - links are not followed: the folder's may be none yet
            if self.folder is not None and Path(os.path.abspath(self.folder)) in file.parents:  # noqa: PTH100 - likewise
                raise UsageError(f"{option} {place}: lies in the folder of --report, which the next run moves aside")
            if (other := places.setdefault(file, option)) != option:
                raise UsageError(f"{option} {place}: {other} goes to the same file")
        writable("--json", None if self.quiet else self.json)
        writable("--junit", self.junit)
        writable("--html", self.html)

    @contextmanager
    def open(self, header: dict[str, Any]) -> Iterator[RunFolder | None]:
        """The folder of `--report`, or None in its place. Raises `UsageError` where it cannot be used or written."""
        from looptck.report.folder import FolderError, RunFolder  # noqa: PLC0415 - only for who wants one

        if self.folder is None:
            yield None
            return
        try:
            with RunFolder(Path(self.folder), header) as folder:
                yield folder
        except FolderError as error:
            raise UsageError(f"--report {error}") from None

    def write(self, *, json: str, junit: Callable[[], str] | None = None, html: Callable[[], str]) -> None:
        """Write the reports; those that nobody asked for are not made. Raises `UsageError`."""
        if self.quiet:
            sys.stdout.write(json + "\n")
        else:
            write("--json", self.json, lambda: json + "\n")
        if junit is not None:
            write("--junit", self.junit, junit)
        write("--html", self.html, html)

    def annotate(self, lines: Callable[[], Sequence[str]], summary: Callable[[], str]) -> None:
        """Print annotations, and append the summary where GitHub Actions wants it. Raises `UsageError`."""
        if not self.github:
            return
        for line in lines():
            typer.echo(line, err=self.quiet)
        place = os.environ.get(SUMMARY)
        if place:
            try:
                with Path(place).open("a", encoding="utf-8", errors="backslashreplace") as file:
                    file.write(summary())
            except OSError as error:
                raise UsageError(f"{SUMMARY} {place}: {error.strerror}") from None
