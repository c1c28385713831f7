"""The command line, the composition root: the only place of the kit that knows references and mutants.

Every way out has its documented exit code (`looptck.report.model`): 0 all must-checks passed, 1 one failed, 2 something
that had to run did not, 3 the kit itself is at fault, 4 usage, or output that cannot be written.
"""

from __future__ import annotations

import os
import sys
import traceback
from typing import TYPE_CHECKING, Annotated

import typer
from typer.exceptions import TyperException

from looptck import __version__
from looptck.cli.ending import terminated, terminating
from looptck.cli.streams import OutputError, all_written
from looptck.exit_codes import EXIT_FAULT, EXIT_INTERRUPTED, EXIT_TERMINATED, EXIT_USAGE
from looptck.report.text import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

app = typer.Typer(
    name="looptck",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="A conformance test kit for LLM agent loops.\n\n"
    "Exit codes: 0 every must-check passed (or every mutant was killed) · 1 a check failed or a mutant got away · "
    "2 something that had to run did not · 3 a fault of the kit · 4 usage, or output that cannot be written · "
    "130 interrupted · 143 terminated.",
)


class UsageError(Exception):
    """What the user asked for cannot be done; the text is one line that says what, where and what to do."""


def _version(*, value: bool) -> None:
    if value:
        typer.echo(f"looptck {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=lambda value: _version(value=value), is_eager=True, help="Show it.")
    ] = False,
) -> None:
    """Options of the command itself."""


def run(arguments: Sequence[str]) -> int:
    """Run the command line and return its exit code. Nothing is raised: errors are one line on stderr."""
    with terminating():
        text, code = _run(arguments)
        if terminated():
            text, code = "terminated", EXIT_TERMINATED
    if text:
        print("looptck: " + one_line(" ".join(text.split())), file=sys.stderr)  # noqa: T201 - this is the console
    return code


def _verbs() -> None:
    """Import the modules of the verbs, each of which adds its own."""
    from looptck.cli import (  # noqa: PLC0415 - they import this module
        check,  # noqa: F401
        explain,  # noqa: F401
        fuzz,  # noqa: F401
        init,  # noqa: F401
        mutants,  # noqa: F401
        replay,  # noqa: F401
        scenario,  # noqa: F401
        serve_model,  # noqa: F401
    )


def _run(arguments: Sequence[str]) -> tuple[str, int]:
    """What is to be said at the end, if anything, and the exit code."""
    try:
        _verbs()
        result = app(list(arguments) or ["--help"], standalone_mode=False)
        all_written()
    except (TyperException, UsageError, OutputError) as error:
        hint = "" if isinstance(error, OutputError) else " (looptck --help)"
        text: str = getattr(error, "format_message", error.__str__)()
        return text.replace(": Value error, ", ": ") + hint, EXIT_USAGE  # words of pydantic's
    except (KeyboardInterrupt, typer.Abort):
        return "interrupted", EXIT_INTERRUPTED
    except (BrokenPipeError, SystemExit):  # whoever read the output has enough; typer exits on that, with 1
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return "", EXIT_INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the kit's own bug: one line, and the traceback for whoever asks
        if os.environ.get("LOOPTCK_TRACEBACK"):
            traceback.print_exc()
        return f"fault of the kit: {type(error).__name__}: {error} (LOOPTCK_TRACEBACK=1 shows where)", EXIT_FAULT
    if result == EXIT_INTERRUPTED:  # typer's own answer to Ctrl-C
        return "interrupted", EXIT_INTERRUPTED
    return "", result if isinstance(result, int) else 0
