"""The figures in docs/systematic.md: recorded from real runs in a file, from which the page's table is made.

With them goes a digest of what was mutated and of the entries that explain, but for their arguments. It has no checks:
they change too often for runs of minutes.
`python -m tests.mutants.systematic_figures` runs both profiles, which takes minutes, records, and writes the table.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from looptck.suite import PROFILES
from looptck_mutants.systematic.subject import reference_subject
from looptck_mutants.systematic.triage import load_triage, own_triage

PAGE = Path(__file__).parents[2] / "docs" / "systematic.md"
RECORD = Path(__file__).with_suffix(".json")
SEED = 7
_TABLE = re.compile(r"(?<=<!-- figures -->\n).*?(?=<!-- /figures -->)", re.DOTALL)


def table(record: dict[str, dict[str, Any]]) -> str:
    """The table of the page."""
    lines = ["| profile | mutants | killed | got away, explained | unexplained | seconds | mutants in a second | |"]
    lines.append("|---|---|---|---|---|---|---|---|")
    for profile, run in record.items():
        cells = (run["mutants"], run["killed"], run["explained"], run["unexplained"], run["wall_s"], run["per_s"])
        lines.append(f"| `{profile}` | {' | '.join(map(str, cells))} | {run['tool']} |")
    return "\n".join(lines) + "\n"


def figures(report: dict[str, Any]) -> dict[str, Any]:
    """What is recorded of a report of `looptck mutants --systematic --json`."""
    counts, of_run = report["counts"], report["systematic"]
    return {
        "mutants": len(report["mutants"]),
        "killed": counts["killed"],
        "explained": of_run["explained"],
        "unexplained": len(report["mutants"]) - counts["killed"] - of_run["explained"],
        "wall_s": round(report["wall_s"]),
        "per_s": round(of_run["per_s"], 1),
        "tool": of_run["tool"],
    }


def digest(profile: str) -> str:
    """Changes with the modules of the reference that are mutated, and with the changes that entries explain."""
    entries = [[entry.function, entry.why, *entry.changes] for entry in load_triage(own_triage(profile))]
    facts = json.dumps([reference_subject(profile).sources(), entries], sort_keys=True)
    return hashlib.sha256(facts.encode()).hexdigest()


def shown() -> str:
    """The table as it stands on the page."""
    (found,) = _TABLE.findall(PAGE.read_text(encoding="utf-8"))
    return str(found)


def recorded() -> dict[str, dict[str, Any]]:
    """What was recorded, by profile."""
    found: dict[str, dict[str, Any]] = json.loads(RECORD.read_text(encoding="utf-8"))
    return found


def main() -> None:
    """Run, record, write the page."""
    record = {}
    with tempfile.TemporaryDirectory() as folder:
        for profile in PROFILES:
            file = Path(folder) / f"{profile}.json"
            command = ["mutants", "--systematic", "--profile", profile, "--seed", str(SEED), "--json", str(file)]
            subprocess.run([sys.executable, "-m", "looptck", *command], check=False)
            record[profile] = figures(json.loads(file.read_text(encoding="utf-8"))) | {"digest": digest(profile)}
    RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(_TABLE.sub(lambda _: table(record), page), encoding="utf-8")


if __name__ == "__main__":
    main()
