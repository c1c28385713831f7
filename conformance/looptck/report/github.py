"""The reports in the forms of GitHub Actions: annotations on lines of code, and a summary in Markdown. Pure."""

from __future__ import annotations

import ast
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from looptck.report.diagnosis import headline, remarks
from looptck.report.excuses import why_excused
from looptck.report.model import in_words
from looptck.report.text import message_of, one_line, text_of, visible
from looptck.target import DEFAULT_NAME, split_target

if TYPE_CHECKING:
    from collections.abc import Sequence

    from looptck.report.model import CheckReport, Diagnosis, Report

MOST_ANNOTATIONS = 9
"""Of one kind in one step; GitHub shows ten, and the last says that there are more."""
_LARGEST = 900_000
"""Characters of a summary; GitHub takes one megabyte."""
_ICONS = {"pass": "✅", "fail": "❌", "skip": "⏭️", "incomplete": "⚠️", "fault": "💥"}


def annotation(kind: str, title: str, text: str, place: tuple[str, int, int] | None = None) -> str:
    """One workflow command. `kind` is error or notice; `place` is a file and its first and last line, from 1."""
    keys = {} if place is None else {"file": place[0], "line": str(place[1]), "endLine": str(place[2])}
    properties = ",".join(f"{key}={_property(value)}" for key, value in {**keys, "title": title}.items())
    return f"::{kind} {properties}::{_data(text)}"


def limited(kind: str, lines: Sequence[str]) -> list[str]:
    """The first of these annotations of one kind, and behind them one that says how many more there are."""
    rest = len(lines) - MOST_ANNOTATIONS
    more = [annotation(kind, "looptck", f"{rest} more: see summary")] if rest > 0 else []
    return [*lines[:MOST_ANNOTATIONS], *more]


def check_annotations(report: Report) -> list[str]:
    """On the line of the class under test: an error for each check that failed and decides, a notice for news."""
    place = _place(report.target)
    wrong = [check for check in report.checks() if check.verdict not in {"pass", "skip"}]
    errors = [annotation("error", check.id, _told(check), place) for check in wrong if not why_excused(check)]
    errors += [annotation("error", "known failures", line) for line in report.stale]
    news = [check for check in wrong if check.news and why_excused(check)]
    notices = [annotation("notice", check.id, f"news: {_told(check)}", place) for check in news]
    return limited("error", errors) + limited("notice", notices)


def _told(check: CheckReport) -> str:
    if not check.told_apart():
        return message_of(check.verdict, check.message) or check.statement
    return f"{check.statement}\nexpected: {text_of(check.expected)}\nseen: {text_of(check.seen)}"


def _place(target: str) -> tuple[str, int, int] | None:
    """File and lines of the class that a target names; none for a target that is no file."""
    path, name = split_target(target)
    if not path.endswith(".py"):
        return None
    try:
        module = ast.parse(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, SyntaxError):
        return path, 1, 1
    for node in module.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == (name or DEFAULT_NAME):
            return path, node.lineno, node.lineno
    return path, 1, 1


def check_summary(report: Report) -> str:
    """The report in Markdown, for `$GITHUB_STEP_SUMMARY`."""
    judged_with = f"seed {report.seed}, requirements {report.requirements}, looptck {report.kit.version}"
    lines = [
        f"## {_ICONS[report.verdict]} looptck: {_cell(report.target)} against {report.profile}",
        "",
        f"{in_words(report.counts)} ({judged_with})",
        "",
        "| test | section | verdict | checks |",
        "|---|---|---|---|",
    ]
    for test in report.tests:
        verdict, checks = f"{_ICONS[test.verdict]} {test.verdict}", f"{test.passed()}/{len(test.checks)}"
        lines.append(f"| {test.name} | {test.section} | {verdict} | {checks} |")
    lines += _diagnosis(report.diagnosis) if report.diagnosis is not None else []
    wrong = [check for check in report.checks() if check.verdict not in {"pass", "skip"}]
    for check in wrong:
        lines += ["", *_details(check)]
    lines += ["", *(f"* **stale:** {_cell(line)}" for line in report.stale)]
    return clipped("\n".join(lines).rstrip() + "\n")


def _diagnosis(diagnosis: Diagnosis) -> list[str]:
    lines = ["", f"**Diagnosis:** {_cell(headline(diagnosis))}", ""]
    for mutant, told in remarks(diagnosis):
        lines.append(f"* **{_cell(mutant.id)}** {_cell(mutant.title)}")
        lines += [f"  * {_cell(line)}" for line in told]
    return lines


def clipped(text: str) -> str:
    """A summary that is no longer than GitHub takes."""
    return text if len(text) <= _LARGEST else text[:_LARGEST] + "\n\n… cut here: the summary is too long\n"


def _details(check: CheckReport) -> list[str]:
    excuse = why_excused(check)
    why = f", {_flat(escape(excuse))}" if excuse else ""
    head = f"{_ICONS[check.verdict]} <code>{check.id}</code> {check.verdict}{why}"
    told = [escape(check.statement)]
    told += [escape(check.message.strip().splitlines()[-1])] if check.message.strip() else []
    if check.told_apart():
        told += [f"expected <code>{escape(text_of(check.expected))}</code>"]
        told += [f"seen <code>{escape(text_of(check.seen))}</code>"]
    return [f"<details><summary>{head}</summary>", "", *(f"<p>{_flat(line)}</p>" for line in told), "", "</details>"]


def _cell(text: str) -> str:
    """Text such that Markdown takes nothing in it for its own."""
    return "".join(f"\\{sign}" if sign in "\\`*_{}[]<>()#+-!|" else sign for sign in one_line(" ".join(text.split())))


def _flat(text: str) -> str:
    """A blank line would end the HTML around it."""
    return one_line(" ".join(text.split()))


def _data(text: str) -> str:
    return visible(text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A"))


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
