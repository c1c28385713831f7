"""What the tests of the pytest plugin share: runs of pytest with the suite in them, and what came of them."""

from __future__ import annotations

import re
from pathlib import Path

import hypothesis  # noqa: F401 - its plugin imports it; a run in this process forgets what it was the first to import
import pytest

import looptck.pytest_suite.embedded  # noqa: F401 - likewise
from looptck.profile import PROFILES, profile_of
from looptck.report import console  # noqa: F401 - likewise

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
BROKEN = EXAMPLES / "broken_loop.py"
LACKING = """
from looptck.adapter import ContractAdapter
from looptck_reference import Agent

class Lacking(ContractAdapter):
    lacks = {"max_iter": "there is no limit"}
    def __init__(self):
        super().__init__(Agent)
"""
"""A file with an adapter whose loop has no cap."""
SEED = 7

for each in PROFILES:
    profile_of(each)


def suite(pytester: pytest.Pytester, *options: object, loop: object = "reference") -> pytest.RunResult:
    """Run the suite in this process, on a loop."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "300")  # no line of the short summary is cut
        return pytester.runpytest_inprocess(*command(*options, loop=loop))


def suite_alone(
    pytester: pytest.Pytester, *options: object, loop: object = "reference", typed: str = ""
) -> pytest.RunResult:
    """Run the suite in a process of its own, with something typed."""
    return pytester.run(*pytester._getpytestargs(), *command(*options, loop=loop), stdin=typed.encode())


def command(*options: object, loop: object) -> list[str]:
    """The words of the command."""
    named = any(str(option).startswith("looptck.suite") for option in options)
    return [
        "--pyargs",
        *([] if named else ["looptck.suite"]),
        f"--loop={loop}",
        f"--loop-seed={SEED}",
        *map(str, options),
    ]


def outcomes(ran: pytest.RunResult) -> dict[str, int]:
    """The numbers of the last line, without what was deselected."""
    found = ran.parseoutcomes()
    found.pop("deselected", None)
    return found


def ids(ran: pytest.RunResult, word: str) -> list[str]:
    """The check ids of the items that the short summary has under a word."""
    lines = [line for line in ran.outlines if line.startswith(f"{word} ")]
    return [line.partition("[")[2].partition("]")[0] for line in lines]


def shown(language: str) -> str:
    """The only block of a language in the document about pytest."""
    text = (ROOT / "docs" / "pytest.md").read_text(encoding="utf-8")
    (block,) = re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return str(block)
