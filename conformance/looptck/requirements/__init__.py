"""The requirement records: what each check serves, in our own words, one TOML file for each profile.

    [[requirement]]
    id = "parallel-bound-default"
    section = "2.3"
    level = "must"
    statement = "Where no bound is given it is four tools at once."
    since = 1

Two keys may follow: `alternatives`, the accepted readings where the specification is silent, the reference loop's own
first; and `unchecked`, the reason why no check serves the record. Line breaks within a text mean nothing. A section is
what the profile's specification tells its parts by, a number or a heading, as `sections` above the records says.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, ValidationError, model_validator

__all__ = ["Level", "Requirement", "RequirementSet", "load_requirements", "requirement_set", "requirements"]


def _one_line(value: object) -> object:
    return " ".join(value.split()) if isinstance(value, str) else value


Level: TypeAlias = Literal["must", "should"]
"""`must` is what the specification says and alone decides an exit code; `should` is good sense beyond it."""
Slug: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9]*(-[a-z0-9]+)*$")]
Section: TypeAlias = Annotated[str, StringConstraints(pattern=r"^(-|[1-9]\d*(\.[1-9]\d*)*|[A-Z]\S*( \S+)*)$")]
"""A number such as `2.4` or a heading, as the specification spells it; `-` where it does not speak of the matter."""
Text: TypeAlias = Annotated[str, StringConstraints(min_length=1), BeforeValidator(_one_line)]


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Requirement(_Record):
    """One normative statement.

    `id` is permanent. `section` is where the specification speaks of the matter, `-` where it does not. `alternatives`
    are the readings that are accepted, the reference loop's first; it is empty where there is only one. `unchecked`
    tells why no check serves the record and is None where one does. `since` is the version of the set that brought it.
    """

    id: Slug
    section: Section
    level: Level
    statement: Text
    alternatives: tuple[Text, ...] = ()
    unchecked: Text | None = None
    since: Annotated[int, Field(ge=1)]

    @model_validator(mode="after")
    def _consistent(self) -> Requirement:
        if self.level == "must" and self.section == "-":
            msg = "a must names the section that says so"
            raise ValueError(msg)
        if len(self.alternatives) == 1:
            msg = "a single alternative is none"
            raise ValueError(msg)
        return self


class RequirementSet(_Record):
    """The records of a profile, in the order of its specification. A later `version` only adds records."""

    profile: Slug
    version: Annotated[int, Field(ge=1)]
    sections: Literal["numbers", "headings"] = "numbers"
    requirement: Annotated[tuple[Requirement, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _consistent(self) -> RequirementSet:
        twice = [name for name, number in Counter(record.id for record in self.requirement).items() if number > 1]
        if twice:
            msg = f"more than one requirement has the id {', '.join(map(repr, twice))}"
            raise ValueError(msg)
        strange = [record.id for record in self.requirement if record.section != "-" and not self._fits(record.section)]
        if strange:
            msg = f"the sections are {self.sections}, but not of {', '.join(map(repr, strange))}"
            raise ValueError(msg)
        early = [record.id for record in self.requirement if record.since > self.version]
        if early:
            msg = f"newer than version {self.version} of the set: {', '.join(map(repr, early))}"
            raise ValueError(msg)
        return self

    def _fits(self, section: str) -> bool:
        return section[0].isdigit() == (self.sections == "numbers")


def load_requirements(text: str, source: str) -> RequirementSet:
    """Read a set of records from TOML.

    Raises `ValueError`, one line: the source, the record and key where there is one, what is wrong. Malformed TOML, an
    unknown or missing key, a value of another form, and an id that two records share are refused.
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        msg = f"{source}: not TOML: {error}"
        raise ValueError(msg) from None
    try:
        return RequirementSet.model_validate(document)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        reason = first["msg"].removeprefix("Value error, ")
        msg = ": ".join([source, *_place(first["loc"], document), reason])
        raise ValueError(msg) from None


def _place(loc: tuple[int | str, ...], document: dict[str, Any]) -> list[str]:
    """Where a problem is: the record by its id, or by its number from 1, and the key in it."""
    match loc:
        case ("requirement", int(index), *keys):
            record = document["requirement"][index]
            name = record.get("id") if isinstance(record, dict) else None
            label = [f"requirement {name!r}" if isinstance(name, str) else f"requirement {index + 1}"]
        case _:
            label, keys = [], list(loc)
    return [*label, str(keys[0])] if keys else label


@cache
def requirement_set(profile: str) -> RequirementSet:
    """The records of a profile and their version. Raises `KeyError` for an unknown profile."""
    for resource in files(__name__).iterdir():
        if resource.name == f"{profile}.toml":
            return load_requirements(resource.read_text(encoding="utf-8"), resource.name)
    raise KeyError(profile)


def version_asked(profile: str, version: int | None) -> int:
    """The version of the set that is to decide, the newest for None. Raises `ValueError`, one line, for a later one."""
    newest = requirement_set(profile).version
    if version is not None and version > newest:
        msg = f"the newest of {profile} is {newest}"
        raise ValueError(msg)
    return newest if version is None else version


@cache
def requirements(profile: str) -> Mapping[str, Requirement]:
    """The records of a profile by their ids, in the order of its specification. Raises `KeyError` as above."""
    return MappingProxyType({record.id: record for record in requirement_set(profile).requirement})
