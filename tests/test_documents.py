"""What the documents show is what happens: commands and code are run, tables and maps compared, links followed.

Run as a program, this file writes the tables anew, and the output of commands.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import get_args

import pytest
import typer

from looptck import cli, exit_codes, suite
from looptck.report import model
from looptck.report.diagnosis import diagnosed, headline
from looptck.requirements import Requirement, requirements
from looptck.suite import PROFILES
from looptck.suite.labels import Labels
from looptck.suite.threads import THREADS
from looptck_mutants.fuzzed import recorded, summary_table, survival_table
from looptck_mutants.manifest import Mutant
from looptck_mutants.matrix import columns_of
from looptck_mutants.outcome import Fate
from looptck_mutants.profiles import known_checks, mutants_of

ROOT = Path(__file__).parents[1]
WITH_CONSOLE = (
    "README.md",
    "CONTRIBUTING.md",
    "docs/field.md",
    "docs/durable.md",
    "docs/fuzzing.md",
    "docs/pytest.md",
    "docs/serve-model.md",
    "docs/your-loop-mutants.md",
    "docs/your-tests.md",
    "examples/README.md",
)
WITH_PYTHON = ("README.md", "CONTRIBUTING.md", "docs/adapters.md")
SEEN = ("docs", "examples", "tests")
"""Where the files lie that commands name."""
GAP = "…"
"""Stands for lines of output that a document leaves out."""
STARTS = {"looptck": ("-m", "looptck"), "pytest": ("-m", "pytest"), "python": ()}
"""The commands that documents show, as arguments of this interpreter."""


def read(document: str) -> str:
    return (ROOT / document).read_text(encoding="utf-8")


def blocks(document: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", read(document), re.DOTALL | re.MULTILINE)


# ------------------------------------------------------------------------------------------------------------- commands


@dataclass
class Shown:
    """A command in a document, with the lines of output and the exit code that are shown for it."""

    document: str
    command: str
    lines: list[str] = field(default_factory=list)
    code: int = 0


def shown_in(document: str) -> Iterator[Shown]:
    """Every command of the document's console blocks; `$ echo $?` behind it shows its exit code."""
    for block in blocks(document, "console"):
        assert block.startswith("$ "), f"{document} has a console block that no test runs: {block[:40]!r}"
        shown: Shown | None = None
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *lines = part.splitlines()
            if command == "echo $?" and shown is not None:
                shown.code = int(lines[0])
            else:
                shown = Shown(document, command, lines)
                yield shown


@cache
def run(command: str) -> tuple[int, tuple[str, ...]]:
    """Exit code and lines of standard output of a command of the documents."""
    name, *arguments = command.split()
    env = {key: value for key, value in os.environ.items() if key not in {"CI", "FORCE_COLOR", "LOOPTCK_TRACEBACK"}}
    # A client that a command starts is `python3`: this one, since it finds the modules of this one on its path.
    here = os.pathsep.join([str(Path(sys.executable).parent), env["PATH"]])
    env |= {"PYTHONIOENCODING": "utf-8", "PYTHONPATH": os.pathsep.join(sys.path), "PATH": here}
    line = [sys.executable, *STARTS[name], *arguments]
    with TemporaryDirectory() as scratch:
        for place in SEEN:
            Path(scratch, place).symlink_to(ROOT / place)
        # A search keeps what it finds in the folder where it was started, under a name that is not taken yet.
        where = scratch if arguments[0] == "fuzz" else ROOT
        done = subprocess.run(line, cwd=where, env=env, capture_output=True, check=False)
    return done.returncode, tuple(line.rstrip() for line in done.stdout.decode().splitlines())


def timeless(line: str) -> str:
    """A line of output without what differs from run to run."""
    return re.sub(r"\(\d+/s", "(_/s", re.sub(r"\d+\.\d s\b", "_ s", line))


