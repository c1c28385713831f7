"""`looptck check` as a user meets it: what it says of a loop, above all of one that misbehaves or cannot be used."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.conformance.commands import LIMIT, PARALLEL, bad

from looptck.suite import tests_of

# the reference


def test_the_reference_passes_everything(looptck: Any) -> None:
    ran = looptck("check", "reference")
    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert [line.split()[:2] for line in lines[:13]] == [["pass", test.name] for test in tests_of("ag03")]
    checks = sum(len(test.checks) for test in tests_of("ag03"))
    assert ran.last == f"PASS reference against ag03: {checks} pass"


@pytest.mark.parametrize("isolation", ["fork", "none"])
def test_a_seed_is_drawn_and_printed_or_taken_and_printed(looptck: Any, isolation: str) -> None:
    assert looptck("check", "reference", "-k", "hand/answer", "--seed", "77", "--isolation", isolation).out.endswith(
        "(seed 77)\n"
    )
    seeds = {looptck("check", "reference", "-k", "hand/answer").out.rpartition("(seed ")[2] for _ in range(3)}
    assert len(seeds) > 1


# loops that misbehave in one scenario: it costs that scenario, and nothing else


@pytest.mark.parametrize(
    ("name", "code", "told"),
    [
        ("hangs", 1, "nothing more could happen, and there was no result"),
        ("exits_in_a_run", 1, "the loop raised SystemExit: I give up"),
        ("os_exits_in_a_run", 1, "the loop ended the process with exit code 0"),
        ("raises_base_exception", 1, "the loop raised GameOver: no more coins"),
        ("reads_stdin", 1, "the loop could not be invoked: EOFError: EOF when reading a line"),
        (
            "spins",
            2,
            "the real-time limit passed while the event loop had no turn: something computes or blocks without await",
        ),
        ("spins_politely", 2, "the real-time limit passed before the run ended"),
    ],
)
def test_a_loop_that_misbehaves_once_is_told_why_and_the_rest_is_judged(
    looptck: Any, name: str, code: int, told: str
) -> None:
    (checks,) = [test.checks for test in tests_of("ag03") if test.name == PARALLEL]
    verdict = {1: "fail", 2: "incomplete"}[code]
    impatient = ["--limit", str(LIMIT)] if verdict == "incomplete" else []
    ran = looptck("check", bad(name), "-k", PARALLEL, "--seed", "4", *impatient)
    assert (ran.code, ran.err) == (code, "")
    assert f"  {told}\n" in ran.out
    assert ran.last == f"{verdict.upper()} {bad(name)} against ag03: {len(checks) - 1} pass, 1 {verdict}"
    limit = f" --limit {LIMIT:g}" if impatient else ""
    assert f"  again: looptck check {bad(name)} --profile ag03 -k parallel/one-slot --seed 4{limit}\n" in ran.out


@pytest.mark.parametrize(
    "name", ["floods_stdout", "leaves_threads", "leaves_stubborn_tasks", "forks_and_stays", "import_starts_threads"]
)
def test_a_loop_that_is_untidy_and_right_passes_where_only_answers_count(looptck: Any, name: str) -> None:
    ran = looptck("check", bad(name), "-k", PARALLEL, "--seed", "4")
    assert (ran.code, ran.err) == (0, "")
    assert ran.last.startswith(f"PASS {bad(name)} against ag03: ")


def test_a_loop_that_leaves_tasks_behind_is_noted_as_bad_manners(looptck: Any) -> None:
    ran = looptck("check", bad("leaves_tasks"), "-k", "TestEventsOptional", "--seed", "4")
    assert ran.code == 0
    assert "of good sense failed" in ran.out
    assert "housekeeping" in ran.out
    assert "(should)" in ran.out


def test_a_loop_that_lacks_methods_fails_the_checks_that_need_them(looptck: Any) -> None:
    ran = looptck("check", bad("no_transcript"), "-k", "TestHandExample", "--seed", "4")
    assert ran.code == 1
    failed = {line.split()[1] for line in ran.out.splitlines() if line.startswith("fail ") and "/" in line.split()[1]}
    assert failed >= {"hand/transcript", "hand/usage"}
    assert not failed & {"hand/answer", "hand/model-calls", "hand/tool-runs", "hand/events"}
    assert "the stream has no method transcript(); the stream has no method usage()" in ran.out


def test_a_loop_with_a_constructor_of_its_own_fails_with_its_own_error(looptck: Any) -> None:
    ran = looptck("check", bad("needs_arguments"), "-k", "TestHandExample")
    assert ran.code == 1
    told = "the loop could not be invoked: TypeError: Agent.__init__() got an unexpected keyword argument 'provider'"
    assert ran.out.count(told) == 1


def test_a_loop_without_a_stream_is_incomplete(looptck: Any) -> None:
    ran = looptck("check", bad("no_result"), "-k", "TestHandExample")
    assert ran.code == 2
    told = "what Agent.invoke returned has no method events(), result(), transcript(), usage()"
    assert ran.out.count(told) == 1


# targets that cannot be used


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("does_not_import", "cannot be imported: ModuleNotFoundError: No module named 'a_module_that_nobody_has'"),
        ("raises_at_import", "cannot be imported: KeyError: 'MODEL_API_KEY' (line 5)"),
        ("exits_at_import", "cannot be imported: SystemExit: usage: exits_at_import QUESTION"),
        ("os_exits_at_import", "importing the target ended the process with exit code 0"),
        ("import_hangs", "importing the target took longer than 1.2 s"),
        ("no_agent", "has no Agent; name one with"),
        ("no_class", ":Agent is no class"),
        ("no_invoke", "Agent has no method invoke(messages)"),
    ],
)
def test_a_target_that_cannot_be_used_is_one_line_and_incomplete(looptck: Any, name: str, told: str) -> None:
    ran = looptck(
        "check", bad(name), "-k", "TestHandExample", *(["--limit", str(LIMIT)] if name == "import_hangs" else [])
    )
    (checks,) = [test.checks for test in tests_of("ag03") if test.name == "TestHandExample"]
    assert ran.code == 2
    assert ran.err.count("\n") == 1
    assert ran.err.startswith("looptck: ")
    assert told in ran.err
    assert ran.out.strip().count("\n") == 0
    assert ran.last == f"INCOMPLETE {bad(name)} against ag03: {len(checks)} incomplete"


def test_a_target_that_does_not_parse_is_one_line_and_incomplete(looptck: Any, tmp_path: Path) -> None:
    target = tmp_path / "loop.py"
    target.write_text("class Agent:\n  def invoke(self:\n", encoding="utf-8")
    ran = looptck("check", str(target))
    assert ran.code == 2
    assert ran.err == f"looptck: {target} cannot be imported: SyntaxError: '(' was never closed (line 2)\n"


def test_in_this_process_a_target_that_cannot_be_used_is_the_same_line(looptck: Any) -> None:
    for name in ("raises_at_import", "exits_at_import", "no_invoke"):
        forked, here = (looptck("check", bad(name), "-k", "hand/a*", "--isolation", mode) for mode in ("fork", "none"))
        assert (here.code, here.err, here.last) == (forked.code, forked.err, forked.last)
