"""The suites of `tests/implementations/suites`, graded: recorded from real runs in a file, and the table made of it.

`python -m tests.mutants.graded_suites` runs each on every mutant of its profile, which takes minutes, records, and
writes the table in docs/your-tests.md. With names of suites it runs only these.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "your-tests.md"
RECORD = Path(__file__).with_suffix(".json")
FOLDER = Path("tests", "implementations", "suites")
SUITES = sorted(folder.name for folder in (ROOT / FOLDER).iterdir() if list(folder.glob("*.py")))
SEED = 7
_TABLE = re.compile(r"(?<=<!-- graded -->\n).*?(?=<!-- /graded -->)", re.DOTALL)
_COLUMNS = ("suite", "profile", "tests", "mutants", "killed", "tests that kill nothing", "seconds", "mutants/s")


@dataclass(frozen=True)
class Graded:
    """What is recorded of a suite.

    `text` is the digest of its files. `idle` are the tests that kill nothing, `killed` the mutants with the tests that
    kill them, `away` the others with what became of them.
    """

    text: str
    tests: int
    idle: list[str]
    killed: dict[str, list[str]]
    away: dict[str, str]
    wall_s: float

    def row(self, name: str) -> list[str]:
        """The cells of the table."""
        mutants = len(self.killed) + len(self.away)
        numbers = (self.tests, mutants, len(self.killed), len(self.idle), round(self.wall_s))
        link = f"[{name}](../{FOLDER.as_posix()}/{name})"
        return [link, f"`{profile_of(name)}`", *map(str, numbers), f"{mutants / self.wall_s:.1f}"]


def profile_of(name: str) -> str:
    """The profile that a suite is for."""
    return name.partition("_")[0]


def digest(name: str) -> str:
    """What tells one text of a suite from another."""
    folder = ROOT / FOLDER / name
    files = [[file.name, file.read_text(encoding="utf-8")] for file in sorted(folder.glob("*.py"))]
    return hashlib.sha256(json.dumps(files).encode()).hexdigest()[:16]


def table(record: dict[str, Graded]) -> str:
    """The table of the page."""
    rows = [list(_COLUMNS), ["---"] * len(_COLUMNS), *(graded.row(name) for name, graded in record.items())]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def shown() -> str:
    """The table as it stands on the page."""
    (found,) = _TABLE.findall(PAGE.read_text(encoding="utf-8"))
    return str(found)


def recorded() -> dict[str, Graded]:
    """What was recorded, by suite."""
    return {name: Graded(**graded) for name, graded in json.loads(RECORD.read_text(encoding="utf-8")).items()}


def grade(name: str) -> Graded:
    """Run a suite on all mutants of its profile."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "report.json"
        which = ["--tests", str(FOLDER / name), "--profile", profile_of(name)]
        command = [sys.executable, "-m", "looptck", "mutants", *which, "--seed", str(SEED), "--json", str(file)]
        subprocess.run(command, cwd=ROOT, check=False)
        report: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    tests, mutants = report["suite"]["tests"], report["mutants"]
    return Graded(
        text=digest(name),
        tests=len([test for test in tests if test["counts"]]),
        idle=[test["id"] for test in tests if test["counts"] and not test["kills"]],
        killed={mutant["id"]: mutant["killed_by"] for mutant in mutants if mutant["verdict"] == "killed"},
        away={mutant["id"]: mutant["verdict"] for mutant in mutants if mutant["verdict"] != "killed"},
        wall_s=round(report["wall_s"], 1),
    )


def main(names: list[str]) -> None:
    """Run, record, write the page."""
    before = recorded() if names else {}
    record = {name: grade(name) if name in names or not names else before[name] for name in SUITES}
    plain = {name: asdict(graded) for name, graded in record.items()}
    RECORD.write_text(json.dumps(plain, indent=1) + "\n", encoding="utf-8")
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(_TABLE.sub(lambda _: table(record), page), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
