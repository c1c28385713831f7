"""What the processes inside a stage are told: a file at its top, and its folder in the environment."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

SETTINGS = "looptck-stage.json"
PLACE = "LOOPTCK_STAGE"
"""The variable of the environment that holds the folder of the stage."""
RECORDS = "records"
"""The folder in the stage with a file of records for each mutant."""
MUTATED = "mutants"
"""The folder in the stage that mutmut writes to: the mutated copy, and its results."""

STATS = "mutmut-stats.json"
"""The file in it that says which tests there are, and which of them reach what."""


@dataclass(frozen=True, slots=True)
class Settings:
    """`loop` is `package.module:Name`, `limit` the seconds that a scenario may take.

    `key` changes with everything that a verdict rests on but the mutated modules: kit, suite, tests, the other files,
    the modules beside them.
    """

    profile: str
    loop: str
    seed: int
    limit: float
    key: str

    def write(self, stage: Path) -> None:
        """Write the file."""
        (stage / SETTINGS).write_text(json.dumps(asdict(self)), encoding="utf-8")


def read_settings(stage: Path) -> Settings:
    """The settings of a stage. Raises `OSError` and `ValueError` where the folder is none."""
    try:
        return Settings(**json.loads((stage / SETTINGS).read_text(encoding="utf-8")))
    except TypeError as error:
        raise ValueError(str(error)) from None


def own_stage() -> Path:
    """The stage that this process runs in."""
    return Path(os.environ[PLACE])
