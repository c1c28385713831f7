"""The results of the adapter of pydantic-ai: recorded beside this file, and shown as a table on its page.

Run as a program, this file records them anew and writes the table.
"""

from __future__ import annotations

import json
import re
from importlib.metadata import version
from pathlib import Path

from looptck import session
from looptck.requirements import requirements
from looptck.suite import tests_of

RECORD = Path(__file__).with_name("pydantic_ai_results.json")
PAGE = Path(__file__).parents[2] / "docs" / "pydantic-ai.md"
TABLE = re.compile(r"(?<=<!-- results -->\n)(.*?)(?=<!-- /results -->)", re.DOTALL)
DISTRIBUTION = "pydantic-ai-slim"


def observed(seed: int, pattern: str = "") -> dict[str, str]:
    """The verdict of each check, by its id: the whole suite, in this process."""
    from looptck.adapters.pydantic_ai import adapter  # noqa: PLC0415 - the framework is imported by who observes it

    chosen = session.choose("ag03", pattern, seed=seed)
    tests = session.observe_all(chosen, lambda: adapter, isolation="none")
    return {check.id: check.verdict for test in tests for check in session.judged(test, adapter.lacks).checks}


def recorded() -> dict[str, str]:
    """The verdicts that are known, by check."""
    checks: dict[str, str] = json.loads(RECORD.read_text(encoding="utf-8"))["checks"]
    return checks


def recorded_version() -> str:
    """The framework that they are of."""
    return str(json.loads(RECORD.read_text(encoding="utf-8"))[DISTRIBUTION])


def table() -> str:
    """A row for each test: how many checks pass, and the ids of the others."""
    known, levels = recorded(), requirements("ag03")
    lines = ["| test | pass | fail | lacks |", "|---|---|---|---|"]
    total = [0, 0, 0]
    for test in tests_of("ag03"):
        groups: dict[str, list[str]] = {"pass": [], "fail": [], "skip": []}
        for check in test.checks:
            level = " (should)" if levels[check.requirement].level == "should" else ""
            groups[known[check.id]].append(f"`{check.id}`{level}")
        numbers = [len(ids) for ids in groups.values()]
        total = [before + more for before, more in zip(total, numbers, strict=True)]
        failed, lacked = (f"{len(ids)}: {', '.join(ids)}" if ids else "" for ids in (groups["fail"], groups["skip"]))
        lines.append(f"| {test.name} | {numbers[0]} | {failed} | {lacked} |")
    return "\n".join([*lines, f"| all | {total[0]} | {total[1]} | {total[2]} |"])


def write() -> None:
    """Record what is seen now, and write the table."""
    record = {DISTRIBUTION: version(DISTRIBUTION), "checks": observed(seed=7)}
    RECORD.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    PAGE.write_text(TABLE.sub(lambda _old: table() + "\n", PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    write()
