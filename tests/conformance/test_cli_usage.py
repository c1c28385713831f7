"""`looptck` used rightly and wrongly: help, version, lists, and one line with its exit code for what cannot be done."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conformance.commands import bad

from looptck import __version__
from looptck.suite import tests_of

# usage


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["absent.py"], "there is no file absent.py"),
        (["nonsense"], "'nonsense' is no target: give a file (loop.py or loop.py:Name)"),
        ([], "no target: give reference, a file (loop.py or loop.py:Name), package.module:Name, or adapter:NAME"),
        (["reference", "-k", "no/such"], "no test and no check of ag03 matches 'no/such'; --list shows them"),
        (["reference", "--profile", "ag99"], "there is no profile 'ag99'; there are ag03 and lesson4"),
        (["reference", "--isolation", "jail"], "'jail' is not one of 'auto', 'fork', 'process', 'none'"),
        (["reference", "--seed", "x"], "'--seed'"),
        (["reference", "--seed", "-1"], "'--seed'"),
        (["reference", "--limit", "0"], "'--limit'"),
        (["reference", "--jobs", "-2"], "'--jobs'"),
        (["reference", "--no-such-option"], "--no-such-option"),
        (["reference", "another"], "another"),
        (["reference", "-k", "hand/answer", "--json", "no/such/folder/report.json"], "--json 'no/such/folder/"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_its_own_exit_code(looptck: Any, arguments: list[str], told: str) -> None:
    ran = looptck("check", *arguments)
    assert ran.code == 4
    assert ran.err.count("\n") == 1
    assert ran.err.startswith("looptck: ")
    assert told in ran.err
    assert "Value error" not in ran.err


@pytest.mark.parametrize("arguments", [["no-such-verb"], ["--no-such-option"]])
def test_a_verb_that_is_none_is_usage(looptck: Any, arguments: list[str]) -> None:
    ran = looptck(*arguments)
    assert (ran.code, ran.out) == (4, "")
    assert ran.err.count("\n") == 1


def test_without_a_verb_the_help_is_shown(looptck: Any) -> None:
    ran = looptck()
    assert (ran.code, ran.err) == (0, "")
    assert "Exit codes: 0 every must-check passed" in " ".join(ran.out.split())


def test_the_version_is_told(looptck: Any) -> None:
    ran = looptck("--version")
    assert (ran.code, ran.out, ran.err) == (0, f"looptck {__version__}\n", "")


def test_the_help_of_check_says_that_it_is_no_sandbox(looptck: Any) -> None:
    ran = looptck("check", "--help")
    assert ran.code == 0
    assert "This is no sandbox" in " ".join(ran.out.split())


# listing


def test_tests_and_checks_are_listed_with_what_they_state(looptck: Any) -> None:
    ran = looptck("check", "--list", "-k", "TestSpans")
    assert (ran.code, ran.err) == (0, "")
    head, *lines = ran.out.splitlines()
    (test,) = [test for test in tests_of("ag03") if test.name == "TestSpans"]
    assert head == "TestSpans (section 2.7)"
    assert [line.split(maxsplit=1) for line in lines] == [[check.id, check.statement] for check in test.checks]


def test_listing_needs_no_target_and_runs_none(looptck: Any) -> None:
    assert looptck("check", bad("exits_at_import"), "--list", "-k", "hand/answer").code == 0
