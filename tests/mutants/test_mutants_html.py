"""The page of the mutants as text: what stands in it, that it is one file, and that a hostile text stays text.

That it works in a browser is shown by test_html_browser.py.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.mutants.outcomes import SOURCES, found, met, outcome, with_mutants

import looptck
from looptck.suite import PROFILES, tests_of
from looptck_mutants.html import mutants_html
from looptck_mutants.html.view import columns_of, exhibits_of
from looptck_mutants.profiles import mutants_of
from looptck_mutants.project import reference_project
from looptck_mutants.stryker import stryker_report

if TYPE_CHECKING:
    from looptck_mutants.outcome import MutantReport, MutantsReport

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)> \u2028 \"'&{{ 7*7 }}"


class Page(HTMLParser):
    """The elements of a page: each start tag with its attributes, and the text between it and the next tag."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str], str]] = []
        self._reading = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}, ""))
        self._reading = True

    def handle_endtag(self, tag: str) -> None:
        del tag
        self._reading = False

    def handle_data(self, data: str) -> None:
        if self._reading:
            tag, attributes, text = self.tags[-1]
            self.tags[-1] = tag, attributes, text + data

    def all(self, tag: str, name: str = "") -> list[tuple[dict[str, str], str]]:
        """Attributes and text of all elements of this kind, where one is named with this attribute."""
        return [(found, text) for kind, found, text in self.tags if kind == tag and (not name or name in found)]


def page_of(report: MutantsReport) -> str:
    return mutants_html(report, reference_project(report.profile), SOURCES)


def page(*mutants: MutantReport) -> Page:
    return Page(page_of(outcome("ag03", *mutants)))


def cells(shown: Page) -> list[tuple[str, str]]:
    """Text and classes of each cell of a matrix of one mutant."""
    row = [(text.strip(), found["class"]) for found, text in shown.all("td", "class")]
    return [(text, classes) for text, classes in row if classes.startswith("shade")]


# ------------------------------------------------------------------------------------------------------------- one file


@pytest.mark.parametrize("profile", PROFILES)
def test_nothing_in_the_page_leads_outside(profile: str) -> None:
    shown = Page(page_of(outcome(profile)))
    fetched = {found[name] for _, found, _ in shown.tags for name in ("src", "href", "action") if name in found}
    assert fetched
    assert {link for link in fetched if not link.startswith("#")} == {"data:,"}
    assert "@import" not in page_of(outcome(profile)).partition("</style>")[0]


def test_the_policy_names_the_two_scripts_by_what_they_are() -> None:
    text = page_of(outcome("ag03"))
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    digests = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    assert len(digests) == 2
    named = " ".join(f"'sha256-{digest}'" for digest in digests)
    assert f"; script-src {named}; " in policy
    assert policy.startswith("default-src 'none'; ")


def test_no_path_of_the_machine_is_in_it() -> None:
    assert str(Path(looptck.__file__).parents[2]) not in page_of(outcome("ag03"))


def test_the_elements_are_given_the_report_in_their_schema() -> None:
    report = outcome("ag03")
    (data,) = [text for found, text in Page(page_of(report)).all("script", "id") if found["id"] == "stryker"]
    assert json.loads(data) == stryker_report(report, reference_project("ag03"), SOURCES)


def test_a_hostile_text_stays_text() -> None:
    mutant = met(found("ag03", "s08"), title=HOSTILE, message=HOSTILE, pitfall=HOSTILE, verdict="survived")
    text = page_of(outcome("ag03", mutant))
    shown = Page(text)
    assert len(shown.all("script")) == 3
    assert shown.all("img") == []
    assert [found for _, found, _ in shown.tags if "onerror" in found] == []
    (data,) = [told for found, told in shown.all("script", "id") if found["id"] == "stryker"]
    assert "<" not in data
    assert data.isascii()
    report = json.loads(data)
    assert HOSTILE in report["files"]["looptck_reference/loop.py"]["mutants"][0]["description"]
    titles = [told for found, told in shown.all("span", "class") if found["class"] == "title"]
    assert titles == [HOSTILE.replace("\u2028", "\\u{2028}")]


