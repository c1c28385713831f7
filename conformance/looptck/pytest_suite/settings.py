"""What the options of the pytest plugin say, read and checked. Whatever is wrong is a one-line `pytest.UsageError`."""

from __future__ import annotations

import os
import secrets
import warnings
from dataclasses import dataclass, field
from hashlib import sha256
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, get_args

import pytest

from looptck.observe import LIMIT
from looptck.profile import PROFILES, profile_of
from looptck.report.excuses import KnownFailuresError, load_known
from looptck.report.model import Isolation
from looptck.requirements import version_asked
from looptck.scenario import ScenarioError
from looptck.scenario_files import files_in, load
from looptck.suite import SEEDS
from looptck.target import REFERENCES, UnknownTargetError, parse_target, split_target

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from looptck.target import Target

SEED = "looptck_seed"
"""The seed's place in what pytest-xdist hands its workers."""
_SEED = pytest.StashKey[int]()
_SHORTEST, _LONGEST = 0.1, 3600.0


@dataclass(frozen=True, slots=True)
class Settings:
    """How a loop is judged.

    `isolation` is None where nobody asked for one. `limit` is in seconds, `pinned` the version of the requirements that
    decides, `known` maps check ids to reasons. `jobs` counts children at a time; `worker` tells one of pytest-xdist.
    `scenarios` are the files of the user's own by the ids of their checks, `fuzz` is a number of the fuzzer's.
    """

    profile: str
    seed: int
    isolation: Isolation | None
    limit: float
    pinned: int
    known: Mapping[str, str]
    jobs: int
    worker: bool
    scenarios: Mapping[str, Path] = field(default_factory=dict)
    fuzz: int = 0


@dataclass(frozen=True, slots=True)
class Given:
    """What somebody wrote: the text, how they would call its place, and the folder that its files are relative to."""

    text: str
    place: str
    folder: Path

    def wrong(self, why: str) -> pytest.UsageError:
        """The error that says so."""
        return pytest.UsageError(f"{self.place} {self.text}: {why}")

    def file(self, text: str) -> str:
        """A file that was written relative to the folder, relative to where the command was typed."""
        return text if os.getcwd() == str(self.folder) else os.path.relpath(self.folder / text)  # noqa: PTH109


def given(config: pytest.Config, name: str) -> Given | None:
    """An option's value: that of the command line, else that of the ini file; None where neither says anything."""
    try:
        option, ini = config.getoption(name, None), config.getini(name)
    except ValueError:  # the plugin itself is switched off: -p no:looptck
        return None
    if option is not None:
        return Given(str(option), f"--{name.replace('_', '-')}", config.invocation_params.dir)
    if ini is not None:
        return Given(str(ini), name, config.inipath.parent if config.inipath is not None else config.rootpath)
    return None


def settings(
    config: pytest.Config, profile: str | None = None, pinned: Given | None = None, known: Given | None = None
) -> Settings:
    """Read the options; what is passed takes the place of its option."""
    name = profile or _profile(given(config, "loop_profile"))
    pinned, known = pinned or given(config, "loop_requirements"), known or given(config, "loop_known_failures")
    workers, scenarios = worker_input(config).get("workercount", 1), _scenarios(given(config, "loop_scenarios"), name)
    return Settings(
        profile=_known_profile(name),
        seed=seed_of(config),
        isolation=_isolation(given(config, "loop_isolation")),
        limit=_limit(given(config, "loop_limit")),
        pinned=_pinned(pinned, name),
        known={} if known is None else _known(known, name, scenarios or None),
        jobs=max(1, (os.cpu_count() or 1) // workers),
        worker=bool(worker_input(config)),
        scenarios=scenarios,
        fuzz=_fuzz(given(config, "loop_fuzz")),
    )


def worker_input(config: pytest.Config) -> Mapping[str, Any]:
    """What pytest-xdist tells its worker; empty in any other process."""
    return getattr(config, "workerinput", {})


def seed_of(config: pytest.Config) -> int:
    """The seed: the given one, or one drawn once for a run. All workers of pytest-xdist have the same."""
    if _SEED not in config.stash:
        told, asked = worker_input(config), given(config, "loop_seed")
        if asked is not None:
            config.stash[_SEED] = _number(asked, 0)
        elif SEED in told:
            config.stash[_SEED] = told[SEED]
        elif told:  # the controller has no loop of its own: all that the workers share is the name of their run
            config.stash[_SEED] = int(sha256(told["testrunuid"].encode()).hexdigest(), 16) % SEEDS
        else:
            config.stash[_SEED] = secrets.randbelow(SEEDS)
    return config.stash[_SEED]


def known_target(asked: Given, profile: str) -> Target:
    """The target that was named; nothing is imported."""
    place, name = split_target(asked.text)
    text = asked.file(place) + (f":{name}" if name else "") if place.endswith(".py") else asked.text
    try:
        return parse_target(text, {"reference": REFERENCES[profile]})
    except UnknownTargetError as error:
        raise pytest.UsageError(f"{asked.place}: {error}") from None


def _profile(asked: Given | None) -> str:
    return PROFILES[0] if asked is None else asked.text


def _known_profile(name: str) -> str:
    if name not in PROFILES:
        raise pytest.UsageError(f"there is no profile {name!r}; there are {' and '.join(PROFILES)}")
    return name


def _isolation(asked: Given | None) -> Isolation | None:
    known: tuple[Isolation, ...] = get_args(Isolation)
    for one in known:
        if asked is not None and asked.text == one:
            return one
    if asked is not None:
        raise asked.wrong(f"give one of {', '.join(known)}")
    return None


def _limit(asked: Given | None) -> float:
    if asked is None:
        return LIMIT
    try:
        seconds = float(asked.text)
    except ValueError:
        seconds = 0.0
    if not _SHORTEST <= seconds <= _LONGEST:
        raise asked.wrong(f"give seconds from {_SHORTEST:g} to {_LONGEST:g}")
    return seconds


def _pinned(asked: Given | None, profile: str) -> int:
    name = _known_profile(profile)
    if asked is None:
        return version_asked(name, None)
    try:
        return version_asked(name, _number(asked, 1))
    except ValueError as error:
        raise asked.wrong(str(error)) from None


def _scenarios(asked: Given | None, profile: str) -> dict[str, Path]:
    """The scenario files of a folder, each of which has been read once, so that what is wrong is told at once."""
    if asked is None:
        return {}
    try:
        files, others = files_in(asked.file(asked.text), profile_of(profile))
        found = dict(zip(load(profile_of(profile), files), files, strict=True))
    except ScenarioError as error:
        raise pytest.UsageError(f"{asked.place} {error}") from None
    if others:
        names = ", ".join(file.name for file in others)
        warnings.warn(pytest.PytestWarning(f"{asked.place}: left out, as of another profile: {names}"), stacklevel=1)
    return found


def _fuzz(asked: Given | None) -> int:
    """How many scenarios of the fuzzer; 0 where nobody asked for any."""
    if asked is not None and find_spec("hypothesis") is None:
        raise asked.wrong('it needs hypothesis: python -m pip install "looptck[fuzz]"')
    return 0 if asked is None else _number(asked, 1)


def _number(asked: Given, least: int) -> int:
    if not asked.text.isdecimal() or int(asked.text) < least:
        raise asked.wrong(f"give a whole number from {least} on")
    return int(asked.text)


def _known(asked: Given, profile: str, files: Collection[str] | None) -> dict[str, str]:
    try:
        return load_known(asked.file(asked.text), profile, files)
    except KnownFailuresError as error:
        raise pytest.UsageError(f"{asked.place} {error}") from None
