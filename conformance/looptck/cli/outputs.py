"""Where the verbs write their reports beside the text: JSON, JUnit, HTML, a folder, GitHub."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from looptck.cli import UsageError
from looptck.cli.options import named, writable, write
from looptck.report.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from looptck.report.folder import RunFolder

SUMMARY = "GITHUB_STEP_SUMMARY"


def _here() -> Path:
    try:
        return Path.cwd()
    except OSError:  # somebody has removed it
        return Path()


@dataclass(frozen=True, slots=True)
class Outputs:
    """The places that the options name; `-` for JSON is standard output, and text then goes to standard error."""

    json: str | None = None
    junit: str | None = None
    html: str | None = None
    folder: str | None = None
    github: bool = False
    base: Path = field(default_factory=_here)
    """What their names start from: a target in this process may go elsewhere."""

    @property
    def quiet(self) -> bool:
        """Whether standard output carries JSON alone."""
        return self.json == "-"

    def look(self) -> None:
        """See before the work that everything can be written. Raises `UsageError` where something cannot."""
        named("--report", self.folder)
        places: dict[str, str] = {}
        for option, place in (("--json", self.json), ("--junit", self.junit), ("--html", self.html)):
            if place is None:
                continue
            file = os.path.realpath("/dev/stdout" if (option, place) == ("--json", "-") else place)
            if self.folder is not None and Path(os.path.realpath(self.folder)) in Path(file).parents:
                raise UsageError(f"{option} {place}: lies in the folder of --report, which the next run moves aside")
            if (other := places.setdefault(file, option)) != option:
                raise UsageError(f"{option} {place}: {other} goes to the same file")
        writable("--json", None if self.quiet else self.json)
        writable("--junit", self.junit)
        writable("--html", self.html)
        writable(SUMMARY, self._summary)

    @property
    def _summary(self) -> str | None:
        """Where GitHub Actions wants the summary."""
        return (os.environ.get(SUMMARY) or None) if self.github else None

    @contextmanager
    def open(self, header: dict[str, Any]) -> Iterator[RunFolder | None]:
        """The folder of `--report`, or None in its place. Raises `UsageError` where it cannot be used or written."""
        from looptck.report.folder import FolderError, RunFolder  # noqa: PLC0415 - only for who wants one

        if self.folder is None:
            yield None
            return
        try:
            with RunFolder(self.base / self.folder, header) as folder:
                yield folder
        except FolderError as error:
            raise UsageError(f"--report {error}") from None

    def write(
        self, *, json: str, junit: Callable[[], str] | None = None, html: Callable[[], str] | None = None
    ) -> None:
        """Write the reports; those that nobody asked for are not made. Raises `UsageError`."""
        if self.quiet:
            sys.stdout.write(json + "\n")
        else:
            write("--json", self.json, lambda: json + "\n", self.base)
        if junit is not None:
            write("--junit", self.junit, junit, self.base)
        if html is not None:
            write("--html", self.html, html, self.base)

    def annotate(self, lines: Callable[[], Sequence[str]], summary: Callable[[], str]) -> None:
        """Print annotations, and append the summary where GitHub Actions wants it.

        A summary that cannot be written any more, when all is judged and told, is a line on standard error.
        """
        if not self.github:
            return
        for line in lines():
            typer.echo(line, err=self.quiet)
        if (place := self._summary) is None:
            return
        try:
            with (self.base / place).open("a", encoding="utf-8", errors="backslashreplace") as file:
                file.write(summary())
        except OSError as error:
            typer.echo(f"looptck: {SUMMARY} {one_line(place)}: {error.strerror}; the verdict stands", err=True)
