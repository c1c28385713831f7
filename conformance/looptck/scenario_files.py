"""Scenario files: those of a folder, and what they say. Each is read, checked, and named after its file."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from looptck.oracle.judging import unjudged
from looptck.oracle.scenarios import PREFIX
from looptck.profile import PROFILES, profile_of
from looptck.scenario import ScenarioError, load_scenario

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from looptck.profile import Profile


def files_in(folder: str, profile: Profile) -> tuple[list[Path], list[Path]]:
    """The scenario files of a folder in the order of their names, and those that are left out: of another profile.

    Raises `ScenarioError` where there is none of this profile, and where an entry that is called like one is no file.
    """
    place = Path(folder)
    try:
        entries = sorted(entry for entry in place.iterdir() if entry.suffix == ".json")
    except OSError as error:
        msg = f"{folder}: {error.strerror}"
        raise ScenarioError(msg) from None
    for entry in entries:
        if entry.exists() and not entry.is_file():  # a pipe would be waited for until somebody writes to it
            msg = f"{entry}: it is no file"
            raise ScenarioError(msg)
    others = [entry for entry in entries if _of_another(profile, entry)]
    own = sorted(set(entries).difference(others))
    if not own:
        told = f" of {profile.name}; {len(others)} of another profile" if others else " (*.json)"
        msg = f"{folder}: it holds no scenario{told}"
        raise ScenarioError(msg)
    return own, others


def load(profile: Profile, files: Sequence[Path]) -> dict[str, Any]:
    """The scenarios of the files by the ids of their checks, named after their files.

    Raises `ScenarioError` for a file that cannot be read, is no scenario of the profile, or cannot be predicted.
    """
    found: dict[str, Any] = {}
    for file in files:
        scenario = _read(profile, file)
        why = unjudged(profile, scenario)
        if why is not None:
            msg = f"{file}: {why}"
            raise ScenarioError(msg)
        check_id = _id(file.stem, found)
        found[check_id] = scenario.model_copy(update={"name": check_id.removeprefix(PREFIX)})
    return found


def _read(profile: Profile, file: Path) -> Any:
    text = _text(file)
    try:
        return load_scenario(text, str(file), profile.scenario_from_json)
    except ScenarioError as error:
        other = _readable_as(profile, text)
        instead = f": with --profile {other} it can be read" if other else ""
        msg = f"{error} (read as a scenario of {profile.name}){instead}"
        raise ScenarioError(msg) from None


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except IsADirectoryError:
        msg = f"{file}: it is a folder: name its files, or run them all with `looptck check TARGET --scenarios DIR`"
        raise ScenarioError(msg) from None
    except (OSError, ValueError) as error:
        msg = f"{file}: {getattr(error, 'strerror', None) or 'not UTF-8'}"
        raise ScenarioError(msg) from None


def _of_another(profile: Profile, file: Path) -> bool:
    """Whether a file can be read as a scenario of another profile alone."""
    with suppress(ScenarioError):
        text = _text(file)
        return not _fits(profile, text) and _readable_as(profile, text) is not None
    return False


def _readable_as(profile: Profile, text: str) -> str | None:
    """The name of another profile, of which this is a scenario."""
    others = (name for name in PROFILES if name != profile.name)
    return next((name for name in others if _fits(profile_of(name), text)), None)


def _fits(profile: Profile, text: str) -> bool:
    with suppress(ScenarioError):
        load_scenario(text, "", profile.scenario_from_json)
        return True
    return False


def _id(stem: str, taken: Mapping[str, Any]) -> str:
    """The id of a file's check: its name in the letters that ids have, with a number where that is taken."""
    slug = re.sub(r"[^a-z0-9]+", "-", stem.lower()).strip("-") or "unnamed"
    number, check_id = 1, PREFIX + slug
    while check_id in taken:
        number += 1
        check_id = f"{PREFIX}{slug}-{number}"
    return check_id
