"""The mutants in the forms of GitHub Actions: an annotation for each that got away, and a summary in Markdown. Pure."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from looptck.report.github import annotation, clipped, limited
from looptck.report.model import in_words
from looptck.report.text import how_many, one_line
from looptck_mutants.outcome import GOT_AWAY, NOT_RUN
from looptck_mutants.suites.counting import stands_against

if TYPE_CHECKING:
    from looptck_mutants.outcome import MutantReport, MutantsReport


def mutants_annotations(report: MutantsReport) -> list[str]:
    """An error for each mutant that was not killed by its own check."""
    away = [annotation("error", f"mutant {one.id} {_fate(one)}", _told(one)) for one in _away(report)]
    return limited("error", [*(annotation("error", "looptck mutants", line) for line in _beside(report)), *away])


def mutants_summary(report: MutantsReport) -> str:
    """The report in Markdown, for `$GITHUB_STEP_SUMMARY`."""
    away = _away(report)
    icon = "❌" if report.exit_code() else "✅"
    lines = [f"## {icon} looptck: {how_many(len(report.mutants), 'mutant')} of {report.whose()}", ""]
    lines += [f"{in_words(report.counts)} in {report.wall_s:.1f} s (seed {report.seed})", ""]
    lines += [f"* {escape(line)}" for line in _beside(report)]
    lines += [""] if _beside(report) else []
    for mutant in away:
        head = f"<code>{mutant.id}</code> {_fate(mutant)}: {escape(one_line(mutant.title))}"
        lines += [f"<details><summary>{head}</summary>", "", f"<p>{escape(_told(mutant))}</p>", "", "</details>", ""]
    return clipped("\n".join(lines).rstrip() + "\n")


def _away(report: MutantsReport) -> list[MutantReport]:
    return [mutant for mutant in report.mutants if mutant.verdict in (*GOT_AWAY, *NOT_RUN)]


def _beside(report: MutantsReport) -> list[str]:
    """What else makes the exit code: tests that do not count and should, and entries that explain nothing."""
    tests = report.suite.tests if report.suite is not None else []
    lines = [f"{test.id} does not count: {test.reason}" for test in tests if stands_against(test.reason)]
    if report.suite is not None and not any(test.counts for test in tests):
        lines.append(f"no test of {report.suite.path} counts")
    stale = report.systematic.stale if report.systematic is not None else []
    return [one_line(line) for line in (*lines, *stale)]


def _fate(mutant: MutantReport) -> str:
    return mutant.verdict.replace("_", " ")


def _told(mutant: MutantReport) -> str:
    wanted = mutant.killer.check or mutant.killer.test
    meant = f"meant for {wanted}" if wanted else "said to be equivalent" if mutant.verdict == "by_others" else ""
    return one_line("; ".join(text for text in (mutant.title, mutant.message, meant, f"patch {mutant.patch}") if text))