def matches(shown: Sequence[str], output: Sequence[str]) -> bool:
    """Whether the shown lines are the output, where each gap stands for any number of lines, none included."""
    if not shown or not output:
        return all(line == GAP for line in shown) and (bool(shown) or not output)
    if shown[0] == GAP:
        return matches(shown[1:], output) or matches(shown, output[1:])
    return timeless(shown[0]) == timeless(output[0]) and matches(shown[1:], output[1:])


COMMANDS = [shown for document in WITH_CONSOLE for shown in shown_in(document)]
ELSEWHERE = {"python examples/durable_runner/crashes.py"}
"""Commands that take long, and whose own test (tests/examples) compares what they print with what is shown."""


@pytest.mark.parametrize(
    "shown",
    [shown for shown in COMMANDS if shown.command not in ELSEWHERE],
    ids=lambda shown: f"{shown.document} {shown.command}",
)
def test_a_command_says_what_the_document_shows(shown: Shown) -> None:
    code, output = run(shown.command)
    missing = [line for line in shown.lines if line != GAP and timeless(line) not in map(timeless, output)]
    assert (code, missing) == (shown.code, []), "\n".join(output)
    assert matches(shown.lines, output), "\n".join(output)


@pytest.mark.parametrize(
    ("shown", "output", "same"),
    [
        (["a in 1.2 s", "b"], ["a in 0.7 s", "b"], True),
        (["a", GAP, "d"], ["a", "b", "c", "d"], True),
        ([GAP, "a", GAP], ["a"], True),
        (["a", "d"], ["a", "b", "d"], False),
        (["a"], ["a", "b"], False),
        (["a", GAP, "b"], ["b", "a"], False),
        (["a", "b"], ["a"], False),
        ([], ["a"], False),
    ],
)
def test_only_a_gap_leaves_lines_out(shown: list[str], output: list[str], same: bool) -> None:  # noqa: FBT001 - a case
    assert matches(shown, output) is same


@pytest.mark.parametrize("document", WITH_PYTHON)
def test_the_python_of_a_document_runs(document: str) -> None:
    done = run_python("\n".join(blocks(document, "python")))
    assert done.returncode == 0, done.stderr


def test_the_check_that_contributors_are_shown_holds_for_the_reference_and_fails_without_a_cap() -> None:
    judge = """
from looptck.adapter import ContractAdapter
from looptck.observe import observe_here
from looptck_reference import Agent

class Capless(Agent):
    def __init__(self, *seams, **options):
        super().__init__(*seams, **options | {"max_iter": 9})

scenario, = TEST.build(Labels(7, TEST.name))
for loop in Agent, Capless:
    finding = TEST.checks[0].function(Evidence(scenario, observe_here(ContractAdapter(loop), scenario)))
    print(finding.ok, finding.seen)
"""
    done = run_python("\n".join([*blocks("CONTRIBUTING.md", "python"), judge]))
    assert done.stdout.split() == ["True", "1", "False", "2"], done.stderr


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-W", "error", "-c", code]
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)


# --------------------------------------------------------------------------------------------------------------- tables


def profiles_table() -> str:
    """What there is of each profile, counted."""
    lines = ["| profile | requirements | tests | checks | mutants |", "|---|---|---|---|---|"]
    for profile in PROFILES:
        tests = suite.tests_of(profile)
        counted = (requirements(profile), tests, [check for test in tests for check in test.checks])
        numbers = map(len, (*counted, mutants_of(profile)))
        lines.append(f"| `{profile}` | {' | '.join(map(str, numbers))} |")
    return "\n".join(lines)


def named_mutants() -> str:
    """The mutants that the specification of ag03 names itself."""
    lines = ["| mutant | mistake | killed by |", "|---|---|---|"]
    for mutant in mutants_of("ag03"):
        if mutant.id.startswith("s"):
            assert mutant.killer is not None, "the specification names the test that kills each"
            lines.append(f"| {mutant.id} | {cell(mutant.title)} | `{mutant.killer.check}` of {mutant.killer.test} |")
    return "\n".join(lines)


