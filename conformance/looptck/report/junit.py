"""The report of `looptck check` as JUnit XML, in the dialect xunit2: a suite for each test, a case for each check."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from looptck.report.excuses import why_excused
from looptck.report.text import message_of, one_line, text_of, visible

if TYPE_CHECKING:
    from looptck.report.model import CheckReport, Report, TestReport


def junit_xml(report: Report) -> str:
    """The document as text. Durations are in seconds and stand at the suites: checks have none of their own."""
    root = ET.Element("testsuites", name="looptck")
    for test in report.tests:
        root.append(_suite(report, test))
    for name in ("tests", "failures", "errors", "skipped"):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in root)))
    ET.indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ET.tostring(root, encoding="unicode")}'


def _suite(report: Report, test: TestReport) -> ET.Element:
    suite = ET.Element("testsuite", name=test.name, time=f"{test.duration_s:.3f}")
    properties = ET.SubElement(suite, "properties")
    for name in ("target", "profile", "seed", "requirements", "isolation"):
        ET.SubElement(properties, "property", name=name, value=one_line(str(getattr(report, name))))
    kinds = {"failure": 0, "error": 0, "skipped": 0}
    for check in test.checks:
        case = ET.SubElement(suite, "testcase", classname=f"looptck.{report.profile}.{test.name}", name=check.id)
        outcome = _outcome(check)
        if outcome is not None:
            kinds[outcome.tag] += 1
            case.append(outcome)
    suite.set("tests", str(len(test.checks)))
    suite.set("failures", str(kinds["failure"]))
    suite.set("errors", str(kinds["error"]))
    suite.set("skipped", str(kinds["skipped"]))
    return suite


def _outcome(check: CheckReport) -> ET.Element | None:
    """What stands in a case: nothing for a pass. A failure that does not decide is skipped, as pytest does it."""
    if check.verdict == "pass":
        return None
    if check.verdict == "skip":
        return ET.Element("skipped", message=one_line(check.message))
    excuse = why_excused(check)
    if excuse:
        return ET.Element("skipped", message=one_line(f"{excuse}: {check.statement}"))
    tag = "failure" if check.verdict == "fail" else "error"
    found = ET.Element(tag, type=check.verdict, message=check.statement)
    found.text = visible(_explained(check))
    return found


def _explained(check: CheckReport) -> str:
    lines = [message_of(check.verdict, check.message)] if check.message else []
    if check.told_apart():
        lines += [f"expected: {text_of(check.expected)}", f"seen: {text_of(check.seen)}"]
    return "\n".join([*lines, f"scenario: {check.scenario}", f"requirement: {check.requirement}"])
