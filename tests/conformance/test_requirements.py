"""The requirement records: every check serves one, every one has a check or a reason; and what the loader refuses."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from pydantic import ValidationError

from looptck import suite
from looptck.requirements import Requirement, load_requirements, requirement_set, requirements
from looptck.suite.labels import Labels
from looptck.suite.model import Check, Test

SECTIONS = {
    "ag03": {"2.1", "2.2", "2.3", "2.4", "2.5", "2.6", "2.7", "3", "4", "5"},
    "lesson4": {
        "What you will build",
        "The loop, in full",
        "Walking Agent.run",
        "Why run() returns instead of raising",
        "The Step record, and requested versus executed",
        "Loop detection fires before the step budget",
        "Context regrows every iteration",
        "Exercise",
    },
}
SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
CHECK_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*/[a-z0-9]+(-[a-z0-9]+)*")

HEAD = 'profile = "ag03"\nversion = 1\n'
RECORD = """
[[requirement]]
id = "iteration-cap"
section = "2.2"
level = "must"
statement = "With a cap of n a run makes n model calls."
since = 1
"""

every_profile = pytest.mark.parametrize("profile", suite.PROFILES)


def all_tests(profile: str) -> tuple[Test, ...]:
    """Those of the suite, and those that run only where they are asked for."""
    return (*suite.tests_of(profile), *suite.extras_of(profile))


def checks(profile: str) -> list[Check]:
    return [check for test in all_tests(profile) for check in test.checks]


def served(profile: str) -> set[str]:
    return {check.requirement for check in checks(profile)}


def scenario_names(test: Test) -> list[str]:
    return [scenario.name for scenario in test.build(Labels(0, test.name))]


# what the suite and the records owe each other


@every_profile
def test_every_check_serves_a_record(profile: str) -> None:
    assert served(profile) - requirements(profile).keys() == set()


@every_profile
def test_every_record_has_a_check_or_a_reason_why_not(profile: str) -> None:
    bare = [name for name, record in requirements(profile).items() if record.unchecked is None]
    assert set(bare) - served(profile) == set()


@every_profile
def test_no_record_has_both_a_check_and_a_reason_why_not(profile: str) -> None:
    excused = {name for name, record in requirements(profile).items() if record.unchecked is not None}
    assert excused & served(profile) == set()


@every_profile
def test_records_name_sections_of_their_specification(profile: str) -> None:
    sections = SECTIONS[profile] | {"-"}
    assert {name: r.section for name, r in requirements(profile).items() if r.section not in sections} == {}


@every_profile
def test_every_section_of_a_test_is_one_that_records_name(profile: str) -> None:
    sections = {record.section for record in requirements(profile).values()} - {"-"}
    strange = {test.name: test.section for test in all_tests(profile) if test.section not in sections}
    assert list(strange.values()) == ["-"], "only the test that is not of the specification has no section of it"


@every_profile
def test_record_ids_are_slugs(profile: str) -> None:
    assert [name for name in requirements(profile) if not SLUG.fullmatch(name)] == []


@every_profile
def test_statements_alternatives_and_reasons_are_sentences(profile: str) -> None:
    texts = [
        (record.id, text)
        for record in requirements(profile).values()
        for text in (record.statement, *record.alternatives, *([record.unchecked] if record.unchecked else []))
    ]
    assert [entry for entry in texts if not re.fullmatch(r"[A-Z`].*\S\.", entry[1])] == []


@every_profile
def test_alternatives_are_different_readings(profile: str) -> None:
    repeated = {r.id for r in requirements(profile).values() if len(set(r.alternatives)) != len(r.alternatives)}
    assert repeated == set()


@every_profile
def test_no_two_records_say_the_same(profile: str) -> None:
    said = Counter(record.statement for record in requirements(profile).values())
    assert [statement for statement, number in said.items() if number > 1] == []


@every_profile
def test_the_set_names_its_profile(profile: str) -> None:
    assert requirement_set(profile).profile == profile


# the shape of the suite itself


@every_profile
def test_check_ids_are_unique_slugs(profile: str) -> None:
    ids = Counter(check.id for check in checks(profile))
    assert [name for name, number in ids.items() if number > 1 or not CHECK_ID.fullmatch(name)] == []


@every_profile
def test_check_statements_are_sentences(profile: str) -> None:
    sentence = re.compile(r"([A-Z0-9`]|[a-z_]+\(\)).*\S\.")
    wrong = [check.id for check in checks(profile) if not sentence.fullmatch(check.statement)]
    assert wrong == []


@every_profile
def test_checks_name_scenarios_of_their_own_test(profile: str) -> None:
    unknown = [
        (check.id, name)
        for test in all_tests(profile)
        for names in (set(scenario_names(test)),)
        for check in test.checks
        for name in check.on or ("no scenario at all",)
        if name not in names
    ]
    assert unknown == []


@every_profile
def test_scenarios_are_unique_within_their_test_and_each_is_looked_at(profile: str) -> None:
    for test in all_tests(profile):
        names = scenario_names(test)
        assert sorted(names) == sorted({name for check in test.checks for name in check.on}), test.name


# the loader


def refusal(text: str) -> str:
    with pytest.raises(ValueError, match=r"^records\.toml: ") as caught:
        load_requirements(text, "records.toml")
    return str(caught.value)


def test_a_record_is_read_as_it_stands() -> None:
    record = load_requirements(HEAD + RECORD, "records.toml").requirement[0]
    assert record == Requirement(
        id="iteration-cap",
        section="2.2",
        level="must",
        statement="With a cap of n a run makes n model calls.",
        since=1,
    )
    assert record.alternatives == ()
    assert record.unchecked is None


def test_line_breaks_within_a_text_mean_nothing() -> None:
    broken = RECORD.replace('"With a cap of n a run makes', '"""\nWith a cap of n\n  a run makes').replace(
        'calls."', 'calls."""'
    )
    whole, folded = (load_requirements(HEAD + text, "records.toml") for text in (RECORD, broken))
    assert '"""' in broken
    assert whole == folded


