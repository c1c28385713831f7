"""What `--junit` writes, read by a parser as a CI system would."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from tests.conformance.reports import check, named, reported

from looptck.report.junit import junit_xml
from looptck.report.model import Report


def parsed(report: Report) -> ET.Element:
    return ET.fromstring(junit_xml(report))  # noqa: S314 - our own text


def only_case(**fields: Any) -> ET.Element:
    (case,) = parsed(reported(named(check(**fields)))).iter("testcase")
    return case


def test_each_test_is_a_suite_and_each_check_a_case_under_its_id() -> None:
    root = parsed(reported(named(check("a/one"), check("a/two")), named(check("b/one"), name="TestSpans")))
    assert [(suite.get("name"), suite.get("time")) for suite in root] == [
        ("TestMaxIterStops", "0.250"),
        ("TestSpans", "0.250"),
    ]
    assert [(case.get("classname"), case.get("name")) for case in root.iter("testcase")] == [
        ("looptck.ag03.TestMaxIterStops", "a/one"),
        ("looptck.ag03.TestMaxIterStops", "a/two"),
        ("looptck.ag03.TestSpans", "b/one"),
    ]


def test_the_counts_of_suite_and_whole_are_those_of_the_cases() -> None:
    checks = [check(f"a/{verdict}", verdict) for verdict in ("pass", "fail", "incomplete", "fault", "skip")]
    root = parsed(reported(named(*checks)))
    counts = {"tests": "5", "failures": "1", "errors": "2", "skipped": "1"}
    assert {name: root.get(name) for name in counts} == counts
    assert {name: root[0].get(name) for name in counts} == counts


def test_a_case_that_passed_is_empty() -> None:
    assert len(only_case(verdict="pass")) == 0


def test_a_failure_says_what_was_expected_and_what_was_seen() -> None:
    (failure,) = only_case(verdict="fail")
    assert (failure.tag, failure.get("message")) == ("failure", "The model is asked three times.")
    assert failure.text == "expected: 3\nseen: 4\nscenario: endless\nrequirement: iteration-cap"


@pytest.mark.parametrize("verdict", ["incomplete", "fault"])
def test_what_could_not_be_judged_is_an_error_with_the_obstacle(verdict: str) -> None:
    (error,) = only_case(verdict=verdict, message="KeyError: 'KEY'")
    assert (error.tag, error.get("type")) == ("error", verdict)
    assert error.text is not None
    assert error.text.startswith("KeyError: 'KEY'\n")


def test_a_skip_has_the_missing_feature_as_its_reason() -> None:
    (skipped,) = only_case(verdict="skip", message="lacks gate: every call runs")
    assert (skipped.tag, skipped.get("message")) == ("skipped", "lacks gate: every call runs")


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"level": "should"}, "of good sense: The"),
        ({"known": "issue 12"}, "known failure (issue 12): The"),
        ({"since": 2, "news": True}, "news since requirements 2: The"),
    ],
)
def test_a_failure_that_decides_nothing_is_skipped_with_the_reason(fields: dict[str, Any], reason: str) -> None:
    (skipped,) = only_case(verdict="fail", **fields)
    assert skipped.tag == "skipped"
    assert str(skipped.get("message")).startswith(reason)


def test_a_fault_of_the_kit_is_an_error_whatever_the_level() -> None:
    (error,) = only_case(verdict="fault", level="should", message="Traceback …")
    assert error.tag == "error"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("]]><!--&", "]]><!--&"),
        ("bell \x07, zero \x00, escape \x1b", "bell \\u{7}, zero \\u{0}, escape \\u{1b}"),
        ("half of a pair: \ud800", "half of a pair: \\u{d800}"),
        ("\ufffe", "\\u{fffe}"),
        ("turned \u202e, \x85 next, \u2028 apart", "turned \\u{202e}, \\u{85} next, \\u{2028} apart"),
        ("two\r\nlines", "two\\r\\nlines"),
    ],
)
def test_whatever_a_loop_said_the_document_can_be_read(text: str, shown: str) -> None:
    (failure,) = only_case(verdict="fail", message=text, expected=text)
    assert failure.text is not None
    assert failure.text.splitlines()[:2] == [shown, f"expected: {shown}"]


def test_the_suite_says_what_was_run() -> None:
    root = parsed(reported(named(check())))
    values = {one.get("name"): one.get("value") for one in root.iter("property")}
    assert values == {"target": "loop.py", "profile": "ag03", "seed": "9", "requirements": "1", "isolation": "fork"}


def test_the_command_writes_it(looptck: Any, tmp_path: Path) -> None:
    file = tmp_path / "junit.xml"
    assert looptck("check", "reference", "-k", "hand/answer", "--junit", str(file)).code == 0
    root = ET.fromstring(file.read_bytes())  # noqa: S314 - likewise
    assert [case.get("name") for case in root.iter("testcase")] == ["hand/answer"]


def test_a_file_that_cannot_be_written_is_told_before_the_work(looptck: Any, tmp_path: Path) -> None:
    ran = looptck("check", "reference", "--junit", str(tmp_path / "no" / "junit.xml"))
    assert (ran.code, ran.out) == (4, "")
    assert "--junit" in ran.err
    assert "No such file or directory" in ran.err