def mutants_table(profile: str) -> str:
    """All mutants of a profile, under the test that has to kill them."""
    parts = []
    for test in suite.tests_of(profile):
        own = [mutant for mutant in mutants_of(profile) if mutant.killer and mutant.killer.test == test.name]
        parts += [f"### {test.name}", "", *mutant_rows(own), ""]
    assert all(mutant.killer for mutant in mutants_of(profile)), "an equivalent mutant needs a place on the page"
    return "\n".join(parts).rstrip()


def mutant_rows(mutants: Sequence[Mutant]) -> Iterator[str]:
    yield from ("| mutant | mistake | killed by |", "|---|---|---|")
    for mutant in mutants:
        assert mutant.killer is not None, "the caller has chosen them by their killers"
        yield f"| {mutant.id} | {cell(mutant.title)} | `{mutant.killer.check}` |"


def requirements_table(profile: str) -> str:
    """Every record, with its checks or the reason why there is none."""
    lines = ["| requirement | section | level | statement | checks |", "|---|---|---|---|---|"]
    for record in requirements(profile).values():
        tests = (*suite.tests_of(profile), *suite.extras_of(profile))
        known = [check.id for test in tests for check in test.checks if check.requirement == record.id]
        served = ", ".join(f"`{name}`" for name in known) or f"none: {record.unchecked}"
        row = (f"`{record.id}`", record.section, record.level, record.statement, served)
        lines.append(f"| {' | '.join(map(cell, row))} |")
    return "\n".join(lines)


def readings(profile: str) -> str:
    """The records with alternatives."""
    return "\n\n".join(reading(record) for record in requirements(profile).values() if record.alternatives)


def reading(record: Requirement) -> str:
    return "\n".join([f"`{record.id}`: {record.statement}", "", *(f"* {choice}" for choice in record.alternatives)])


def field_table() -> str:
    """The public bug threads, with the checks that came of them and the mutants that these kill."""
    lines = ["| thread | what happened | check | mutant |", "|---|---|---|---|"]
    known = [mutant for profile in PROFILES for mutant in mutants_of(profile)]
    for thread in THREADS:
        shown = [mutant.id for mutant in known if mutant.killer is not None and mutant.killer.check in thread.checks]
        checks = ", ".join(f"`{check}`" for check in thread.checks)
        lines.append(f"| [{thread.title}]({thread.url}) | {cell(thread.happened)} | {checks} | {', '.join(shown)} |")
    return "\n".join(lines)


def diagnoses(profile: str) -> str:
    """What the wrong loops of the kit's own tests are told, by what is recorded of them."""
    recorded = tomllib.loads(read(f"tests/implementations/{profile.removeprefix('ag03')}/wrong/expected.toml"))
    checks = frozenset(known_checks(profile))
    lines = ["| loop | checks it fails | diagnosis |", "|---|---|---|"]
    for loop in sorted({loop for loops in recorded.values() for loop in loops}):
        failed, *left_out = (frozenset(recorded[each].get(loop, [])) for each in ("fail", "obstacle", "incomplete"))
        found = diagnosed(failed, checks.difference(*left_out), columns_of(profile), len(checks))
        lines.append(f"| {loop} | {len(failed)} | {cell(headline(found)) if found else 'none'} |")
    return "\n".join(lines)


@pytest.mark.parametrize("profile", PROFILES)
def test_every_mutant_has_been_fuzzed(profile: str) -> None:
    assert [one.id for one in recorded(profile)] == [mutant.id for mutant in mutants_of(profile)], "make fuzz-figures"


def cell(text: str) -> str:
    return text.replace("|", r"\|")


TABLES: dict[tuple[str, str], Callable[[], str]] = {
    ("README.md", "profiles"): profiles_table,
    ("README.md", "mutants"): named_mutants,
    ("docs/field.md", "threads"): field_table,
    ("docs/fuzzing.md", "fuzzed"): summary_table,
}
for each in PROFILES:
    TABLES["docs/mutants.md", f"mutants {each}"] = partial(mutants_table, each)
    TABLES["docs/requirements.md", f"requirements {each}"] = partial(requirements_table, each)
    TABLES["docs/requirements.md", f"readings {each}"] = partial(readings, each)
    TABLES["docs/fuzzing.md", f"fuzzed {each}"] = partial(survival_table, each)
    TABLES["docs/diagnosis.md", f"diagnoses {each}"] = partial(diagnoses, each)