# -------------------------------------------------------------------------------------------------------- what is shown


@pytest.mark.parametrize("profile", PROFILES)
def test_every_mutant_has_a_row_that_leads_to_its_details(profile: str) -> None:
    shown = Page(page_of(outcome(profile)))
    ids = [f"m-{mutant.id}" for mutant in mutants_of(profile)]
    assert [found["id"] for found, _ in shown.all("details", "id")] == ids
    links = [found["href"].removeprefix("#") for found, _ in shown.all("a", "title")]
    assert links == ids
    assert [text for found, text in shown.all("span", "class") if found["class"] == "letter"] == list("ABCDEFGHIJKLM")


def test_a_cell_counts_the_checks_of_its_test_that_failed_and_marks_the_test_of_the_killer() -> None:
    names = [test.name for test in tests_of("ag03")]
    killed = cells(page(met(found("ag03", "s08"), killed_by=["hand/usage", "resume/answer", "resume/other-markers"])))
    assert len(killed) == len(names)
    assert killed[names.index("TestGateVerdicts")] == ("2", "shade2 hit")
    assert killed[names.index("TestHandExample")] == ("1", "shade1")
    assert killed[names.index("TestSpans")] == ("·", "shade0")


def test_the_test_whose_check_passed_is_marked_where_a_mutant_got_away() -> None:
    gate = [test.name for test in tests_of("ag03")].index("TestGateVerdicts")
    survivor = cells(page(met(found("ag03", "s08"), verdict="survived", killed_by=[])))
    assert survivor[gate] == ("·", "shade0 meant")
    by_others = cells(page(met(found("ag03", "s08"), verdict="by_others", killed_by=["resume/answer"])))
    assert by_others[gate] == ("1", "shade1 meant")


@pytest.mark.parametrize(
    ("fate", "good"),
    [
        *[("killed", True), ("equivalent", True)],
        *[("by_others", False), ("survived", False), ("timeout", False), ("broken", False), ("stale", False)],
    ],
)
def test_the_filter_leaves_what_got_away_or_was_not_run(fate: str, good: bool) -> None:  # noqa: FBT001 - a table
    shown = page(met(found("ag03", "s08"), verdict=fate))
    marked = ["data-good" in found for kind in ("tr", "details") for found, _ in shown.all(kind, "data-mutant")]
    assert marked == [good, good]


def test_a_column_counts_the_mutants_that_it_noticed_those_meant_for_it_and_those_that_it_caught() -> None:
    report = outcome(
        "ag03",
        met(found("ag03", "s08"), killed_by=["resume/other-markers", "hand/usage"]),
        met(found("ag03", "s06"), killed_by=["gate/denied-not-run"]),
        met(found("ag03", "s07"), verdict="survived", killed_by=[]),
    )
    columns = columns_of(exhibits_of(report, reference_project(report.profile), {"files": {}}))
    counted = {column.name: (column.noticed, column.meant, column.hit) for column in columns}
    assert counted["TestGateVerdicts"] == (2, 3, 2)
    assert counted["TestHandExample"] == (1, 0, 0)
    assert [column.letter for column in columns] == list("ABCDEFGHIJKLM")


@pytest.mark.parametrize("profile", PROFILES)
def test_a_test_s_name_may_break_between_its_words(profile: str) -> None:
    report = outcome(profile)
    for column in columns_of(exhibits_of(report, reference_project(report.profile), {"files": {}})):
        assert "".join(column.words) == column.name
        assert len(column.words) > 1


def test_the_patch_is_a_diff_in_colour() -> None:
    shown = page(met(found("ag03", "s08")))
    lines = [(found["class"], text) for found, text in shown.all("span", "class") if text.endswith("\n")]
    assert [kind for kind, _ in lines] == ["file", "file", "hunk", "same", "same", "same", "del", "add", *["same"] * 3]
    assert lines[7][1] == "+            if isinstance(verdict, NeedApproval) and call.id in self.agent.approvals:\n"


