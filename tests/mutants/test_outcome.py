"""What became of a mutant, the exit code that follows, how it is printed, and where a profile keeps its mutants."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from looptck.suite import PROFILES, tests_of
from looptck_mutants import profiles
from looptck_mutants.console import print_matrix, print_outcome
from looptck_mutants.manifest import MANIFEST
from looptck_mutants.outcome import (
    Baseline,
    KillerReport,
    MutantReport,
    MutantsReport,
    counts_of,
    fate_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from looptck.report.model import Verdict
    from looptck_mutants.outcome import Fate

KILLER, OTHER = "max-iter/model-calls", "hand/answer"


def mutant(fate: Fate, *killed_by: str, killer: str = KILLER, title: str = "a cap of [b]one[/b] more") -> MutantReport:
    return MutantReport(
        id=f"m-{fate}".replace("_", "-"),
        title=title,
        pitfall=1,
        patch="m.patch",
        killer=KillerReport(test="TestMaxIterStops" if killer else "", check=killer),
        verdict=fate,
        killed_by=list(killed_by),
        message="a remark" if fate not in {"killed", "equivalent"} else "",
    )


def report(*mutants: MutantReport, baseline: Verdict = "pass") -> MutantsReport:
    return MutantsReport(
        profile="ag03",
        seed=1,
        baseline=Baseline(verdict=baseline, checks=9, wall_s=0.5),
        counts=counts_of(list(mutants)),
        wall_s=2.34,
        mutants=list(mutants),
    )


def printed(show: Callable[[Console, MutantsReport], None], what: MutantsReport) -> list[str]:
    text = io.StringIO()
    show(Console(file=text, width=140, force_terminal=False), what)
    return [line.rstrip() for line in text.getvalue().splitlines()]


# ---------------------------------------------------------------------------------------------------------------- fates


@pytest.mark.parametrize(
    ("failed", "confirmed", "unjudged", "fate", "remark"),
    [
        ({KILLER}, {KILLER}, {}, "killed", ""),
        ({KILLER, OTHER}, {KILLER, OTHER}, {}, "killed", ""),
        ({KILLER}, {KILLER}, {OTHER: "too late"}, "killed", ""),
        ({KILLER}, set(), {}, "survived", f"{KILLER} failed once and not again"),
        ({KILLER, OTHER}, {OTHER}, {}, "by_others", f"{KILLER} failed once and not again"),
        ({OTHER}, set(), {}, "by_others", f"{KILLER} passed"),
        (set(), set(), {}, "survived", f"{KILLER} passed, as did every other check"),
        (set(), set(), {KILLER: "too late"}, "timeout", "too late"),
        ({OTHER}, set(), {KILLER: "too late"}, "timeout", "too late"),
        (set(), set(), {OTHER: "too late"}, "survived", f"{KILLER} passed, as did every other check"),
    ],
)
def test_only_a_killer_that_fails_twice_kills(
    failed: set[str], confirmed: set[str], unjudged: dict[str, str], fate: Fate, remark: str
) -> None:
    assert fate_of(KILLER, failed, confirmed, unjudged, equivalent=False) == (fate, remark)


def test_an_equivalent_mutant_is_one_as_long_as_no_check_tells_it_from_the_original() -> None:
    assert fate_of("", set(), set(), {}, equivalent=True) == ("equivalent", "")
    told = fate_of("", {OTHER}, set(), {}, equivalent=True)
    assert told == ("by_others", "said to be equivalent, and yet told from the original")


@pytest.mark.parametrize(
    ("fates", "baseline", "code"),
    [
        ([], "pass", 0),
        (["killed", "equivalent"], "pass", 0),
        (["killed", "by_others"], "pass", 1),
        (["survived"], "pass", 1),
        (["timeout"], "pass", 1),
        (["broken"], "pass", 2),
        (["stale", "survived"], "pass", 2),
        (["killed"], "fail", 2),
    ],
)
def test_the_exit_code_is_that_of_the_worst_fate(fates: list[Fate], baseline: Verdict, code: int) -> None:
    assert report(*(mutant(fate) for fate in fates), baseline=baseline).exit_code() == code


def test_every_fate_is_counted() -> None:
    counts = counts_of([mutant("killed"), mutant("killed"), mutant("stale")]).model_dump()
    assert counts == {
        "killed": 2,
        "by_others": 0,
        "survived": 0,
        "timeout": 0,
        "broken": 0,
        "stale": 1,
        "equivalent": 0,
    }


# -------------------------------------------------------------------------------------------------------------- console


def test_of_the_killed_only_the_number_is_printed() -> None:
    lines = printed(print_outcome, report(mutant("killed", KILLER), mutant("equivalent", killer="")))
    assert lines == ["2 mutants tested in 2.3 s: 1 killed, 1 equivalent"]


@pytest.mark.parametrize("fate", ["survived", "timeout", "broken", "stale"])
def test_what_was_not_killed_is_printed_with_its_remark_and_its_killer(fate: Fate) -> None:
    assert printed(print_outcome, report(mutant(fate))) == [
        f"{fate} m-{fate} a cap of [b]one[/b] more",
        "  a remark",
        f"  meant for {KILLER} of TestMaxIterStops; patch m.patch",
        f"1 mutant tested in 2.3 s: 1 {fate}",
    ]


def test_what_only_other_checks_killed_is_printed_with_them() -> None:
    lines = printed(print_outcome, report(mutant("by_others", OTHER, "hand/usage")))
    assert lines[0].startswith("by others m-by-others ")
    assert lines[2] == "  other checks failed: hand/answer, hand/usage"


def test_an_equivalent_mutant_that_was_told_apart_is_meant_for_no_check() -> None:
    lines = printed(print_outcome, report(mutant("by_others", OTHER, killer="")))
    assert lines[2:4] == ["  checks failed: hand/answer", "  meant for none; patch m.patch"]


def test_a_change_with_form_feeds_and_without_a_last_newline_is_printed_by_its_own_lines() -> None:
    diff = "--- m.py\n+++ m.py\n@@ -1,2 +1,2 @@\n \f\n-a\f\f\n+b\n\\ No newline at end of file\n"
    lines = printed(print_outcome, report(mutant("survived").model_copy(update={"diff": diff})))
    assert lines[2:-1] == ["  @@ -1,2 +1,2 @@", r"  -a\u{c}\u{c}", "  +b", r"  \ No newline at end of file"]


def test_the_matrix_marks_the_test_of_the_killer_where_that_failed() -> None:
    found = report(mutant("killed", KILLER, "max-iter/error", OTHER), mutant("by_others", "max-iter/error"))
    lines = printed(print_matrix, found)
    assert [line.split() for line in lines[:3]] == [
        ["mutant", *"ABCDEFGHIJKLM", "verdict"],
        ["m-killed", "1", "·", "2*", *"··········", "killed"],
        ["m-by-others", "·", "·", "1", *"··········", "by", "others"],
    ]
    assert lines[3:] == [f"  {chr(65 + n)}  {test.name}" for n, test in enumerate(tests_of("ag03"))]


# ------------------------------------------------------------------------------------------------------------- profiles


@pytest.mark.parametrize("profile", PROFILES)
def test_a_profile_has_a_manifest_of_mutants_that_is_read_once(profile: str) -> None:
    assert (profiles.patches_of(profile) / MANIFEST).is_file()
    assert profiles.mutants_of(profile) is profiles.mutants_of(profile)


@pytest.mark.parametrize("profile", PROFILES)
def test_every_check_of_a_profile_is_known_with_its_test(profile: str) -> None:
    expected = [(check.id, test.name) for test in tests_of(profile) for check in test.checks]
    assert list(profiles.known_checks(profile).items()) == expected