def between(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<=<!-- {name} -->\n)(.*?)(?=<!-- /{name} -->)", re.DOTALL)


@pytest.mark.parametrize(("document", "name"), TABLES, ids=[name for _, name in TABLES])
def test_a_table_is_up_to_date(document: str, name: str) -> None:
    found = between(name).findall(read(document))
    assert found == [TABLES[document, name]() + "\n"], "python tests/test_documents.py writes it anew"


def first_column(document: str, heading: str) -> list[str]:
    """The first cells of the rows of the table under a heading."""
    section = read(document).split(f"{heading}\n", 1)[1].split("\n#", 1)[0]
    cells = [row.split("|")[1].strip() for row in section.splitlines() if row.startswith("|")]
    return cells[2:]


def test_the_verdicts_are_told() -> None:
    assert first_column("README.md", "### Verdicts") == list(get_args(model.Verdict))


def test_the_profiles_are_told() -> None:
    assert first_column("README.md", "## A loop of your own") == [f"`{profile}`" for profile in PROFILES]


def test_the_exit_codes_are_told() -> None:
    codes = [value for name, value in vars(exit_codes).items() if name.startswith("EXIT_")]
    assert first_column("README.md", "### Exit codes") == [str(code) for code in codes]


def test_the_fates_of_mutants_are_told() -> None:
    assert first_column("DESIGN.md", "## Mutants") == [fate.replace("_", " ") for fate in get_args(Fate)]


def test_the_options_of_the_command_line_are_told_and_no_others() -> None:
    cli._verbs()
    group = typer.main.get_group(cli.app)
    known = {option for verb in (group, *group.commands.values()) for each in verb.params for option in each.opts}
    section = read("README.md").split("## The command line", 1)[1].split("###", 1)[0]
    told = set(re.findall(r"`(--?[a-z][a-z-]*)", section))
    assert told - {"--help"} == {option for option in known if option.startswith("-")}


@pytest.mark.parametrize("profile", PROFILES)
def test_the_features_that_an_adapter_may_lack_are_told(profile: str) -> None:
    scenarios = [s for test in suite.tests_of(profile) for s in test.build(Labels(0, test.name))]
    told = re.search(rf"^\* `{profile}`:(.*?)\.$", read("docs/adapters.md"), re.DOTALL | re.MULTILINE)
    assert told is not None
    known = {feature for scenario in scenarios for feature in scenario.features()}
    assert re.findall(r"`(\w+)`", told[1]) == sorted(known)


# -------------------------------------------------------------------------------------------------------------- rewrite


def shape(line: str) -> str:
    return re.sub(r"\d+", "0", line)


def now(shown: Sequence[str], output: Sequence[str]) -> Sequence[str]:
    """The lines of the output from the first to the last shown one, known by their shapes; the shown ones if none."""
    for start, line in enumerate(output):
        if shape(line) == shape(shown[0]):
            for end in range(start, len(output)):
                if shape(output[end]) == shape(shown[-1]):
                    return output[start : end + 1]
    return shown


def rewrite() -> None:
    """Write every table anew, and what is shown between gaps where its first and last line still have their shapes."""
    for (document, name), table in TABLES.items():
        head, old, tail = between(name).split(read(document))
        new = table() + "\n"
        if new != old:
            (ROOT / document).write_text(head + new + tail, encoding="utf-8")
    for shown in COMMANDS:
        if matches(shown.lines, run(shown.command)[1]):
            continue
        for part in "\n".join(shown.lines).split(GAP + "\n"):
            lines = part.strip("\n").removesuffix(GAP).strip("\n").splitlines()
            output = now(lines, run(shown.command)[1]) if lines else lines
            if [*map(timeless, output)] != [*map(timeless, lines)]:
                text = read(shown.document).replace("\n".join(lines), "\n".join(output))
                (ROOT / shown.document).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    rewrite()
