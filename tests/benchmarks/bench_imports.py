"""CPU of what people wait for without having asked for a run: `looptck --help`, and the plugin in their own pytest.

Each is a fresh interpreter, several times over; the least counts, since noise only adds. The plugin is imported where
pytest has been imported already, as in every run of it, and what counts is the import alone; the interpreter with
nothing of ours is there to compare.

Aims, which are the bounds: 0.4 s for the help, 20 ms for the plugin. Exits with 1 beyond.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Callable

from rich.console import Console
from rich.table import Table

ROUNDS = 7
PLUGIN = """
import time, pytest
begun = time.process_time()
import looptck.pytest_plugin
print(time.process_time() - begun)
"""


def cpu_of(*arguments: str) -> float:
    """Seconds of CPU of an interpreter with these arguments."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def import_of_the_plugin() -> float:
    """Seconds of CPU of the import."""
    done = subprocess.run([sys.executable, "-c", PLUGIN], check=True, stdout=subprocess.PIPE, text=True)
    return float(done.stdout)


MEASURED: dict[str, tuple[Callable[[], float], float | None]] = {
    "python -c pass": (lambda: cpu_of("-c", "pass"), None),
    "looptck --help": (lambda: cpu_of("-m", "looptck", "--help"), 0.4),
    "import looptck.pytest_plugin": (import_of_the_plugin, 0.02),
}
"""What is measured, how, and the most that it may take in seconds, if there is such."""


def main() -> int:
    """Measure, print, compare with the aims."""
    table = Table(title="CPU in ms, the least of several", title_justify="left")
    for heading in ("", "least", "all", "aim"):
        table.add_column(heading, justify="left" if not heading else "right")
    held = True
    for name, (measure, aim) in MEASURED.items():
        seen = [measure() for _ in range(ROUNDS)]
        held &= aim is None or min(seen) <= aim
        shown = " ".join(f"{seconds * 1e3:.1f}" for seconds in sorted(seen))
        table.add_row(name, f"{min(seen) * 1e3:.1f}", shown, "" if aim is None else f"{aim * 1e3:g}")
    console = Console(width=120)
    console.print(table)
    console.print("within the aims" if held else "beyond an aim")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
