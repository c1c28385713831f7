"""The starter fails every test and says what to write; filled in, edit by edit, it passes one after the other."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest
from tests.conformance.starters import FOLDER, PLACES, STAGES, judged, skeleton, staged

from looptck.starter import LOOP, starter
from looptck.suite import PROFILES, tests_of

ORDER = {profile: list(STAGES[profile]) for profile in PROFILES}


def names(profile: str) -> set[str]:
    """The names of all tests of a profile."""
    return {test.name for test in tests_of(profile)}


# ------------------------------------------------------------------------------------------------------------- as made


@pytest.mark.parametrize("profile", PROFILES)
def test_as_made_every_test_fails_for_something_that_is_not_written(profile: str, tmp_path: Path) -> None:
    reports = judged(skeleton(profile), profile, tmp_path)
    assert {report.name for report in reports if report.verdict == "fail"} == names(profile)
    for report in reports:
        assert {check.verdict for check in report.checks} <= {"fail", "pass"}
        assert any("NotImplementedError: write " in f"{check.seen} {check.message}" for check in report.checks)


@pytest.mark.parametrize(
    ("profile", "first"),
    [("ag03", "Run.result first: let Run.loop run"), ("lesson4", "Agent.loop first: ask until there is an answer")],
)
def test_check_says_what_to_write_first(looptck: Any, profile: str, first: str, tmp_path: Path) -> None:
    file = tmp_path / LOOP
    file.write_text(skeleton(profile), encoding="utf-8")
    ran = looptck("check", str(file), "--profile", profile, "-k", tests_of(profile)[0].name)
    assert (ran.code, ran.err) == (1, "")
    assert f"write {first}" in " ".join(ran.out.split())


@pytest.mark.parametrize("profile", PROFILES)
def test_whatever_is_not_written_names_the_test_that_asks_for_it(profile: str) -> None:
    told = re.findall(r'raise NotImplementedError\("(.*)"\)', skeleton(profile))
    assert len(told) == skeleton(profile).count("raise ") > 0
    for text in told:
        found = re.fullmatch(r"write .* \((\w+)\)", text)
        assert found is not None
        assert found[1] in names(profile)


@pytest.mark.parametrize("profile", PROFILES)
def test_it_imports_the_standard_library_and_the_contract(profile: str) -> None:
    statements = ast.parse(skeleton(profile)).body
    modules = {str(node.module) for node in statements if isinstance(node, ast.ImportFrom)}
    assert {module for module in modules if module.startswith("looptck")} == {
        "looptck.contract",
        f"looptck.contract.{profile}",
    }
    others = {module for module in modules if not module.startswith("looptck")}
    assert others <= {"__future__", "collections.abc", "dataclasses", "typing"}
    assert not any(isinstance(node, ast.Import) for node in statements)


# ----------------------------------------------------------------------------------------------------------- filled in


@pytest.mark.parametrize(("profile", "stage"), PLACES)
def test_a_stage_passes_its_tests_and_those_of_the_stages_before(profile: str, stage: str, tmp_path: Path) -> None:
    passed = {report.name for report in judged(staged(profile, stage), profile, tmp_path) if report.verdict == "pass"}
    assert passed == {test for name, tests in STAGES[profile].items() if name <= stage for test in tests}


@pytest.mark.parametrize("profile", PROFILES)
def test_the_last_stage_passes_every_check_and_leaves_nothing_to_fill_in(profile: str, tmp_path: Path) -> None:
    text = staged(profile, ORDER[profile][-1])
    reports = judged(text, profile, tmp_path)
    assert [check.id for report in reports for check in report.checks if check.verdict != "pass"] == []
    assert {report.name for report in reports} == names(profile)
    assert "NotImplementedError" not in text
    assert not re.search(r"^ *#", text, re.MULTILINE)


@pytest.mark.parametrize("profile", PROFILES)
def test_the_stages_are_in_order_and_each_has_its_patch(profile: str) -> None:
    assert ORDER[profile] == sorted(path.stem for path in (FOLDER / profile).iterdir())
    assert {test for tests in STAGES[profile].values() for test in tests} == names(profile)


@pytest.mark.parametrize("profile", PROFILES)
def test_the_readme_lists_the_tests_in_the_order_in_which_they_are_passed(profile: str) -> None:
    passed_after = {test: place for place, tests in enumerate(STAGES[profile].values()) for test in tests}
    rows = re.findall(r"^\| \d+ \| (`[Tt]est.*)", starter(profile, "1")["README.md"], re.MULTILINE)
    listed = [re.findall(r"`((?:Test|test_)\w+)`", row) for row in rows]
    assert sorted(name for row in listed for name in row) == sorted(names(profile))
    places = [max(passed_after[name] for name in row) for row in listed]
    assert places == sorted(set(places))
    assert all(passed_after[row[0]] == place for row, place in zip(listed, places, strict=True))
