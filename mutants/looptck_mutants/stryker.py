"""The mutants as a report of Stryker's schema (mutation-testing-report-schema, version 2), which other tools read too.

What that schema says, and how the kit's outcome is put into it:

1. A file is a module of the loop with its original text. Its path starts with the package, as it does in a wheel.
2. An entry is one hunk of one file, its mutator the name of the patch. A mutant whose patch has several hunks has an
   entry for each: `s04`, `s04/2`. They share status, killers and description; `statusReason` says which of how many.
3. A location covers the changed lines of the hunk in the original, and `replacement` is what stands there in the
   mutant. A hunk that only adds lines has an empty location, at the end of the line above.
4. What got away must not count as detected, and is `Survived`. So is a mutant that only others noticed, for the check
   that is there for it passed; and one whose check could not be judged in time, for Stryker counts a `Timeout` as
   detected. What could not be run is `CompileError`, which no score counts, and an equivalent one is `Ignored`.
   `statusReason` has the kit's own words, and `killedBy` every check that failed in any case.
5. A patch that does not fit has no place in the original: its file is the patch itself.
6. A test file is a named test of the specification; its tests are the checks. Of somebody's suite they are its files
   and tests, of those that count. `coveredBy` is left out: every check is run on every mutant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from looptck import __version__
from looptck_mutants.judges import files_of, groups_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from looptck_mutants.outcome import Fate, MutantReport, MutantsReport
    from looptck_mutants.patchfile import Hunk
    from looptck_mutants.project import Project

__all__ = ["STATUS", "label_of", "stryker_report"]

STATUS: dict[Fate, str] = {
    "killed": "Killed",
    "by_others": "Survived",
    "survived": "Survived",
    "timeout": "Survived",
    "broken": "CompileError",
    "stale": "CompileError",
    "equivalent": "Ignored",
}
"""The status of each fate (4)."""

_ALL = 100
"""The score that is asked for, in percent: every mutant has to be killed."""


def stryker_report(report: MutantsReport, project: Project, sources: Mapping[str, str]) -> dict[str, Any]:
    """The report as a JSON value.

    `project` has the patches, and the arguments of equivalent mutants; `sources` maps module names to the original
    texts. Raises `OSError` where a patch is gone since.
    """
    arguments = {mutant.id: mutant.equivalent or "" for mutant in project.mutants}
    files: dict[str, dict[str, Any]] = {}
    for mutant in report.mutants:
        common = _common(mutant, arguments.get(mutant.id, ""))
        placed = list(_placed(project, mutant, sources))
        for number, (path, language, source, place) in enumerate(placed, start=1):
            file = files.setdefault(path, {"language": language, "source": source, "mutants": []})
            entry = {"id": mutant.id if number == 1 else f"{mutant.id}/{number}", **common, **place}
            if len(placed) > 1:
                where = f"place {number} of {len(placed)} of {mutant.id}"
                entry["statusReason"] = ". ".join(filter(None, [where, common["statusReason"]]))
            file["mutants"].append(entry)
    return {
        "schemaVersion": "2",
        "thresholds": {"high": _ALL, "low": _ALL},
        "framework": {"name": "looptck", "version": __version__},
        "config": {"profile": report.profile, "seed": report.seed},
        "files": dict(sorted(files.items())),
        "testFiles": _test_files(report),
    }


def _path(module: str, path: str) -> str:
    """The path of a module from its package on; `path` is the patch's own, which may have anything before that."""
    parts = module.split(".")
    return "/".join([*parts, "__init__.py"]) if path.endswith("/__init__.py") else "/".join(parts) + ".py"


def label_of(mutant: MutantReport) -> str:
    """The pitfall, where there is one, and the title."""
    pitfall = f"pitfall {mutant.pitfall}" if isinstance(mutant.pitfall, int) else mutant.pitfall
    return f"{pitfall}: {mutant.title}" if pitfall else mutant.title


def _common(mutant: MutantReport, argument: str) -> dict[str, Any]:
    """What all entries of a mutant share."""
    fate = "" if mutant.verdict in {"killed", "equivalent"} else mutant.verdict.replace("_", " ")
    return {
        "mutatorName": mutant.patch.removesuffix(".patch"),
        "description": label_of(mutant),
        "status": STATUS[mutant.verdict],
        "statusReason": ": ".join(filter(None, [fate, argument or mutant.message])),
        "killedBy": list(mutant.killed_by),
    }


def _placed(
    project: Project, mutant: MutantReport, sources: Mapping[str, str]
) -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    """For each change of a mutant: the file's path, language and text, and the change's place in it."""
    if mutant.verdict == "stale":
        text = project.patch_text(mutant)
        location = {"start": _position(text, 0), "end": _position(text, len(text.partition("\n")[0]))}
        yield f"patches/{mutant.patch}", "diff", text, {"location": location}
        return
    for file in project.patch(mutant).files:
        source = sources[file.module]
        for hunk in file.hunks:
            yield _path(file.module, file.path), "python", source, _place(hunk, source)


def _place(hunk: Hunk, source: str) -> dict[str, Any]:
    """Where a hunk changes the source, and what it puts there."""
    changed = [number for number, line in enumerate(hunk.body) if not line.is_context]
    above, span = hunk.body[: changed[0]], hunk.body[changed[0] : changed[-1] + 1]
    first = hunk.old_at + len(above)
    start, end = _offset(source, first), _offset(source, first + sum(line.in_old for line in span))
    new = "".join(line.text for line in span if line.in_new)
    ending = "\r\n" if new.endswith("\r\n") else "\n"
    if new and source[:end].endswith(ending) and new.endswith(ending):
        # The last line's ending stays out of it, and where lines are only added, so does that of the line above.
        new, end = new.removesuffix(ending), end - len(ending)
        if end < start:
            new, start = ending + new, end
    return {"location": {"start": _position(source, start), "end": _position(source, end)}, "replacement": new}


def _offset(source: str, line: int) -> int:
    """Where a line starts, counted from 0; the end of the text where it has fewer."""
    at = 0
    for _ in range(line):
        at = source.find("\n", at) + 1 or len(source)
    return at


def _position(source: str, offset: int) -> dict[str, int]:
    """Line and column from 1, the column in units of UTF-16 as where the schema comes from."""
    line_start = source.rfind("\n", 0, offset) + 1
    column = len(source[line_start:offset].encode("utf-16-le")) // 2
    return {"line": source.count("\n", 0, offset) + 1, "column": column + 1}


def _test_files(report: MutantsReport) -> dict[str, Any]:
    """Each test with its checks, or each file of somebody's suite with its tests."""
    groups = groups_of(report) if report.suite is None else files_of(report.suite)
    return {
        group.name: {
            "tests": [
                {"id": each.id, "name": ": ".join(filter(None, [each.id, each.statement]))} for each in group.judges
            ]
        }
        for group in groups
    }
