"""`looptck serve-model SCENARIO.json`: a scenario's model alone, for clients in any language."""

from __future__ import annotations

import json as jsonlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from looptck.cli import UsageError, app
from looptck.cli.options import JsonOption, writable, write

if TYPE_CHECKING:
    from collections.abc import Sequence

    from looptck.scenario import Scenario
    from looptck.serve.report import ServeReport

LAST_PORT = 65_535


@app.command("serve-model")
def serve_model(
    file: Annotated[str, typer.Argument(metavar="SCENARIO.json", help="See `looptck scenario`.")],
    command: Annotated[
        list[str] | None, typer.Argument(metavar="[-- COMMAND ARG...]", help="A client to run, and to judge.")
    ] = None,
    *,
    port: Annotated[int, typer.Option(min=0, max=LAST_PORT, help="0: any that is free.")] = 0,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    idle: Annotated[
        float | None,
        typer.Option(min=0.01, metavar="SECONDS", help="End after so long without a request, once one has come."),
    ] = None,
    own_input: Annotated[
        bool, typer.Option("--own-input", help="The client asks its own question: do not look at the input.")
    ] = False,
    json: JsonOption = None,
) -> int:
    """Serve the model of a scenario, OpenAI-compatible, and judge the loop that asks it by its requests.

    Standard output is a JSON line with the base URL, one for each request, and one with the verdict; standard error is
    for people, and for what the COMMAND prints. The COMMAND finds OPENAI_BASE_URL, OPENAI_API_KEY, and the path of the
    scenario in LOOPTCK_SCENARIO. Without one, serving ends with Ctrl-C, SIGTERM or SIGHUP, with standard input where
    that is a pipe, or by --idle.

    Exit codes: 0 every must that was looked at holds · 1 a must failed · 2 nothing was asked, or less than the loop
    owed and it may have been cut short · 3 a fault of the kit · 4 usage.
    """
    place = None if json == "-" else json  # standard output has it anyway
    writable("--json", place)
    told = _Told()
    report = _report(file, host, port, told, command=command or (), idle=idle, own_input=own_input)
    told.line(report.model_dump(by_alias=True))
    _print(report)
    write("--json", place, lambda: report.model_dump_json(by_alias=True, indent=1) + "\n")
    told.end()
    return report.exit_code()


def _report(
    file: str, host: str, port: int, told: _Told, *, command: Sequence[str], idle: float | None, own_input: bool
) -> ServeReport:
    from looptck.serve.session import CannotServeError, Place, serve  # noqa: PLC0415 - `looptck --help` needs no server

    scenario, place = _scenario(file), Place(host, port)
    try:
        return serve(scenario, told, place=place, file=file, command=command, idle=idle, own_input=own_input)
    except CannotServeError as error:
        raise UsageError(str(error)) from None


def _print(report: ServeReport) -> None:
    from looptck.serve.report import summary  # noqa: PLC0415 - see _report

    for line in summary(report):
        typer.echo(line, err=True)


def _scenario(file: str) -> Scenario:
    from looptck.scenario import ScenarioError, load_scenario  # noqa: PLC0415 - see _report

    try:
        scenario: Scenario = load_scenario(Path(file).read_text(encoding="utf-8"), file)
        served = scenario.model_copy(update={"transport": "http"})
        again: Scenario = load_scenario(served.model_dump_json(), file)  # some have no form over HTTP
    except ScenarioError as error:
        raise UsageError(f"{error}; {_hint(file)}") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"{file}: {getattr(error, 'strerror', None) or error}") from None
    return again


def _hint(file: str) -> str:
    from looptck.lesson4.scenario import Scenario as Other  # noqa: PLC0415 - see _report

    try:
        Other.model_validate_json(Path(file).read_text(encoding="utf-8"))
    except ValueError:
        return "`looptck scenario NAME` prints one of ag03"
    return "it is a scenario of lesson4, and only those of ag03 are served"


class _Told:
    """What is told while a scenario is served: JSON lines on standard output, and the same for people.

    A reader who has enough, as `head -1` has, ends neither the serving nor the verdict: `end` raises for it.
    """

    def __init__(self) -> None:
        self._broken: BrokenPipeError | None = None

    def __call__(self, line: dict[str, Any]) -> None:
        from looptck.serve.told import told  # noqa: PLC0415 - see _report

        self.line(line)
        typer.echo(told(line), err=True)

    def line(self, node: dict[str, Any]) -> None:
        """A JSON line, at once: scripts read along."""
        try:
            print(jsonlib.dumps(node), flush=True)  # noqa: T201 - this is the console
        except BrokenPipeError as error:
            self._broken = error
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

    def end(self) -> None:
        """Raises `BrokenPipeError` where standard output was closed before the end."""
        if self._broken is not None:
            raise self._broken
