"""The diagnosis: which mutants fail the checks that a loop fails, and how that is told."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import pytest
from rich.console import Console
from tests.conformance.implementations_harness import ROOT
from tests.conformance.pages import Page, made_up
from tests.conformance.reports import check, named, reported

from looptck.report.console import print_diagnosis
from looptck.report.diagnosis import LEAST, Column, diagnosed, diagnosis_of, headline, remarks
from looptck.report.github import check_summary
from looptck.suite import PROFILES, tests_of
from looptck_mutants.matrix import columns_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from looptck.report.model import Diagnosis

ALL = frozenset("abcdefghijklmnop")
"""The checks of a small suite."""


def column(name: str, failed: str, *, sometimes: str = "", pitfall: int | None = None) -> Column:
    """A mutant that fails these checks, the first of which is meant for it."""
    return Column(
        id=name,
        title=f"the mistake {name}",
        pitfall=pitfall,
        explanation=f"Pitfall {pitfall} costs." if pitfall else "",
        check=failed[0],
        statement=f"Fact {failed[0]}.",
        failed=frozenset(failed),
        sometimes=frozenset(sometimes),
    )


def found(failed: str, *columns: Column, evaluated: Iterable[str] = ALL) -> Diagnosis:
    diagnosis = diagnosed(frozenset(failed), frozenset(evaluated), columns, len(ALL))
    assert diagnosis is not None
    return diagnosis


def told(diagnosis: Diagnosis) -> list[str]:
    return [line for _, lines in remarks(diagnosis) for line in lines]


# what is found


def test_a_mutant_with_the_same_column_is_named_with_its_mistake() -> None:
    diagnosis = found("abc", column("m1", "ab"), column("m2", "abc", pitfall=3), column("m3", "abcd"))
    assert headline(diagnosis) == "fails the same checks as m2: the mistake m2"
    assert told(diagnosis) == ["pitfall 3: Pitfall 3 costs.", "meant for a: Fact a."]


def test_of_many_with_the_same_column_three_are_named_in_their_order() -> None:
    diagnosis = found("ab", *(column(f"m{n}", "ba" if n % 2 else "ab") for n in range(5)))
    assert headline(diagnosis) == "fails the same checks as each of m0, m1, m2 and 2 more"
    assert (diagnosis.kind, diagnosis.more, len(diagnosis.mutants)) == ("same", 2, 3)


def test_mutants_that_fail_just_this_together_are_named_largest_first() -> None:
    diagnosis = found("abcde", column("m1", "ab"), column("m2", "cdea"), column("m3", "acde"), column("m4", "b"))
    assert headline(diagnosis) == "fails the same checks as m2 and m1 together, one of 2 such unions"
    assert told(diagnosis) == [
        "fails 4 of the 5 checks that fail here", "m3 fails the same as it", "meant for c: Fact c.",
        "fails 2 of the 5 checks that fail here", "meant for a: Fact a.",
    ]  # fmt: skip


def test_three_are_named_together_only_where_no_two_will_do() -> None:
    three = [column("m1", "ab"), column("m2", "cd"), column("m3", "ef")]
    assert headline(found("abcdef", *three)) == "fails the same checks as m1, m2 and m3 together"
    assert headline(found("abcdef", *three, column("m4", "abcd"))) == "fails the same checks as m4 and m3 together"
    assert found("abcdefgh", *three, column("m4", "gh")).kind == "unlike"  # four are never put together


def test_columns_of_one_check_are_not_put_together() -> None:
    assert found("abc", column("m1", "a"), column("m2", "b"), column("m3", "c")).kind == "unlike"
    assert found("abc", column("m1", "a"), column("m2", "bc")).kind == "together"


def test_near_is_what_shares_half_nearest_first_and_told_in_numbers() -> None:
    columns = [column("m1", "abxy"), column("m2", "abcdx"), column("m3", "ab"), column("m4", "ay"), column("m5", "ba")]
    diagnosis = found("abcd", *columns, evaluated=ALL | {"x", "y"})
    assert headline(diagnosis).startswith("fails the same checks as none of the mutants; nearest: m2 and m3")
    assert told(diagnosis)[0] == "fails 4 of the 4 checks that fail here, and 1 other that passes here"
    assert [(one.shared, one.extra, one.missing, one.others) for one in diagnosis.mutants] == [
        (4, 0, 1, []), (2, 2, 0, ["m5"]),
    ]  # fmt: skip


def test_of_many_that_are_near_three_are_named() -> None:
    diagnosis = found("abc", *(column(f"m{n}", f"ab{other}") for n, other in enumerate("defgh")))
    assert headline(diagnosis).endswith("nearest: m0, m1, m2 and 2 more")


def test_where_none_is_near_that_is_said() -> None:
    assert headline(found("abc", column("m1", "adef"), column("m2", "op"))) == "like none of the mutants"


def test_nothing_is_said_where_nothing_failed() -> None:
    assert diagnosed(frozenset(), ALL, [column("m1", "a")], len(ALL)) is None


# what is compared


def test_only_what_was_evaluated_is_compared_and_that_is_said() -> None:
    diagnosis = found("ab", column("m1", "abo"), evaluated=ALL - {"o", "p"})
    assert headline(diagnosis) == ("fails the same checks as m1: the mistake m1 (of 16 checks 14 were evaluated)")
    assert told(diagnosis)[0] == "fails 1 more that was not evaluated"


def test_a_mutant_whose_own_check_was_not_evaluated_takes_no_part() -> None:
    assert found("ab", column("m1", "oab"), evaluated=ALL - {"o"}).kind == "unlike"


def test_nor_does_one_of_whose_column_only_half_was_evaluated() -> None:
    assert found("ab", column("m1", "abop"), evaluated=ALL - {"o", "p"}).kind == "unlike"


def test_less_than_half_of_a_suite_gets_no_diagnosis() -> None:
    few = frozenset(sorted(ALL)[: int(len(ALL) * LEAST)])
    same = column("m1", "a")
    assert diagnosed(frozenset("a"), few, [same], len(ALL)) is not None
    assert diagnosed(frozenset("a"), few - {"b"}, [same], len(ALL)) is None


def test_checks_that_a_mutant_fails_only_sometimes_say_nothing() -> None:
    sometimes = column("m1", "ab", sometimes="c")
    assert [found(failed, sometimes).kind for failed in ("ab", "abc", "abd")] == ["same", "same", "near"]
    assert found("abcde", sometimes, column("m2", "de")).kind == "together"


def test_a_failure_counts_if_something_was_seen_whatever_it_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("looptck.report.diagnosis.LEAST", 0.0)
    (test,) = [test for test in tests_of("ag03") if test.name == "TestMaxIterStops"]
    ids = [one.id for one in test.checks]
    counted: list[dict[str, Any]] = [{"level": "should"}, {"known": "why"}, {"news": True}]
    failed = [check(name, "fail", **fields) for name, fields in zip(ids, counted, strict=False)]
    passed = [check(name) for name in ids[3:]] + [check(f"more/{n}") for n in range(4)]
    others = [check("o/1", "fail", expected=None, seen=None), check("o/2", "skip"), check("o/3", "incomplete")]
    diagnosis = diagnosis_of(reported(named(*failed, *passed, *others)), [])
    assert diagnosis is not None
    assert (diagnosis.failed, diagnosis.evaluated) == (3, 3 + len(passed))
    assert diagnosis.checks == sum(len(test.checks) for test in tests_of("ag03"))


# over the recorded matrix


@pytest.mark.parametrize("profile", PROFILES)
def test_every_mutant_is_diagnosed_as_itself_and_those_with_its_column(profile: str) -> None:
    columns = columns_of(profile)
    checks = frozenset(one.id for test in tests_of(profile) for one in test.checks)
    for one in columns:
        diagnosis = diagnosed(one.failed, checks, columns, len(checks))
        assert diagnosis is not None
        alike = [other.id for other in columns if one.failed - other.sometimes == other.failed]
        assert one.id in alike
        assert (diagnosis.kind, diagnosis.evaluated) == ("same", len(checks))
        assert [mutant.id for mutant in diagnosis.mutants] == alike[:3]
        assert diagnosis.more == len(alike[3:])


# where it is told


def in_report() -> Any:
    """A report with a diagnosis that names two mutants, with signs that markup would take for its own."""
    columns = [column("m1", "ab"), column("m2", "cd")]
    columns = [one.model_copy(update={"title": f"<b>[red] `x` {one.id}"}) for one in columns]
    return reported(named(check())).model_copy(update={"diagnosis": found("abcd", *columns)})


def test_the_console_tells_it() -> None:
    out = Console(file=io.StringIO(), width=120)
    print_diagnosis(out, in_report())
    print_diagnosis(out, reported(named(check())))
    assert isinstance(out.file, io.StringIO)
    assert out.file.getvalue().splitlines() == [
        "",
        "diagnosis fails the same checks as m1 and m2 together",
        "  m1 <b>[red] `x` m1",
        "    fails 2 of the 4 checks that fail here",
        "    meant for a: Fact a.",
        "  m2 <b>[red] `x` m2",
        "    fails 2 of the 4 checks that fail here",
        "    meant for c: Fact c.",
        "  more: looptck explain m1 --profile ag03",
    ]


def test_the_summary_for_github_tells_it() -> None:
    text = check_summary(in_report())
    assert (
        "\n\n**Diagnosis:** fails the same checks as m1 and m2 together\n\n* **m1** \\<b\\>\\[red\\] \\`x\\` m1\n"
        in text
    )
    assert "  * meant for a: Fact a.\n" in text
    assert "Diagnosis" not in check_summary(reported(named(check())))


def test_the_page_tells_it() -> None:
    page = Page(made_up(check(), diagnosis=in_report().diagnosis))
    ((_, text),) = page.all("section", "diagnosis")
    assert " ".join(text.split()).startswith("Diagnosis: fails the same checks as m1 and m2 together m1 <b>[red] x m1")
    assert Page(made_up(check())).all("section", "diagnosis") == []


def test_the_command_line_tells_it_of_a_loop_that_fails_and_of_no_other(looptck: Any) -> None:
    batches = str(ROOT / "wrong/batches.py")
    said = looptck("check", batches, "--seed", "3")
    assert "\ndiagnosis fails the same checks as x037: calls run in batches" in said.out
    for target, pattern in ((batches, "parallel/slots-refilled"), (batches, "TestParallel*"), ("reference", "hand/")):
        assert "diagnosis" not in looptck("check", target, "-k", pattern).out