def test_two_records_with_one_id_are_refused() -> None:
    expected = "records.toml: more than one requirement has the id 'iteration-cap'"
    assert refusal(HEAD + RECORD + RECORD.replace("2.2", "2.3")) == expected


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("since = 1", "since = 1\nlevl = 1", "requirement 'iteration-cap': levl: Extra inputs are not permitted"),
        ('level = "must"', "", "requirement 'iteration-cap': level: Field required"),
        ('id = "iteration-cap"', "", "requirement 1: id: Field required"),
        ('"must"', '"may"', "requirement 'iteration-cap': level: Input should be 'must' or 'should'"),
        ('"iteration-cap"', '"Iteration cap"', "requirement 'Iteration cap': id: String should match pattern"),
        ('"2.2"', '"section two"', "requirement 'iteration-cap': section: String should match pattern"),
        ('"2.2"', '"-"', "requirement 'iteration-cap': a must names the section that says so"),
        ("since = 1", "since = 0", "requirement 'iteration-cap': since: Input should be greater than"),
        ("since = 1", "since = 2", "newer than version 1 of the set: 'iteration-cap'"),
        ("since = 1", 'since = 1\nunchecked = " "', "requirement 'iteration-cap': unchecked: String should have at"),
        ("since = 1", 'since = 1\nalternatives = ["One.", " "]', "requirement 'iteration-cap': alternatives: String"),
        ("since = 1", 'since = 1\nalternatives = ["One."]', "requirement 'iteration-cap': a single alternative"),
        ('"2.2"', '"Two  blanks"', "requirement 'iteration-cap': section: String should match pattern"),
        ("version = 1", 'version = 1\nsections = "pages"', "sections: Input should be 'numbers' or 'headings'"),
        ("version = 1", "", "version: Field required"),
        ("version = 1", 'version = 1\nedition = "x"', "edition: Extra inputs are not permitted"),
        ("[[requirement]]", "[[requirement", "not TOML: "),
        (RECORD, "", "requirement: Field required"),
    ],
)
def test_a_bad_record_is_refused_in_one_line(old: str, new: str, expected: str) -> None:
    text = HEAD + RECORD
    assert old in text
    line = refusal(text.replace(old, new, 1))
    assert line.startswith(f"records.toml: {expected}")
    assert "\n" not in line


HEADED = RECORD.replace('"2.2"', '"Walking Agent.run"')


@pytest.mark.parametrize(
    ("sections", "record"),
    [("", RECORD), ('sections = "numbers"\n', RECORD), ('sections = "headings"\n', HEADED)],
)
def test_sections_are_numbers_or_headings_as_the_set_says(sections: str, record: str) -> None:
    records = load_requirements(HEAD + sections + record, "records.toml")
    assert records.requirement[0].section == ("Walking Agent.run" if record is HEADED else "2.2")


@pytest.mark.parametrize(
    ("sections", "record", "kind"),
    [("", HEADED, "numbers"), ('sections = "headings"\n', RECORD, "headings")],
)
def test_sections_of_the_other_kind_are_refused(sections: str, record: str, kind: str) -> None:
    expected = f"records.toml: the sections are {kind}, but not of 'iteration-cap'"
    assert refusal(HEAD + sections + record) == expected


@pytest.mark.parametrize("sections", ["", 'sections = "headings"\n'])
def test_a_should_may_name_no_section_of_either_kind(sections: str) -> None:
    record = RECORD.replace('"2.2"', '"-"').replace('"must"', '"should"')
    assert load_requirements(HEAD + sections + record, "records.toml").requirement[0].section == "-"


def test_records_and_their_mapping_cannot_be_changed() -> None:
    records = requirements("ag03")
    assert records is requirements("ag03")
    record = records["iteration-cap"]
    with pytest.raises(ValidationError, match="frozen"):
        record.level = "should"
    with pytest.raises(TypeError):
        records["another"] = record  # type: ignore[index] # that it cannot be written to is the point


@pytest.mark.parametrize("profile", ["ag04", "", "../requirements/ag03"])
def test_an_unknown_profile_has_no_records(profile: str) -> None:
    with pytest.raises(KeyError):
        requirements(profile)
