"""The HTML report of `check`: one file that fetches nothing, tells every check, and draws each run once."""

from __future__ import annotations

import base64
import hashlib
import re
from urllib.parse import unquote

import pytest
from tests.conformance.implementations_harness import ROOT, forget_import
from tests.conformance.pages import SEA, Page, check, html_of, made_up
from tests.conformance.timelines import LOOK

from looptck.adapter import ContractAdapter
from looptck.observation import InvocationSeen, Observation
from looptck.observe import observe_here
from looptck.report.html.view import _cells
from looptck.report.model import TestReport
from looptck.report.row import Row
from looptck.report.text import LONGEST
from looptck.requirements import requirements
from looptck.suite import tests_of
from looptck_fakes import ToolStarted
from looptck_reference import Agent

WRONG = {
    "late cap": ("ag03", "TestMaxIterStops", ROOT / "wrong/recursive_off_by_one.py"),
    "unbounded": ("ag03", "TestParallelToolsBoundedOrderPreserved", ROOT / "wrong/threads_unbounded.py"),
    "late look": ("lesson4", "test_repeated_identical_call_is_detected", ROOT / "lesson4/wrong/bottom_checked.py"),
}
LARGEST = 800_000


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    """The page of one test of each wrong loop, and the whole page of each reference."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        forget_import(monkeypatch)
        found = {name: html_of(str(file), pattern, profile=profile) for name, (profile, pattern, file) in WRONG.items()}
    return found | {profile: html_of("reference", "", profile=profile) for profile in ("ag03", "lesson4")}


@pytest.fixture(scope="module")
def parsed(pages: dict[str, str]) -> dict[str, Page]:
    return {name: Page(text) for name, text in pages.items()}


ALL = pytest.mark.parametrize("name", [*WRONG, "ag03", "lesson4"])


# one file


@ALL
def test_the_page_is_well_formed_and_its_ids_are_its_own(
    name: str, pages: dict[str, str], parsed: dict[str, Page]
) -> None:
    page = parsed[name]
    assert pages[name].startswith('<!DOCTYPE html>\n<html lang="en">')
    ids = [attributes["id"] for _, attributes, _ in page.elements if "id" in attributes]
    assert len(set(ids)) == len(ids)
    assert [one for one in ids if re.search(r"\s", one)] == []


@ALL
def test_the_page_names_nothing_that_a_browser_would_fetch(
    name: str, pages: dict[str, str], parsed: dict[str, Page]
) -> None:
    page = parsed[name]
    loading = {"src", "srcset", "href", "xlink:href", "data", "poster", "action", "formaction", "background", "ping"}
    named = {
        (tag, attribute, value)
        for tag, attributes, _ in page.elements
        for attribute, value in attributes.items()
        if attribute in loading and not value.startswith("#")
    }
    assert named == {("link", "href", "data:,")}
    assert re.findall(r"https?:|//[a-z]|url\(|@import", pages[name]) == []
    assert {tag for tag, _, _ in page.elements} & {"iframe", "object", "embed", "img", "base", "form", "audio"} == set()


@ALL
def test_its_policy_lets_only_its_own_script_run(name: str, parsed: dict[str, Page]) -> None:
    page = parsed[name]
    (policy,) = (a["content"] for a, _ in page.all("meta") if a.get("http-equiv") == "Content-Security-Policy")
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    ((_, script),) = page.all("script")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert rules == {
        "default-src": "'none'",
        "style-src": "'unsafe-inline'",
        "script-src": f"'sha256-{digest}'",
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    assert [a for _, a, _ in page.elements if any(attribute.startswith("on") for attribute in a)] == []


@pytest.mark.parametrize("profile", ["ag03", "lesson4"])
def test_the_page_of_a_whole_suite_is_small(profile: str, pages: dict[str, str]) -> None:
    assert 50_000 < len(pages[profile].encode()) < LARGEST


def test_it_fits_a_phone_and_both_colour_schemes(parsed: dict[str, Page]) -> None:
    page = parsed["late cap"]
    named = {a["name"]: a["content"] for a, _ in page.all("meta") if "name" in a}
    assert named["viewport"] == "width=device-width, initial-scale=1"
    assert named["color-scheme"] == "light dark"
    (style,) = page.texts("style")
    assert "prefers-color-scheme: dark" in style
    assert page.all("table") != []
    scrolling = [a for a, _ in page.all("div", "scroll")]
    assert len(scrolling) == len(page.all("table")) + len(page.all("svg", "timeline"))
    assert {(a["tabindex"], a["role"], bool(a["aria-label"])) for a in scrolling} == {("0", "region", True)}


# what it tells


def test_the_head_tells_the_verdict_and_how_to_repeat_it(parsed: dict[str, Page]) -> None:
    page = parsed["late cap"]
    ((head, text),) = page.all("header")
    assert (head["id"], head["data-verdict"]) == ("summary", "fail")
    words = " ".join(text.split())
    assert f"fail {ROOT}/wrong/recursive_off_by_one.py 3 pass, 8 fail against ag03" in words
    for fact in ("profile ag03, requirements", "seed 7", "kit looptck 0", "python 3.", "isolation fork"):
        assert fact in words
    assert f"looptck check {ROOT}/wrong/recursive_off_by_one.py --profile ag03 --seed 7" in words
    assert page.texts("title")[0].startswith("FAIL ")


@pytest.mark.parametrize("profile", ["ag03", "lesson4"])
def test_every_check_of_a_suite_has_its_place(profile: str, parsed: dict[str, Page]) -> None:
    page = parsed[profile]
    checks = page.all("details", "check")
    assert {a["id"] for a, _ in checks} == {one.id for test in tests_of(profile) for one in test.checks}
    assert {a["data-verdict"] for a, _ in checks} == {"pass"}
    assert [a for a, _ in page.all("details", "check") + page.all("details", "test") if "open" in a] == []


def test_sections_stand_in_their_natural_order(parsed: dict[str, Page]) -> None:
    sections = [f"Section 2.{number}" for number in range(1, 8)]
    assert parsed["ag03"].texts("h2") == [*sections, "Section 3", "Section 4", "Beyond the specification"]
    headings = [record.section for record in requirements("lesson4").values()]
    *found, last = parsed["lesson4"].texts("h2")
    assert last == "Beyond the specification"
    assert found == sorted(found, key=headings.index)
    tests = [
        TestReport(name=f"T{s}", section=s, verdict="pass", duration_s=0, checks=[]) for s in ("2.10", "10", "2.9")
    ]
    assert Page(made_up(tests=tests)).texts("h2") == ["Section 2.9", "Section 2.10", "Section 10"]


def test_a_failed_check_opens_to_all_that_explains_it(parsed: dict[str, Page]) -> None:
    page = parsed["late cap"]
    opened = [(a["id"], " ".join(text.split())) for a, text in page.all("details", "check") if "open" in a]
    ((name, text),) = opened
    record = requirements("ag03")["iteration-cap"]
    assert name == "max-iter/model-calls"
    for words in (
        "With a cap of three the model is asked three times, and not a fourth.",
        "expected seen 3 4 ≠",
        f"must iteration-cap (2.2): {record.statement}",
        "The run of scenario looping",
        "Timeline of scenario looping",
        "step messages before model returned loop did usage so far model 1 user",
        "-k max-iter/model-calls --seed 7",
    ):
        assert words in text


def test_accepted_readings_stand_below_the_requirement(parsed: dict[str, Page]) -> None:
    record = next(record for record in requirements("ag03").values() if record.alternatives and not record.unchecked)
    served = {one.id for test in tests_of("ag03") for one in test.checks if one.requirement == record.id}
    texts = [" ".join(text.split()) for a, text in parsed["ag03"].all("details", "check") if a["id"] in served]
    plain = [other.replace("`", "") for other in record.alternatives]
    assert texts != []
    assert [text for text in texts if any(f"accepted: {other}" not in text for other in plain)] == []


@ALL
def test_each_run_is_drawn_once_and_every_link_leads_to_one(name: str, parsed: dict[str, Page]) -> None:
    page = parsed[name]
    runs = [a["id"] for a, _ in page.all("section", "run")]
    linked = {unquote(a["href"][1:]) for a, _ in page.all("a")}
    assert len(set(runs)) == len(runs) > len(linked) > 0
    assert linked <= set(runs)


def test_a_run_is_drawn_at_the_first_check_that_failed_over_it() -> None:
    observation = Observation("sea", invocations=(InvocationSeen("answered", 0, 0, ()),))
    checks = [
        check(id="sea/calm", verdict="pass", expected=1, seen=1),
        check(expected=1, seen=2),
        check(id="sea/storm", expected=1, seen=3),
    ]
    page = Page(made_up(*checks, observation=observation))
    drawn = {a["id"]: "The run of scenario sea" in text for a, text in page.all("details", "check")}
    assert drawn == {"sea/calm": False, "sea/ship": True, "sea/storm": False}
    assert [a["href"] for a, _ in page.all("a")] == ["#run/TestSea/sea"] * 2


def test_of_many_rows_the_first_and_those_that_differ_are_shown() -> None:
    expected = list(range(1000))
    page = Page(made_up(check(expected=expected, seen=[*expected[:-1], 5])))
    rows = page.texts("tr")
    assert (rows[1], rows[20], rows[21], rows[22]) == ("1 0 0", "20 19 19", "1000 999 5 ≠", "… 979 more rows")
    assert page.texts("tr", "differs") == ["1000 999 5 ≠"]


def test_of_many_long_deeds_the_last_is_shown_and_each_is_clipped() -> None:
    row = Row("model 1", "user", did=[*("runs " + str(number) * 900 for number in range(20)), "ends: answered"])
    lines = _cells(row)[3].split("\n")
    assert (len(lines), lines[-2:]) == (13, ["9 more like these", "ends: answered"])
    assert {len(line) for line in lines[:11]} == {LONGEST}


def test_other_choices_known_failures_news_and_stale_entries_are_told() -> None:
    page = Page(
        made_up(
            check(expected="answered", seen="lost", alternatives=["failed", ["a", 1]], known="issue 12"),
            check(id="sea/storm", level="should", expected=1, seen=2),
            stale=["sea/calm is listed as a known failure, and passes"],
        )
    )
    assert [row for row in page.texts("tr") if row.startswith("or ")] == ["or failed", 'or ["a", 1]']
    assert page.texts("span", "note") == ["known failure (issue 12)", "should"]
    assert page.texts("p", "stale") == ["sea/calm is listed as a known failure, and passes"]


def test_an_obstacle_is_told_with_what_the_loop_printed() -> None:
    died = Observation("sea", died="it exited", output="noise " * 100 + "last words")
    page = Page(made_up(check(verdict="incomplete", message="it exited"), observation=died))
    assert page.texts("pre", "message") == ["it exited"]
    (output,) = page.texts("pre", "output")
    assert output.endswith("noise last words")
    assert len(output) <= 400
    assert page.all("svg", "timeline") == []


def test_the_filter_counts_what_it_shows_and_waits_for_the_script() -> None:
    page = Page(made_up(check(expected=1, seen=2), check(id="sea/calm", verdict="skip", message="lacks gate: none")))
    assert [(a["data-filter"], text) for a, text in page.all("button")] == [
        ("all", "all checks"),
        ("failed", "failed (1)"),
    ]
    assert "hidden" in page.all("div", "filters")[0][0]
    assert [a["id"] for a, _ in page.all("details", "check clean")] == ["sea/calm"]


# the picture


def test_a_late_cap_is_seen_in_the_picture(pages: dict[str, str]) -> None:
    picture = pages["late cap"].partition('<svg class="timeline"')[2].partition("</svg>")[0]
    page = Page(f"<svg{picture}</svg>")
    assert page.texts("g", "model beyond") == ["model call 4 of the run: 12 to 14, whole; beyond the cap of 3 4"]
    assert page.texts("text", "cap") == ["cap: 3"]
    assert page.texts("text", "end") == ["end of the run"]
    assert page.texts("desc")[0].startswith(
        "model calls: 4; tool runs: 4; cap: 3 at 10; end of the run at 16; beyond a limit: "
    )


def test_a_third_call_in_flight_is_seen_in_the_picture(parsed: dict[str, Page]) -> None:
    page = parsed["unbounded"]
    first = page.all("svg", "timeline")[0][0]
    assert first["role"] == "img"
    assert all(any(a.get("id") == name for _, a, _ in page.elements) for name in first["aria-labelledby"].split())
    assert "tool 2, limit 2" in page.texts("span", "limited")
    assert len(page.all("path", "limit")) == len(page.texts("span", "limited")) > 0
    assert len(page.all("g", "tool beyond")) >= 4


def test_a_call_too_many_is_seen_in_the_picture_of_lesson4(parsed: dict[str, Page]) -> None:
    page = parsed["late look"]
    assert len(page.all("g", "tool beyond")) > 0
    assert any(text.startswith("repeats: 3 > 2") for text in page.texts("text", "cap"))


# hostile texts

HOSTILE = [
    "</script><script>alert(1)</script>",
    "</style></details><img src=x onerror=alert(1)>",
    "{{ page }} {% raw %}",
    "\x00\x07\x1b[31m\r\x85",
    "\ud800 \udfff",
    "\u202eevil\u2066 \ufffe \U0010ffff \U000e0041",
    '" onmouseover="alert(1)',
    "&lt;b&gt; <!-- ]]>",
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_no_text_of_a_loop_gets_out_of_its_place(text: str) -> None:
    tool = ToolStarted(0, 0, LOOK.model_copy(update={"id": text, "name": text, "arguments": text}).call())
    seen = Observation(
        "sea", records=(tool,), invocations=(InvocationSeen("answered", 0, 1, (), problems=(text,)),), output=text
    )
    checks = [check(expected=[text], seen={text: text}, message=text, alternatives=[text], statement=text)]
    benign = made_up(
        check(expected=["x"], seen={"x": "x"}, message="x", alternatives=["x"], statement="x"), observation=seen
    )
    html = made_up(*checks, observation=seen, target=text, stale=[text])
    page = Page(html)
    assert html.encode("utf-8").decode("utf-8") == html
    assert {tag for tag, _, _ in page.elements} <= {tag for tag, _, _ in Page(benign).elements} | {"abbr", "code"}
    assert [a for _, a, _ in page.elements if any(name.startswith("on") for name in a)] == []
    assert len(page.all("script")) == 1
    assert re.search("[^\t\n\x20-\x7e\xa0-\ud7ff\ue000-\ufffd]", html) is None
    assert re.search("[\u202a-\u202e\u2066-\u2069]", html) is None


def test_what_was_hidden_is_shown_by_its_number() -> None:
    assert "a\\u{1b}b\\u{d800}c\\u{202e}d" in made_up(check(expected="a\x1bb\ud800c\u202ed", seen=""))


def test_texts_of_a_megabyte_are_clipped() -> None:
    long = "word " * 250_000
    seen = Observation("sea", invocations=(InvocationSeen("answered", 0, 0, ()),), output=long)
    whole = made_up(check(expected=long, seen=[long], message=long, statement=long), observation=seen, target=long)
    assert len(whole) < 50_000
    assert "more characters" in whole


def test_a_scenario_may_be_called_anything() -> None:
    named = SEA.model_copy(update={"name": 'a "b" <c>\n'})
    seen = observe_here(ContractAdapter(Agent), named)
    html = made_up(
        check(expected=1, seen=2), check(id="sea/storm", expected=1, seen=2), scenario=named, observation=seen
    )
    page = Page(html)
    assert [a["id"] for a, _ in page.all("section", "run")] == ["run/TestSea/sea"]
