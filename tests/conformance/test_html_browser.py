"""The HTML reports in a browser: they work from a plain file, fetch nothing, and log no error.

Starting the browser takes about a second, and opening a page of a megabyte a few tenths.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.conformance.browser import Browser, chromium
from tests.conformance.commands import ROOT
from tests.mutants.outcomes import SOURCES, found, met, outcome

from looptck import cli
from looptck_mutants.html import mutants_html
from looptck_mutants.project import reference_project

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from looptck_mutants.outcome import MutantReport

PHONE, SMALLEST = (390, 844), (320, 568)
HOSTILE = "</script><script>window.hostile = 1</script><img src=x onerror='window.hostile = 2'>"
APP = "mutation-test-report-app"


@pytest.fixture(scope="session")
def chrome(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with chromium(tmp_path_factory.mktemp("browser")) as browser:
        yield browser


@pytest.fixture(scope="module")
def check_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a loop that dispatches a turn over its budget, made by the command."""
    file = tmp_path_factory.mktemp("check") / "check.html"
    loop = str(ROOT / "examples" / "broken_loop.py")
    assert cli.run(["check", loop, "-k", "TestBudgetStopsBeforeDispatch", "--seed", "7", "--html", str(file)]) == 1
    return file


def written(folder: Path, *mutants: MutantReport) -> Path:
    """The page of these mutants, or of all where none are given."""
    file = folder / "mutants.html"
    file.write_text(mutants_html(outcome("ag03", *mutants), reference_project("ag03"), SOURCES), encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def mutants_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of one mutant that was killed, one that got away, and one with a hostile title."""
    return written(
        tmp_path_factory.mktemp("mutants"),
        met(found("ag03", "s03")),
        met(found("ag03", "s08"), verdict="by_others", killed_by=["hand/usage"], message="resume/other-markers passed"),
        met(found("ag03", "s13"), title=HOSTILE),
    )


def assert_quiet(chrome: Browser, page: Path) -> None:
    """Nothing was fetched but the page, and no error logged."""
    assert chrome.fetched() == {page.as_uri()}
    assert chrome.logged() == []


# ------------------------------------------------------------------------------------------------------------ the check


def test_a_check_opens_to_its_statement_and_the_timeline_of_its_run(chrome: Browser, check_page: Path) -> None:
    chrome.open(check_page)
    assert "broken_loop.py" in chrome.one("#summary").text
    name = "budget/calls-whole-run"
    picture = f"[id='{name}'] svg.timeline"
    assert chrome.visible(picture) == []
    chrome.one(f"[id='{name}'] > summary").click()
    chrome.one(picture)
    text = chrome.one(f"[id='{name}'] .body").text
    assert f"-k {name}" in text
    assert "tool runs" in text
    assert_quiet(chrome, check_page)


def test_the_filter_leaves_the_checks_that_failed(chrome: Browser, check_page: Path) -> None:
    chrome.open(check_page)
    everything = len(chrome.visible("details.check"))
    chrome.one("[data-filter=failed]").click()
    left = chrome.wait(lambda: chrome.visible("details.check.failed"))
    assert len(chrome.visible("details.check")) == len(left) < everything
    chrome.one("[data-filter=all]").click()
    chrome.wait(lambda: len(chrome.visible("details.check")) == everything)
    assert_quiet(chrome, check_page)


def test_the_page_of_a_check_is_as_wide_as_a_phone(chrome: Browser, check_page: Path) -> None:
    assert_fits(chrome, check_page, "#budget/calls-whole-run", "[id='budget/calls-whole-run'] svg.timeline")


# ---------------------------------------------------------------------------------------------------------- the mutants


def test_a_row_of_the_matrix_opens_its_mutant(chrome: Browser, mutants_page: Path) -> None:
    chrome.open(mutants_page)
    assert "3 mutants" in chrome.one("#summary").text
    assert chrome.visible("#m-s08 .diff") == []
    chrome.one(".matrix a[href='#m-s08']").click()
    assert "+            if isinstance(verdict, NeedApproval) and call.id" in chrome.one("#m-s08 .diff").text
    assert "resume/other-markers passed" in chrome.one("#m-s08 .message").text
    assert_quiet(chrome, mutants_page)


def test_the_filter_leaves_what_got_away_and_the_search_what_was_looked_for(
    chrome: Browser, mutants_page: Path
) -> None:
    def shown() -> list[str]:
        assert len(chrome.visible("tr[data-mutant]")) == len(chrome.visible("details.mutant"))
        return [str(mutant.get_attribute("id")) for mutant in chrome.visible("details.mutant")]

    chrome.open(mutants_page)
    assert shown() == ["m-s03", "m-s08", "m-s13"]
    chrome.one("[data-filter=away]").click()
    assert shown() == ["m-s08"]
    chrome.one("[data-filter=all]").click()
    chrome.one("#search").send_keys("calls finish")
    assert shown() == ["m-s03"]
    chrome.one("#search").send_keys(" never")
    assert shown() == []
    assert chrome.one("#none").text == "No mutant is like that."
    assert_quiet(chrome, mutants_page)


def test_a_mutant_is_read_in_the_source_with_its_killers(chrome: Browser, mutants_page: Path) -> None:
    chrome.open(mutants_page)
    chrome.one("nav a[href='#mutant']").click()
    chrome.deep(APP, "mte-mutant-view", "mte-metrics-table", "a[href$='#mutant/loop.py']").click()
    file = APP, "mte-mutant-view", "mte-file"
    chrome.deep(*file, "mte-state-filter", "#filter-Killed").click()
    mistake = 'self.messages.append(Message("tool", result.content, tool_call_id=call.id))'
    source = chrome.deep(*file, "table")
    before = source.text.count(mistake)
    dot = chrome.deep(*file, "svg[data-mutant-id='s03/2']")
    chrome.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", dot)
    dot.click()
    chrome.wait(lambda: source.text.count(mistake) == before + 1)
    drawer = chrome.deep(APP, "mte-mutant-view", "mte-drawer-mutant", "mte-drawer")
    chrome.wait(lambda: "s03-results-as-they-finish Killed" in drawer.text)
    assert "Killed by: parallel/order: " in drawer.text
    assert "place 2 of 2 of s03" in drawer.text
    assert_quiet(chrome, mutants_page)


def test_the_checks_are_listed_with_what_they_killed_and_the_matrix_comes_back(
    chrome: Browser, mutants_page: Path
) -> None:
    chrome.open(mutants_page, "#mutant")
    title = "Mutants of ag03 · looptck"
    chrome.deep(APP, "a[href$='#test']").click()
    chrome.deep(APP, "mte-test-view", "mte-metrics-table", "a[href$='#test/TestSystemPrompt']")
    chrome.deep(APP, "mte-test-view", "mte-metrics-table", "a[href$='#test/TestHandExample']").click()
    chrome.deep(APP, "mte-test-view", "mte-test-file")
    assert chrome.visible(".matrix") == []
    assert chrome.driver.title != title
    chrome.one("nav a[href='#matrix']").click()
    chrome.one(".matrix")
    assert chrome.visible(APP) == []
    chrome.wait(lambda: chrome.driver.title == title)
    assert_quiet(chrome, mutants_page)


def test_a_hostile_title_is_read_and_not_run(chrome: Browser, mutants_page: Path) -> None:
    chrome.open(mutants_page, "#m-s13")
    assert HOSTILE in chrome.one("#m-s13 > summary").text
    chrome.one("#m-s13 .links a").click()
    chrome.deep(APP, "mte-mutant-view", "mte-file")
    assert chrome.driver.execute_script("return window.hostile === undefined")
    assert_quiet(chrome, mutants_page)


def test_the_page_of_all_mutants_is_as_wide_as_a_phone(chrome: Browser, tmp_path: Path) -> None:
    page = written(tmp_path)
    assert_fits(chrome, page, "#m-s08", "#m-s08 .diff")
    assert_fits(chrome, page, "#mutant/loop.py", APP)


def assert_fits(chrome: Browser, page: Path, fragment: str, shown: str) -> None:
    """On a phone nothing lies beside the screen, neither at the start nor where the fragment leads."""
    with chrome.sized(*SMALLEST):
        chrome.open(page)
        chrome.one("#summary")
        assert chrome.driver.execute_script("return document.documentElement.scrollWidth") <= SMALLEST[0]
    with chrome.sized(*PHONE):
        for place in ("", fragment):
            chrome.open(page, place)
            chrome.one(shown if place else "#summary")
            assert chrome.driver.execute_script("return innerWidth") == PHONE[0]
            assert chrome.driver.execute_script("return document.documentElement.scrollWidth") <= PHONE[0]
        assert_quiet(chrome, page)


# ---------------------------------------------------------------------------------------------------------- the browser


def test_a_page_that_fetches_and_fails_is_told_from_one_that_does_not(chrome: Browser, tmp_path: Path) -> None:
    page = tmp_path / "loud.html"
    text = "<p style='width: 2000px'>wide</p><img src='missing.png'><script>throw new Error('loud')</script>"
    page.write_text(text, encoding="utf-8")
    chrome.open(page)
    fetched, logged = chrome.fetched(), chrome.logged()
    assert fetched == {page.as_uri(), (tmp_path / "missing.png").as_uri()}
    assert any("Error: loud" in entry for entry in logged)
    with chrome.sized(*PHONE):
        assert chrome.driver.execute_script("return document.documentElement.scrollWidth") > PHONE[0]


def test_without_a_browser_the_tests_are_skipped_and_in_ci_they_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    for value, ended in (("", pytest.skip.Exception), ("true", pytest.fail.Exception)):
        monkeypatch.setenv("CI", value)
        with pytest.raises(ended, match="chromium and chromedriver are not both installed"), chromium(tmp_path):
            pass
