"""What the tests of suites share: suites written into a folder, a few mutants, and what becomes of them."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from tests.mutants.shelf import CALLS, ONE_MORE, SAME, patch

from looptck.target import REFERENCES
from looptck_mutants.manifest import Killer, Mutant
from looptck_mutants.patchfile import PACKAGE
from looptck_mutants.project import Project
from looptck_mutants.suites.harness import SuiteHarness
from looptck_mutants.suites.suite import read_suite

if TYPE_CHECKING:
    from pathlib import Path

    from looptck_mutants.outcome import MutantReport, MutantsReport
    from looptck_mutants.suites.forking import Zygotes

LIMIT = 3.0
"""Seconds that a test of these suites may take at first."""

HELPERS = '''
import asyncio
from looptck.contract.ag03 import LoopError, Message, ToolCall
from looptck_fakes import RecordingTools, ScriptedProvider, Turn


def model_calls(loop_class, cap=2):
    """How often the model is asked under a cap."""
    provider = ScriptedProvider([Turn(calls=(ToolCall(f"c{n}", "look", "{}"),)) for n in range(9)])
    agent = loop_class(provider, RecordingTools({"look": "nothing"}), max_iter=cap)

    async def run():
        try:
            await agent.invoke([Message("user", "?")]).result()
        except LoopError:
            return len(provider.requests)

    return asyncio.run(run())
'''
HONEST = """
from helpers import model_calls


def test_the_cap(loop_class):
    assert model_calls(loop_class) == 2
"""


def written(folder: Path, **files: str) -> Path:
    """The folder of a suite: `helpers.py` and these modules."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in {"helpers": HELPERS, **files}.items():
        (folder / f"{name}.py").write_text(textwrap.dedent(text), encoding="utf-8")
    return folder


def project(folder: Path, **mutants: str) -> Project:
    """The reference with these mutants, by what each puts at its end: `more` and `same` where none are given.

    `more` allows one model call more than the cap, `same` does what the reference does.
    """
    folder.mkdir(parents=True, exist_ok=True)
    given = mutants or {"more": ONE_MORE, "same": SAME}
    for name, code in given.items():
        (folder / f"{name}.patch").write_text(patch(code), encoding="utf-8")
    killer = Killer(test=CALLS[0], check=CALLS[1])
    entries = [Mutant(id=name, title=f"about {name}", patch=f"{name}.patch", killer=killer) for name in given]
    return Project("ag03", REFERENCES["ag03"], PACKAGE, folder, tuple(entries))


def graded(suite: Path, of: Project, zygotes: Zygotes, place: Path) -> MutantsReport:
    """The mutants of a project against a suite; `place` is a folder for its copy."""
    judge = SuiteHarness(of, read_suite(str(suite), place), 5, zygotes, first_limit=LIMIT)
    return judge.run(of.mutants, judge.baseline(), lambda _report: None)


def reasons(report: MutantsReport) -> dict[str, str]:
    """Why each test does not count, "" for one that does, by its name behind the file."""
    assert report.suite is not None
    return {test.id.rpartition("::")[2]: test.reason for test in report.suite.tests}


def mutant(report: MutantsReport, name: str) -> MutantReport:
    return next(mutant for mutant in report.mutants if mutant.id == name)
