"""The starters and the stages that fill them in: what each looks like, and which tests of the suite it passes."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from looptck import session
from looptck.profile import profile_of
from looptck.starter import LOOP, starter
from looptck.suite import PROFILES
from looptck.target import parse_target
from looptck_mutants import patchfile

if TYPE_CHECKING:
    from looptck.report.model import TestReport

FOLDER = Path(__file__).parent / "starter_stages"
STAGES: dict[str, dict[str, list[str]]] = tomllib.loads((FOLDER / "stages.toml").read_text(encoding="utf-8"))
"""By profile and stage, the tests that pass after it and did not before."""
PLACES = [(profile, stage) for profile in PROFILES for stage in STAGES[profile]]


def skeleton(profile: str) -> str:
    """The loop as it is written by `init`."""
    return starter(profile, "1")[LOOP]


@cache
def staged(profile: str, stage: str) -> str:
    """The loop after a stage, made from the skeleton by the patches up to that one."""
    before, *_ = [None, *(name for name in STAGES[profile] if name < stage)][::-1]
    text = staged(profile, before) if before else skeleton(profile)
    module = f"looptck.starter.{profile}"
    patch = patchfile.load(FOLDER / profile / f"{stage}.patch", package="looptck")
    return patchfile.apply(patch, {module: text})[module]


def judged(text: str, profile: str, folder: Path) -> list[TestReport]:
    """The whole suite on a loop, in this process."""
    file = folder / LOOP
    file.write_text(text, encoding="utf-8")

    def load() -> Any:
        return parse_target(str(file), {}).load(profile_of(profile).adapt)

    chosen = session.choose(profile, "", seed=7)
    return [session.judged(test, {}) for test in session.observe_all(chosen, load, isolation="none")]
