"""Checks as items of pytest: their ids and marks, how they are selected, and what becomes of each verdict."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from tests.conformance.commands import GRACE, LIMIT, bad
from tests.conformance.pytest_runs import BROKEN, LACKING, SEED, command, ids, outcomes, suite, suite_alone

from looptck import cli, isolate, session
from looptck.endless import Patience
from looptck.pytest_suite import suite as pytest_suite
from looptck.pytest_suite.items import CheckError
from looptck.requirements import requirements
from looptck.suite import tests_of
from looptck.suite.labels import Labels
from looptck.suite.model import Check, Finding, Test

pytest_plugins = ["pytester"]

ITEM = "test_budget_stops_before_dispatch[budget/calls-none-run]"


# which items there are


@pytest.mark.parametrize("profile", ["ag03", "lesson4"])
def test_every_check_of_the_reference_passes(pytester: pytest.Pytester, profile: str) -> None:
    ran = suite(pytester, f"--loop-profile={profile}", "--loop-isolation=none")
    assert outcomes(ran) == {"passed": sum(len(test.checks) for test in tests_of(profile))}


@pytest.mark.parametrize(
    ("profile", "example"),
    [
        ("ag03", "test_max_iter_stops[max-iter/model-calls]"),
        ("lesson4", "test_repeated_identical_call_is_detected[repeat/never-run]"),
    ],
)
def test_ids_have_the_names_of_the_specification_and_of_the_checks(
    pytester: pytest.Pytester, profile: str, example: str
) -> None:
    ran = suite(pytester, "--collect-only", "-q", f"--loop-profile={profile}")
    names = [line for line in ran.outlines if "::" in line]
    assert f"looptck.suite::{example}" in names
    assert [name.partition("[")[2].rstrip("]") for name in names] == [
        check.id for test in tests_of(profile) for check in test.checks
    ]


@pytest.mark.parametrize(
    "selection",
    [
        ["-k", "TestHandExample"],
        ["-k", "test_hand_example"],
        ["looptck.suite::test_hand_example"],
        ["-m", "looptck(test='TestHandExample')"],
        ["looptck.suite::test_hand_example", "-m", "looptck_must or looptck_should"],
    ],
)
def test_the_items_of_a_test_are_selected(pytester: pytest.Pytester, selection: list[str]) -> None:
    ran = suite(pytester, "--collect-only", "-q", "--strict-markers", *selection)
    found = [line.partition("[")[2].rstrip("]") for line in ran.outlines if "::" in line]
    assert found == [check.id for check in tests_of("ag03")[0].checks]


@pytest.mark.parametrize(
    "selection", [["-k", "hand/transcript"], ["looptck.suite::test_hand_example[hand/transcript]"]]
)
def test_an_item_is_selected(pytester: pytest.Pytester, selection: list[str]) -> None:
    ran = suite(pytester, "-v", *selection)
    assert outcomes(ran) == {"passed": 1}
    ran.stdout.fnmatch_lines(["looptck.suite::test_hand_example[[]hand/transcript] PASSED*"])


def test_marks_tell_levels_and_sections(pytester: pytest.Pytester) -> None:
    records = requirements("ag03")
    levels = Counter(records[check.requirement].level for test in tests_of("ag03") for check in test.checks)
    section = sum(len(test.checks) for test in tests_of("ag03") if test.section == "2.2")
    counts = {"looptck_must": levels["must"], "looptck_should": levels["should"], "looptck(section='2.2')": section}
    for expression, number in counts.items():
        ran = suite(pytester, "--collect-only", "-q", "-m", expression)
        assert len([line for line in ran.outlines if "::" in line]) == number > 0


def test_only_the_scenarios_of_what_is_selected_are_observed(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[list[str]] = []
    original = session.observe_all

    def noting(chosen: Any, *arguments: Any, **options: Any) -> Any:
        seen.append([scenario.name for test in chosen for scenario in test.scenarios])
        return original(chosen, *arguments, **options)

    monkeypatch.setattr(session, "observe_all", noting)
    ran = suite(pytester, "-k", "max-iter/model-calls or max-iter/tool-runs or max-iter/default")
    assert outcomes(ran) == {"passed": 3}
    assert seen == [["looping", "default"]]


def test_the_scenarios_of_a_test_are_built_once_for_all_of_its_items(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[str] = []

    def noting(seed: int, name: str) -> Labels:
        built.append(name)
        return Labels(seed, name)

    monkeypatch.setattr(pytest_suite, "Labels", noting)
    ran = suite(pytester, "-k", "[max-iter/model-calls] or [max-iter/tool-runs] or [hand/answer] or [hand/usage]")
    assert outcomes(ran) == {"passed": 4}
    assert sorted(built) == ["TestHandExample", "TestMaxIterStops"]


def test_what_the_limit_ended_in_one_test_is_known_in_the_next(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[Any] = []
    original = session.observe_all

    def noting(*arguments: Any, **options: Any) -> Any:
        given.append(options["patience"])
        return original(*arguments, **options)

    monkeypatch.setattr(session, "observe_all", noting)
    for _ in range(2):
        assert outcomes(suite(pytester, "-k", "[hand/answer] or [max-iter/model-calls]")) == {"passed": 2}
    one, same, other, again = given
    assert isinstance(one, Patience)
    assert one is same
    assert other is again
    assert one is not other, "of another run"


# pytest's own ways


def test_the_broken_example_fails_what_the_command_line_tells(
    pytester: pytest.Pytester, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = suite(pytester, "-rfx", "--loop-isolation=none", loop=BROKEN)
    capsys.readouterr()
    assert cli.run(["check", str(BROKEN), "--seed", str(SEED), "--isolation", "none"]) == 1
    told = [line.split() for line in capsys.readouterr().out.splitlines() if line.startswith("fail ") and "/" in line]
    checks = [words for words in told if words[2] in {"(must)", "(should)"}]
    assert ids(ran, "FAILED") == [check for _, check, level in checks if level == "(must)"]
    assert ids(ran, "XFAIL") == [check for _, check, level in checks if level == "(should)"]
    assert outcomes(ran).keys() == {"passed", "failed", "xfailed"}


def test_a_failure_reads_like_that_of_the_command_line(
    pytester: pytest.Pytester, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = suite(pytester, "-k", "budget/calls-none-run", loop=BROKEN)
    capsys.readouterr()
    cli.run(["check", str(BROKEN), "--seed", str(SEED), "-k", "budget/calls-none-run"])
    printed = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    begin = printed.index("fail budget/calls-none-run (must)")
    end = next(n for n, line in enumerate(printed) if line.startswith("  again: "))
    place = next(n for n, line in enumerate(ran.outlines) if line.startswith("fail budget/"))
    assert [line.rstrip() for line in ran.outlines[place : place + end - begin + 1]] == printed[begin : end + 1]
    assert ran.outlines[place - 1].strip("_ ") == ITEM


def test_the_first_failure_stops_and_the_last_failures_run_again(pytester: pytest.Pytester) -> None:
    budget = ["-k", "TestBudgetStopsBeforeDispatch"]
    first = suite(pytester, "-x", *budget, loop=BROKEN)
    assert ids(first, "FAILED") == ["budget/calls-none-run"]
    again = suite(pytester, "--lf", *budget, loop=BROKEN)
    assert outcomes(again) == {"failed": 1}
    assert ids(again, "FAILED") == ["budget/calls-none-run"]


def test_the_failures_of_a_suite_and_of_other_tests_run_again_together(pytester: pytest.Pytester) -> None:
    other = pytester.makepyfile("def test_other_fails(): assert 0\ndef test_other_passes(): pass")
    select = [other, "-k", "budget/calls-none-run or budget/calls-only or test_other"]
    assert outcomes(suite(pytester, *select, loop=BROKEN)) == {"failed": 2, "passed": 2}
    assert outcomes(suite(pytester, *select, "--lf", loop=BROKEN)) == {"failed": 2}


def test_junit_has_the_ids_as_names_and_the_statement_as_message(pytester: pytest.Pytester) -> None:
    suite(pytester, "--junit-xml=junit.xml", "-k", "budget/calls-none-run or budget/calls-only", loop=BROKEN)
    cases = list(ET.parse("junit.xml").iter("testcase"))  # noqa: S314 - pytest wrote it
    assert {(case.get("classname"), case.get("name")) for case in cases} == {
        ("looptck.suite", ITEM),
        ("looptck.suite", ITEM.replace("none-run", "only")),
    }
    (failure,) = [found for case in cases for found in case.iter("failure")]
    assert (failure.get("message") or "").startswith("Three calls against a budget of two")
    assert "  again: looptck check " in (failure.text or "")


def test_a_debugger_finds_the_parts_of_a_failure(pytester: pytest.Pytester) -> None:
    typed = "p check.id, scenario.name, type(observation).__name__, finding.ok\nq\n"
    options = ["--pdb", "--loop-isolation=none", "-k", "budget/calls-none-run"]
    ran = suite_alone(pytester, *options, loop=BROKEN, typed=typed)
    ran.stdout.fnmatch_lines(["*('budget/calls-none-run', 'calls-over', 'Observation', False)"])


def test_a_failure_carries_its_parts_for_other_plugins(pytester: pytest.Pytester) -> None:
    class Taker:
        taken: tuple[Any, ...] = ()

        def pytest_exception_interact(self, call: pytest.CallInfo[None]) -> None:
            assert call.excinfo is not None
            assert isinstance(call.excinfo.value, CheckError)
            self.taken = call.excinfo.value.about

    taker = Taker()
    pytester.runpytest_inprocess(*command("-k", "budget/calls-none-run", loop=BROKEN), plugins=[taker])
    scenario, observation, finding = taker.taken
    assert (scenario.name, observation.scenario) == ("calls-over", "calls-over")
    assert (finding.ok, finding.seen["tool runs"]) == (False, 3)


def test_a_breakpoint_in_a_loop_stops_in_this_process(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        stops="""
        import looptck_reference
        class Agent(looptck_reference.Agent):
            def invoke(self, messages):
                number = len(messages)
                breakpoint()
                return super().invoke(messages)
    """
    )
    options = ["--loop-isolation=none", "--loop-limit=60", "-k", "[hand/answer]"]
    ran = suite_alone(pytester, *options, loop="stops.py", typed="p 'messages', number\nc\nc\nc\n")
    ran.stdout.fnmatch_lines(["*('messages', 1)"])
    assert outcomes(ran) == {"passed": 1}


@pytest.mark.parametrize("isolation", ["fork", "none"])
def test_workers_share_the_work(pytester: pytest.Pytester, isolation: str) -> None:
    options = [f"--loop-isolation={isolation}", "-k", "TestBudgetStopsBeforeDispatch"]
    ran, alone = suite_alone(pytester, "-n2", *options, loop=BROKEN), suite(pytester, *options, loop=BROKEN)
    assert outcomes(ran) == outcomes(alone)
    assert sorted(ids(ran, "FAILED")) == sorted(ids(alone, "FAILED"))


def test_workers_have_the_seed_of_the_header(pytester: pytest.Pytester) -> None:
    options = ["--pyargs", "looptck.suite", f"--loop={BROKEN}", "-n2", "-k", "budget/calls-none-run or calls-whole-run"]
    ran = pytester.runpytest_subprocess(*options)
    seed = next(line for line in ran.outlines if line.startswith("looptck: ")).split("seed ")[1].split(",")[0]
    again = [line for line in ran.outlines if line.startswith("  again: ")]
    assert len(again) == outcomes(ran)["failed"]
    assert {line.rpartition("--seed ")[2] for line in again} == {seed}


# verdicts


def test_what_an_adapter_lacks_is_skipped_with_its_reason(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(lacking=LACKING)
    ran = suite(pytester, "-k", "max-iter/model-calls or [hand/answer]", "-rs", loop="lacking.py:Lacking")
    assert outcomes(ran) == {"passed": 1, "skipped": 1}
    ran.stdout.fnmatch_lines(["SKIPPED * lacks max_iter: there is no limit"])


def test_a_loop_over_the_limit_is_an_error_and_never_green(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(isolate, "GRACE", GRACE)
    ran = suite(pytester, f"--loop-limit={LIMIT}", "-k", "parallel/one-slot", loop=bad("spins"))
    assert outcomes(ran) == {"errors": 1}
    ran.stdout.fnmatch_lines(["*  the real-time limit passed while the event loop had no turn*", "ERROR * - the real*"])


def test_a_target_that_cannot_be_used_is_one_line_at_every_item(pytester: pytest.Pytester) -> None:
    ran = suite(pytester, "-k", "TestSystemPrompt", loop=bad("raises_at_import"))
    told = f"{bad('raises_at_import')} cannot be imported: KeyError: 'MODEL_API_KEY' (line 5)"
    checks = len(tests_of("ag03")[1].checks)
    assert outcomes(ran) == {"errors": checks}
    assert ran.outlines.count(told) == checks
    assert "Traceback" not in ran.stdout.str()


def raising(_: Any) -> Finding:
    message = "out of reach"
    raise LookupError(message)


def changed(monkeypatch: pytest.MonkeyPatch, check_id: str, **fields: Any) -> tuple[Test, Check]:
    """A check of ag03 with other fields, as long as the test lasts."""
    test, place = next((t, n) for t in tests_of("ag03") for n, c in enumerate(t.checks) if c.id == check_id)
    monkeypatch.setattr(test, "checks", [*test.checks])
    test.checks[place] = replace(test.checks[place], **fields)
    return test, test.checks[place]


def test_a_fault_of_the_kit_is_an_error(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    changed(monkeypatch, "hand/answer", function=raising)
    ran = suite(pytester, "-k", "[hand/answer] or hand/transcript")
    assert outcomes(ran) == {"passed": 1, "errors": 1}
    ran.stdout.fnmatch_lines(["ERROR * - LookupError: out of reach"])


def test_a_newer_check_that_fails_is_news(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    changed(monkeypatch, "budget/calls-none-run", since=2)
    ran = suite(pytester, "-rx", "--loop-requirements=1", "-k", "budget/calls-none-run", loop=BROKEN)
    assert outcomes(ran) == {"xfailed": 1}
    ran.stdout.fnmatch_lines(["XFAIL * - news since requirements 2: Three calls*"])


def test_a_newer_check_that_cannot_be_judged_is_news_too(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(isolate, "GRACE", GRACE)
    changed(monkeypatch, "parallel/one-slot", since=2)
    options = [f"--loop-limit={LIMIT}", "-rx", "-k", "parallel/one-slot"]
    ran = suite(pytester, *options, loop=bad("spins"))
    assert outcomes(ran) == {"xfailed": 1}
    ran.stdout.fnmatch_lines(["XFAIL * - news since requirements 2: the real-time limit passed*"])
    assert outcomes(suite(pytester, *options, "--runxfail", loop=bad("spins"))) == {"failed": 1}


def test_a_known_failure_is_expected_and_has_to_fail(pytester: pytest.Pytester) -> None:
    lines = ['"budget/calls-none-run" = "issue 12"', '"hand/answer" = "a rumour"', '"hand/events" = "never run here"']
    Path("known.toml").write_text("\n".join(lines), encoding="utf-8")
    options = ["--loop-known-failures=known.toml", "-rx", "-k", "budget/calls-none-run or [hand/answer]"]
    ran = suite(pytester, *options, loop=BROKEN)
    assert outcomes(ran) == {"failed": 1, "xfailed": 1}
    ran.stdout.fnmatch_lines(["XFAIL * - known failure (issue 12): Three calls*"])
    ran.stdout.fnmatch_lines(["hand/answer is listed as a known failure, and passes: take it out"])
    assert outcomes(suite(pytester, *options, "--runxfail", loop=BROKEN)) == {"failed": 2}


def test_a_known_failure_of_a_check_that_is_skipped_is_stale(pytester: pytest.Pytester) -> None:
    Path("known.toml").write_text('"max-iter/model-calls" = "no cap"', encoding="utf-8")
    pytester.makepyfile(lacking=LACKING)
    options = ["--loop-known-failures=known.toml", "-k", "max-iter/model-calls"]
    ran = suite(pytester, *options, loop="lacking.py:Lacking")
    assert outcomes(ran) == {"failed": 1}
    ran.stdout.fnmatch_lines(["max-iter/model-calls is listed as a known failure, and is skipped: take it out"])


def test_what_is_observed_in_processes_is_judged_alike(pytester: pytest.Pytester) -> None:
    ran = suite(pytester, "--loop-isolation=process", "-k", "budget/ or hand/transcript", loop=BROKEN)
    assert "budget/calls-none-run" in ids(ran, "FAILED")
    assert "  --isolation process" not in ran.outlines
    assert any(line.endswith(f"--seed {SEED} --isolation process") for line in ran.outlines)
