"""The report in Stryker's schema: it validates, its entries are the patches, and its score hides nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import jsonschema
import pytest
from tests.mutants.outcomes import SOURCES, found, met, outcome, with_mutants
from tests.mutants.replaying import replayed

import looptck
from looptck.suite import PROFILES, tests_of
from looptck_mutants import patchfile, stryker
from looptck_mutants.outcome import Fate
from looptck_mutants.profiles import known_checks, mutants_of, patches_of
from looptck_mutants.project import reference_project
from looptck_mutants.stryker import STATUS, stryker_report

if TYPE_CHECKING:
    from looptck_mutants.outcome import MutantReport, MutantsReport

SCHEMA = json.loads(
    (Path(__file__).parent / "schema" / "mutation-testing-report-schema.json").read_text(encoding="utf-8")
)
LOOP = "looptck_reference/loop.py"
FATES: tuple[Fate, ...] = get_args(Fate)


def told(report: MutantsReport) -> dict[str, Any]:
    return stryker_report(report, reference_project(report.profile), SOURCES)


def entries(report: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {entry["id"]: entry for file in report["files"].values() for entry in file["mutants"]}


def entry_of(mutant: MutantReport) -> dict[str, Any]:
    return entries(told(outcome("ag03", mutant)))[mutant.id]


# ------------------------------------------------------------------------------------------------------------ the whole


@pytest.mark.parametrize("profile", PROFILES)
def test_the_report_of_all_mutants_keeps_the_schema(profile: str) -> None:
    jsonschema.Draft7Validator(SCHEMA).validate(told(outcome(profile)))


@pytest.mark.parametrize("fate", FATES)
def test_a_report_with_any_fate_keeps_the_schema(fate: Fate) -> None:
    report = told(outcome("ag03", met(found("ag03", "s04"), verdict=fate, message="a remark")))
    jsonschema.Draft7Validator(SCHEMA).validate(report)
    assert "s04" in entries(report)


def test_the_schema_is_one_that_refuses() -> None:
    report = told(outcome("ag03"))
    report["files"][LOOP]["mutants"][0]["status"] = "by_others"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft7Validator(SCHEMA).validate(report)


def test_the_head_names_the_kit_and_what_the_run_can_be_repeated_with() -> None:
    report = told(outcome("ag03"))
    assert report["schemaVersion"] == "2"
    assert report["framework"] == {"name": "looptck", "version": looptck.__version__}
    assert report["config"] == {"profile": "ag03", "seed": 7}
    assert report["thresholds"] == {"high": 100, "low": 100}


def test_no_path_of_the_machine_is_in_it() -> None:
    text = json.dumps(told(outcome("ag03")))
    assert str(Path(looptck.__file__).parents[2]) not in text
    assert "projectRoot" not in text


@pytest.mark.parametrize("profile", PROFILES)
def test_the_tests_are_the_checks_with_their_statements_and_every_killer_is_among_them(profile: str) -> None:
    report = told(outcome(profile))
    assert list(report["testFiles"]) == [test.name for test in tests_of(profile)]
    named = {test["id"]: test["name"] for file in report["testFiles"].values() for test in file["tests"]}
    assert list(named) == list(known_checks(profile))
    first = tests_of(profile)[0].checks[0]
    assert named[first.id] == f"{first.id}: {first.statement}"
    assert {killer for entry in entries(report).values() for killer in entry["killedBy"]} <= set(named)


# ----------------------------------------------------------------------------------------------------------- the places


@pytest.mark.parametrize("profile", PROFILES)
def test_the_files_are_the_originals_that_the_patches_change(profile: str) -> None:
    files = told(outcome(profile))["files"]
    patches = [patchfile.load(patches_of(profile) / mutant.patch) for mutant in mutants_of(profile)]
    changed = {module for patch in patches for module in patch.modules}
    assert {path.removesuffix(".py").replace("/", ".") for path in files} == changed
    assert {file["source"] for file in files.values()} == {SOURCES[module] for module in changed}
    assert {file["language"] for file in files.values()} == {"python"}


@pytest.mark.parametrize("profile", PROFILES)
def test_the_entries_of_a_mutant_make_of_the_originals_what_its_patch_does(profile: str) -> None:
    files = told(outcome(profile))["files"]
    for mutant in mutants_of(profile):
        patched = patchfile.apply(patchfile.load(patches_of(profile) / mutant.patch), SOURCES)
        for module, text in patched.items():
            file = files[module.replace(".", "/") + ".py"]
            own = [entry for entry in file["mutants"] if entry["id"].partition("/")[0] == mutant.id]
            assert replayed(file["source"], own) == text, mutant.id


@pytest.mark.parametrize("profile", PROFILES)
def test_each_hunk_has_an_entry_and_each_entry_an_id_of_its_own(profile: str) -> None:
    ids = [entry["id"] for file in told(outcome(profile))["files"].values() for entry in file["mutants"]]
    assert len(ids) == len(set(ids))
    for mutant in mutants_of(profile):
        hunks = [h for file in patchfile.load(patches_of(profile) / mutant.patch).files for h in file.hunks]
        own = {name for name in ids if name.partition("/")[0] == mutant.id}
        assert own == {mutant.id, *(f"{mutant.id}/{number}" for number in range(2, len(hunks) + 1))}


def test_the_entries_of_one_mutant_say_that_they_belong_together() -> None:
    by_id = entries(told(outcome("ag03", met(found("ag03", "s03"), verdict="survived", message="all passed"))))
    assert list(by_id) == ["s03", "s03/2"]
    assert by_id["s03/2"]["statusReason"] == "place 2 of 2 of s03. survived: all passed"
    shared = ["mutatorName", "description", "status", "killedBy"]
    assert [by_id["s03"][key] for key in shared] == [by_id["s03/2"][key] for key in shared]


def test_a_patch_that_does_not_fit_is_its_own_file() -> None:
    stale = met(found("ag03", "s08"), verdict="stale", message="line 3: expected 'x'")
    report = told(outcome("ag03", stale))
    (file,) = report["files"].values()
    assert list(report["files"]) == ["patches/s08-approval-by-call-id.patch"]
    assert file["source"] == (patches_of("ag03") / stale.patch).read_text(encoding="utf-8")
    (entry,) = file["mutants"]
    first = file["source"].splitlines()[0]
    assert entry["location"] == {"start": {"line": 1, "column": 1}, "end": {"line": 1, "column": len(first) + 1}}
    assert entry["statusReason"] == "stale: line 3: expected 'x'"


# ------------------------------------------------------------------------------------------------------------ the fates


def test_a_killed_mutant_has_its_title_its_pitfall_and_every_check_that_failed() -> None:
    killed = met(found("ag03", "s08"), killed_by=["resume/answer", "resume/other-markers"])
    assert entry_of(killed) | {"location": {}, "replacement": ""} == {
        "id": "s08",
        "mutatorName": "s08-approval-by-call-id",
        "description": "pitfall 4: approvals are looked up by the id of the call instead of the marker",
        "status": "Killed",
        "statusReason": "",
        "killedBy": ["resume/answer", "resume/other-markers"],
        "location": {},
        "replacement": "",
    }


@pytest.mark.parametrize(("pitfall", "start"), [(3, "pitfall 3: "), ("order", "order: "), (None, "")])
def test_a_pitfall_is_a_number_or_a_word_or_nothing(pitfall: int | str | None, start: str) -> None:
    mutant = met(found("ag03", "s08"), pitfall=pitfall, title="a mistake")
    assert entry_of(mutant)["description"] == f"{start}a mistake"


@pytest.mark.parametrize("fate", FATES)
def test_only_what_its_own_check_killed_counts_as_detected(fate: Fate) -> None:
    detected = {"Killed", "Timeout"}  # by the definition of Stryker's score
    report = outcome("ag03", met(found("ag03", "s08"), verdict=fate))
    assert (STATUS[fate] in detected) == (report.counts.killed == 1)
    assert entries(told(report))["s08"]["status"] == STATUS[fate]


@pytest.mark.parametrize("fate", ["by_others", "survived", "timeout"])
def test_what_got_away_counts_as_not_detected(fate: Fate) -> None:
    entry = entry_of(met(found("ag03", "s08"), verdict=fate, killed_by=["hand/usage"], message="why"))
    assert (entry["status"], entry["killedBy"]) == ("Survived", ["hand/usage"])
    assert entry["statusReason"] == f"{fate.replace('_', ' ')}: why"


def test_an_equivalent_mutant_is_ignored_for_the_reason_that_its_entry_gives() -> None:
    mutant = found("ag03", "s08").model_copy(update={"killer": None, "equivalent": "nobody can tell"})
    report = outcome("ag03", met(found("ag03", "s08"), verdict="equivalent", killed_by=[]))
    entry = entries(stryker_report(report, with_mutants("ag03", mutant), SOURCES))["s08"]
    assert (entry["status"], entry["statusReason"]) == ("Ignored", "nobody can tell")


def test_the_path_of_a_package_is_its_file() -> None:
    assert stryker._path("looptck_reference", "b/reference/looptck_reference/__init__.py") == (
        "looptck_reference/__init__.py"
    )
