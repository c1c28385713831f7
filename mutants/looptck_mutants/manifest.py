"""Reads `manifest.toml` of a folder of patches: what each mutant stands for and which check has to kill it.

    [[mutant]]
    id = "s01"
    title = "cap looked at after the call"
    pitfall = 1
    patch = "s01-cap-after-the-call.patch"
    killer = { test = "TestMaxIterStops", check = "max-iter/model-calls" }

`pitfall` is a number of the specification's list, a word for a mistake that it does not list, or left out. A mutant
that no check can tell from the original has, in place of a killer, `equivalent = "the argument why"`.
"""

from __future__ import annotations

import difflib
import tomllib
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, field_validator, model_validator

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from importlib.resources.abc import Traversable

__all__ = [
    "MANIFEST",
    "Killer",
    "ManifestError",
    "Mutant",
    "Mutants",
    "Record",
    "Text",
    "check_entries",
    "check_problems",
    "hint",
    "load_manifest",
    "read_manifest",
    "stands_for",
]

MANIFEST = "manifest.toml"
PATCH_SUFFIX = ".patch"

Text = Annotated[str, StringConstraints(pattern=r"\S")]


class ManifestError(Exception):
    """A manifest that cannot be used; its text is one line: the file, the entry, the key, what is wrong."""


class Record(BaseModel):
    """A table of a manifest, in which every key counts."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Killer(Record):
    """The check that has to fail on a mutant, and the test of the specification that it belongs to.

    Where a suite of somebody's own judges, `test` is one of its tests, and there is no check.
    """

    test: Text
    check: Text = ""

    def means(self, test: str) -> bool:
        """Whether it is this test of somebody's own."""
        return not self.check and stands_for(self.test, test)


def stands_for(named: str, test: str) -> bool:
    """Whether a test of somebody's own is the one that is named; one with parameters stands for each of its cases."""
    return test == named or test.startswith(f"{named}[")


class Mutant(Record):
    """One mistake that a loop could have, as a patch; exactly one of `killer` and `equivalent` is given."""

    id: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]*$")]
    title: Text
    patch: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*\.patch$")]
    pitfall: int | str | None = None
    killer: Killer | None = None
    equivalent: Text | None = None

    @field_validator("pitfall", mode="before")
    @classmethod
    def _number_or_word(cls, value: object) -> object:
        number = isinstance(value, int) and not isinstance(value, bool) and value > 0
        word = isinstance(value, str) and bool(value.strip())
        if not number and not word:
            msg = f"expected a number from 1 or a word, there is {value!r}"
            raise ValueError(msg)
        return value

    @model_validator(mode="after")
    def _killer_or_argument(self) -> Mutant:
        if (self.killer is None) == (self.equivalent is None):
            found = "neither" if self.killer is None else "both"
            msg = f"expected a killer, or the argument that makes it equivalent; there are {found}"
            raise ValueError(msg)
        return self


Form = TypeVar("Form", bound=Record)
Mutants = Annotated[tuple[Mutant, ...], Field(min_length=1)]


class _Manifest(Record):
    mutant: Mutants


def load_manifest(folder: Traversable, known_checks: Mapping[str, str]) -> tuple[Mutant, ...]:
    """The mutants of a folder of patches, in the order of its manifest.

    `known_checks` maps the id of every check of the profile to the name of its test. The folder may be a path or lie
    in an installed package. Raises `ManifestError` at the first entry that is wrong: malformed, double, without its
    patch file, killed by a test or check that does not exist or do not belong together; and for a patch file that no
    entry names.
    """
    where = f"{folder.name}/{MANIFEST}"
    mutants = read_manifest(folder, where, _Manifest).mutant
    check_entries(folder, where, mutants, lambda killer: check_problems(killer, known_checks))
    return mutants