def test_a_mutant_that_has_its_diff_with_it_is_shown_by_that_and_by_its_own_lines() -> None:
    """As those of mutmut have, whose patches are no files; there may be a form feed in a line."""
    first = SOURCES["looptck_reference"].partition("\n")[0]
    path = "looptck_reference/__init__.py"
    diff = f"--- {path}\n+++ {path}\n@@ -1 +1 @@\n-{first}\n+a = '\f'\n\\ No newline at end of file\n"
    mutant = met(found("ag03", "s08"), patch=path, diff=diff)
    project, report = reference_project("ag03"), outcome("ag03", mutant)
    assert project.patch(mutant).modules == ("looptck_reference",)
    (shown,) = exhibits_of(report, project, {"files": {}})
    kinds = ["file", "file", "hunk", "del", "add", "same"]
    assert shown.diff == tuple(zip(kinds, diff.removesuffix("\n").split("\n"), strict=True))


def test_the_details_name_every_check_that_failed_and_mark_the_killer() -> None:
    shown = page(met(found("ag03", "s08"), killed_by=["hand/usage", "resume/other-markers"]))
    named = [(text, found.get("class", "")) for found, text in shown.all("code")]
    assert named[1:] == [("resume/other-markers", "own"), ("hand/usage", ""), ("resume/other-markers", "own")]
    away = page(met(found("ag03", "s08"), killed_by=["hand/usage"], verdict="by_others"))
    assert [found.get("class", "") for found, _ in away.all("code")][1:] == ["own missed", ""]


def test_an_equivalent_mutant_has_its_argument_and_no_killer() -> None:
    mutant = found("ag03", "s08").model_copy(update={"killer": None, "equivalent": "nobody can tell"})
    killer = {"test": "", "check": ""}
    report = outcome("ag03", met(found("ag03", "s08"), verdict="equivalent", killed_by=[], killer=killer))
    text = mutants_html(report, with_mutants(report.profile, mutant), SOURCES)
    assert "<b>Equivalent:</b> nobody can tell" in text
    assert "Meant for" not in text


def test_the_head_counts_the_fates() -> None:
    shown = page(met(found("ag03", "s08")), met(found("ag03", "s01"), verdict="by_others"))
    fates = [text for found, text in shown.all("span", "class") if found["class"].startswith("fate ")]
    assert fates[:2] == ["1 killed", "1 by others"]
    assert [text for _, text in shown.all("b")] == ["ag03", "1"]


def test_a_report_without_mutants_has_a_page_too() -> None:
    report = outcome("ag03").model_copy(update={"mutants": []})
    assert "0 mutants" in page_of(report)


# ---------------------------------------------------------------------------------------------- into the source view


def links(*mutants: MutantReport) -> list[str]:
    return [found["href"] for found, _ in page(*mutants).all("a", "href") if found["href"].startswith("#mutant/")]


def test_a_link_leads_to_the_file_by_the_name_that_the_elements_give_it() -> None:
    loop = met(found("ag03", "s08"))
    assert links(loop) == ["#mutant/loop.py"]
    stale = met(found("ag03", "s01"), verdict="stale")
    assert links(loop, stale) == ["#mutant/looptck_reference/loop.py", f"#mutant/patches/{stale.patch}"]


def test_a_mutant_of_several_files_has_a_link_to_each() -> None:
    several = next(mutant for mutant in mutants_of("lesson4") if len({*_files(mutant.id)}) > 1)
    report = outcome("lesson4", met(several))
    shown = Page(page_of(report))
    assert [found["href"] for found, _ in shown.all("a", "href") if found["href"].startswith("#mutant/")] == [
        "#mutant/meter.py",
        "#mutant/metered.py",
    ]


def _files(name: str) -> list[str]:
    report = stryker_report(outcome("lesson4", met(found("lesson4", name))), reference_project("lesson4"), SOURCES)
    return list(report["files"])
