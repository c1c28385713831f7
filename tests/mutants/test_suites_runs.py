"""What is made of the messages of a run, which tests count then, what is said of a mutant. No process is started."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, cast

import pytest

from looptck_mutants.manifest import Killer, Mutant
from looptck_mutants.suites.counting import SKIPPED, reasons, stands_against
from looptck_mutants.suites.inside import Request
from looptck_mutants.suites.runs import OVER, Ended, Outcome, Run, run_to_the_end
from looptck_mutants.suites.told import Case, report_of

REQUEST = cast("Request", {"select": None, "order": 5})


def heard(*messages: dict[str, Any]) -> Run:
    run = Run()
    for message in messages:
        run.hear(json.dumps(message).encode())
    return run


def collected(*tests: str, errors: tuple[tuple[str, str], ...] = ()) -> dict[str, Any]:
    return {"kind": "collected", "tests": tests, "errors": errors}


def begin(test: str) -> dict[str, Any]:
    return {"kind": "begin", "test": test}


def end(test: str, outcome: Outcome = "passed", text: str = "") -> dict[str, Any]:
    return {"kind": "end", "test": test, "outcome": outcome, "text": text}


def all_ended(outcome: Outcome = "passed", *tests: str, text: str = "") -> Run:
    return heard(collected(*tests), *(end(test, outcome, text) for test in tests))


# ------------------------------------------------------------------------------------------------------------- messages


def test_a_run_is_put_together_of_its_messages() -> None:
    run = heard(
        collected("a", "b", errors=(("c.py", "no"),)),
        begin("a"),
        {"kind": "module", "name": "m", "text": ""},
        end("a", "assertion", "1 == 2"),
        begin("b"),
    )
    assert (run.tests, run.errors, run.modules) == (["a", "b"], {"c.py": "no"}, {"m": ""})
    assert (run.ended, run.begun) == ({"a": Ended("assertion", "1 == 2")}, "b")
    assert run.failed() == ["a"]
    assert (run.ended_as("a", "error", "assertion"), run.ended_as("a", "passed")) == (True, False)
    assert not run.ended_as("b", "passed", "assertion")


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\xff",
        b"[]",
        b'{"kind": "end"}',
        b'{"kind": "end", "test": 1, "outcome": "passed", "text": ""}',
        b'{"kind": "end", "test": "a", "outcome": "killed", "text": ""}',
        b'{"kind": "end", "test": "a", "outcome": [], "text": ""}',
        b'{"kind": "collected", "tests": ["a"], "errors": [1]}',
    ],
)
def test_what_is_no_message_is_refused(line: bytes) -> None:
    with pytest.raises((ValueError, KeyError, TypeError)):
        Run().hear(line)


# ------------------------------------------------------------------------------------------------------------ going on


def starts(*runs: Run) -> tuple[Callable[[Request], Run], list[Request]]:
    """Gives these runs, one after the other, and keeps what was asked for."""
    left, asked = list(runs), []

    def start(request: Request) -> Run:
        asked.append(request)
        return left.pop(0)

    return start, asked


def stopped(run: Run, why: str) -> Run:
    run.stopped = why
    return run


def test_a_run_goes_on_behind_a_test_that_has_ended_it() -> None:
    first = stopped(heard(collected("a", "b", "c", "d"), end("a"), begin("b")), "ended its process")
    second = stopped(heard(collected("c", "d"), begin("c")), f"{OVER} of 5 s")
    start, asked = starts(first, second, heard(collected("d"), end("d", "assertion")))
    run = run_to_the_end(start, REQUEST, deaths=3)
    outcomes = {test: ended.outcome for test, ended in run.ended.items()}
    assert outcomes == {"a": "passed", "b": "died", "c": "timeout", "d": "assertion"}
    assert [request["select"] for request in asked] == [None, ["c", "d"], ["d"]]
    assert run.ended["c"].text == f"{OVER} of 5 s"


def module(name: str, text: str = "") -> dict[str, Any]:
    return {"kind": "module", "name": name, "text": text}


def test_what_the_later_runs_showed_belongs_to_the_whole() -> None:
    first = stopped(heard(collected("a", "b"), module("m"), module("n", "NameError: x"), begin("a")), "ended")
    second = heard(collected("b", errors=(("c.py", "no"),)), module("m", "no"), module("n"), module("o"), end("b"))
    first.longest, second.longest = 0.5, 2.5
    start, _ = starts(first, second)
    run = run_to_the_end(start, REQUEST, deaths=3)
    assert run.modules == {"m": "no", "n": "NameError: x", "o": ""}
    assert (run.longest, run.errors) == (2.5, {"c.py": "no"})
    assert (run.tests, run.stopped) == (["a", "b"], "ended")


def test_a_run_goes_on_no_more_often_than_it_may() -> None:
    dying = [stopped(heard(collected(*"abc"[at:]), begin("abc"[at])), "ended its process") for at in range(3)]
    start, asked = starts(*dying)
    run = run_to_the_end(start, REQUEST, deaths=1)
    assert len(asked) == 2
    assert {test: ended.outcome for test, ended in run.ended.items()} == {"a": "died", "b": "died"}


def test_a_run_whose_last_test_has_ended_it_is_over() -> None:
    start, asked = starts(stopped(heard(collected("a"), begin("a")), "ended its process"))
    assert run_to_the_end(start, REQUEST, deaths=3).ended == {"a": Ended("died", "ended its process")}
    assert len(asked) == 1


# ------------------------------------------------------------------------------------------------------------- counting


def why(outcomes: str, disguised: str = "p") -> str:
    """The reason of a test by how it ended in each run: passed, assertion, error, skipped, or not there."""
    names: dict[str, Outcome] = {"p": "passed", "a": "assertion", "e": "error", "s": "skipped"}
    runs = [all_ended(names[each], "t", text=each) if each in names else all_ended() for each in [*outcomes, disguised]]
    return reasons(runs[:-1], runs[-1]).get("t", "none")


@pytest.mark.parametrize(
    ("outcomes", "disguised", "reason"),
    [
        ("ppp", "p", ""),
        ("aaa", "a", "fails on the unmutated loop: a"),
        ("eee", "e", "fails on the unmutated loop: e"),
        ("pap", "p", "fails by chance, or for the order of the tests: a"),
        ("ppe", "e", "fails by chance, or for the order of the tests: e"),
        ("ppp", "a", "looks at the source: it fails when the same loop is written differently: a"),
        ("ppp", "e", "looks at the source: it fails when the same loop is written differently: e"),
        ("ppp", "-", "looks at the source: it is not there when the same loop is written differently"),
        ("p-p", "p", "is not there in every run"),
        ("sss", "s", SKIPPED),
        ("sps", "s", "fails by chance, or for the order of the tests: s"),
    ],
)
def test_a_test_counts_that_passes_in_every_run(outcomes: str, disguised: str, reason: str) -> None:
    assert why(outcomes, disguised) == reason


def test_a_file_that_cannot_be_collected_is_there_as_a_test() -> None:
    run = heard(collected(errors=(("bad.py", "SyntaxError"),)))
    assert reasons([run, run, run], run) == {"bad.py": "cannot be collected: SyntaxError"}


def test_only_a_skip_leaves_the_run_complete() -> None:
    assert [stands_against(reason) for reason in ("", SKIPPED, "is not there in every run")] == [False, False, True]


# ----------------------------------------------------------------------------------------------------------- the mutant


def case(run: Run, **fields: Any) -> Case:
    killer = Killer(test="TestMaxIterStops", check="max-iter/model-calls")
    mutant = Mutant(id="m", title="m", patch="m.patch", killer=killer)
    run.modules = run.modules or {"loop": ""}
    failed = run.failed()
    given: dict[str, Any] = {"mutant": mutant, "patched": ("loop",), "run": run, "failed": failed, "confirmed": failed}
    return Case(**given | fields)


def fate(found: Case, *counting: str) -> tuple[str, str]:
    report = report_of(found, set(counting or ("a", "b")))
    return report.verdict, report.message


def test_a_confirmed_failure_of_a_test_that_counts_is_a_kill() -> None:
    found = case(all_ended("assertion", "a", "b"))
    assert fate(found) == ("killed", "")
    assert report_of(found, {"b"}).killed_by == ["b"]


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (case(all_ended("passed", "a")), "no test failed"),
        (case(all_ended("assertion", "a"), confirmed=[]), "a failed once and not again"),
        (case(all_ended("error", "a", text="KeyError")), "a ended with an error, which is no assertion: KeyError"),
        (case(heard(collected(errors=(("c.py", "No"),)))), "c.py cannot be collected: No"),
        (case(heard(collected(errors=(("c.py", "No"),))), known=frozenset({"c.py"})), "no test failed"),
        (case(stopped(Run(), "ended its process")), "the run of the suite ended its process"),
        (case(all_ended("passed", "a"), patched=("far", "off")), "no test failed; the suite never imports far, off"),
    ],
)
def test_what_got_away_is_told_with_the_reason(found: Case, message: str) -> None:
    assert fate(found) == ("survived", message)


def test_a_test_that_fails_on_the_unmutated_loop_as_well_has_not_killed() -> None:
    found = case(all_ended("assertion", "a"), suspects=["a"])
    assert fate(found, "b") == ("survived", "a failed, and fails on the unmutated loop as well")


def test_a_test_that_has_not_ended_on_the_unmutated_loop_has_not_killed() -> None:
    found = case(all_ended("assertion", "a"), confirmed=[], unsure=["a"])
    assert fate(found, "a") == ("survived", "a failed, and did not come to its end on the unmutated loop")


@pytest.mark.parametrize(
    ("mutated", "unmutated", "confirmed", "suspects", "unsure"),
    [
        (("assertion", "assertion"), ("passed", "passed"), ["a"], [], []),
        (("assertion", "passed"), ("passed", "passed"), [], [], []),
        (("assertion", "error"), ("passed", "passed"), [], [], []),
        (("assertion", "assertion"), ("passed", "assertion"), [], ["a"], []),
        (("assertion", "assertion"), ("error", "passed"), [], ["a"], []),
        (("passed", "assertion"), ("assertion", "passed"), [], ["a"], []),
        (("assertion", "assertion"), ("passed", "timeout"), [], [], ["a"]),
        (("assertion", "assertion"), ("died", "passed"), [], [], ["a"]),
        (("assertion", "assertion"), ("skipped", "passed"), [], [], ["a"]),
        (("assertion", "assertion"), (None, "passed"), [], [], ["a"]),
        ((None, "assertion"), ("passed", "passed"), [], [], []),
    ],
)
def test_a_kill_fails_on_exactly_the_mutants(
    mutated: tuple[Outcome | None, ...],
    unmutated: tuple[Outcome | None, ...],
    confirmed: list[str],
    suspects: list[str],
    unsure: list[str],
) -> None:
    def runs(outcomes: tuple[Outcome | None, ...]) -> list[Run]:
        return [Run(ended={} if outcome is None else {"a": Ended(outcome)}) for outcome in outcomes]

    found = case(all_ended("assertion", "a"), confirmed=[])
    found.compare(runs(mutated), runs(unmutated))
    assert (found.confirmed, found.suspects, found.unsure) == (confirmed, suspects, unsure)


def test_where_no_test_counts_that_is_said() -> None:
    assert report_of(case(Run()), set()).message == "no test counts"


@pytest.mark.parametrize("why", [f"{OVER} of 5 s", "ended its process"])
def test_a_test_that_did_not_come_to_its_end_is_no_kill(why: str) -> None:
    start, _ = starts(stopped(heard(collected("a"), begin("a")), why))
    assert fate(case(run_to_the_end(start, REQUEST, deaths=0))) == ("timeout", f"a {why}")


def test_a_mutant_that_cannot_be_imported_is_broken_whatever_failed() -> None:
    run = all_ended("assertion", "a")
    run.modules = {"loop": "NameError: x"}
    report = report_of(case(run), {"a"})
    assert (report.verdict, report.message, report.killed_by) == ("broken", "NameError: x", [])


def test_a_stale_patch_is_stale() -> None:
    assert fate(case(Run(), stale="line 3")) == ("stale", "line 3")


@pytest.mark.parametrize(("outcome", "expected"), [("passed", "equivalent"), ("assertion", "by_others")])
def test_an_equivalent_mutant_is_killed_by_nobody(outcome: Outcome, expected: str) -> None:
    mutant = Mutant(id="m", title="m", patch="m.patch", equivalent="for a reason")
    assert fate(case(all_ended(outcome, "a"), mutant=mutant))[0] == expected


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        ("assertion", ("killed", "")),
        ("passed", ("by_others", "b passed")),
        ("error", ("by_others", "b ended otherwise: no")),
    ],
)
def test_where_a_manifest_names_a_test_that_one_has_to_kill(outcome: Outcome, expected: tuple[str, str]) -> None:
    mutant = Mutant(id="m", title="m", patch="m.patch", killer=Killer(test="b"))
    run = heard(collected("a", "b"), end("a", "assertion"), end("b", outcome, "no"))
    assert fate(case(run, mutant=mutant)) == expected