def read_manifest(folder: Traversable, where: str, form: type[Form]) -> Form:
    """A folder's manifest, of this form; `where` is what errors call the file. Raises `ManifestError`."""
    try:
        text = folder.joinpath(MANIFEST).read_bytes().decode()
        document = tomllib.loads(text)
        return form.model_validate(document)
    except OSError as error:
        detail = f"cannot be read: {error.strerror or error}"
    except UnicodeDecodeError as error:
        detail = f"not UTF-8: {error.reason} at byte {error.start}"
    except tomllib.TOMLDecodeError as error:
        end = f"at line {len(text.splitlines())}, the end of the file"
        detail = f"not TOML: {str(error).replace('at end of document', end)}"
    except ValidationError as error:
        detail = _malformed(error.errors(include_url=False)[0], document)
    raise ManifestError(f"{where}: {detail}")


def check_entries(
    folder: Traversable, where: str, mutants: Sequence[Mutant], problems: Callable[[Killer], Iterator[str]]
) -> None:
    """Hold well-formed entries against their folder, and their killers against what `problems` says of each.

    Raises `ManifestError` at the first that is wrong.
    """
    on_disk = {entry.name for entry in folder.iterdir() if entry.name.endswith(PATCH_SUFFIX)}
    for problem in _problems(mutants, on_disk, problems):
        raise ManifestError(f"{where}: {problem}")


def _malformed(error: Mapping[str, Any], document: Mapping[str, Any]) -> str:
    """One line for what pydantic found: which entry, which key, what is wrong with it."""
    match error["loc"]:
        case ("mutant", int(index), *keys):
            entry = document["mutant"][index]
            prefix = [_label(index + 1, entry.get("id") if isinstance(entry, dict) else None)]
        case keys:
            prefix = []
    path = ".".join(str(key) for key in keys)
    return ": ".join([*prefix, *([path] if path else []), _reason(error)])


def _reason(error: Mapping[str, Any]) -> str:
    match error["type"]:
        case "extra_forbidden":
            return "unknown key"
        case "missing":
            return "missing"
        case "value_error":
            return str(error["msg"]).removeprefix("Value error, ")
        case _:
            return f"{error['msg']}, there is {error['input']!r}"


def _problems(
    mutants: Sequence[Mutant], on_disk: set[str], of_killer: Callable[[Killer], Iterator[str]]
) -> Iterator[str]:
    """What is wrong with well-formed entries, entry by entry, and then with the folder."""
    ids: dict[str, int] = {}
    patches: dict[str, int] = {}
    for position, mutant in enumerate(mutants, start=1):
        entry = _label(position, mutant.id)
        if ids.setdefault(mutant.id, position) != position:
            yield f"{entry}: id: already taken by mutant {ids[mutant.id]}"
        if patches.setdefault(mutant.patch, position) != position:
            yield f"{entry}: patch: {mutant.patch!r} already belongs to mutant {patches[mutant.patch]}"
        if mutant.patch not in on_disk:
            yield f"{entry}: patch: no file {mutant.patch!r} in the folder{hint(mutant.patch, on_disk)}"
        if mutant.killer is not None:
            yield from (f"{entry}: killer.{problem}" for problem in of_killer(mutant.killer))
    for stray in sorted(on_disk - patches.keys()):
        yield f"patch file {stray!r} is named by no entry"


def check_problems(killer: Killer, known_checks: Mapping[str, str]) -> Iterator[str]:
    """What is wrong with a killer that is to be a check of a suite; `known_checks` is that of `load_manifest`."""
    tests = set(known_checks.values())
    owner = known_checks.get(killer.check)
    if killer.test not in tests:
        yield f"test: unknown test {killer.test!r}{hint(killer.test, tests)}"
    if not killer.check:
        yield "check: missing"
    elif owner is None:
        yield f"check: unknown check {killer.check!r}{hint(killer.check, known_checks)}"
    elif owner != killer.test:
        yield f"check: {killer.check!r} belongs to {owner}, not to {killer.test}"


def _label(position: int, mutant_id: object) -> str:
    return f"mutant {position} ({mutant_id})" if isinstance(mutant_id, str) and mutant_id else f"mutant {position}"


def hint(word: str, known: Iterable[str]) -> str:
    """A question after the word that may have been meant; empty where none is near."""
    close = difflib.get_close_matches(word, sorted(known), n=1)
    return f" (is it {close[0]!r}?)" if close else ""
