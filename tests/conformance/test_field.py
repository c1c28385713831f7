"""What came of public bug threads: each has its check, its scenario and its mutant; and what the checks accept."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

import pytest

from looptck import cli
from looptck.adapter import ContractAdapter
from looptck.contract import ag03
from looptck.contract.ag03 import Message, ToolCall, ToolResult
from looptck.observe import observe_here
from looptck.suite import PROFILES, tests_of
from looptck.suite.ag03 import field
from looptck.suite.evidence import Evidence
from looptck.suite.labels import Labels
from looptck.suite.model import Check, Finding
from looptck.suite.threads import THREADS, threads_of
from looptck_mutants.profiles import mutants_of
from looptck_reference import Agent

NAMES = {"ag03": "TestFromTheField", "lesson4": "test_from_the_field"}
CHECKS = {check.id: check for check in field.TEST.checks}


def of_the_field(profile: str) -> list[Check]:
    """The checks of a profile that are called so."""
    return [check for test in tests_of(profile) for check in test.checks if check.id.startswith("field/")]


# ------------------------------------------------------------------------------------------------- threads and checks


def test_every_thread_is_another_and_is_told_in_a_sentence_or_two() -> None:
    assert len({thread.url for thread in THREADS}) == len(THREADS) == 19
    assert [thread.title for thread in THREADS if not re.fullmatch(r"[A-Z].*[^.]\.", thread.happened)] == []


def test_a_thread_has_the_address_of_an_issue_or_of_a_pull_request() -> None:
    pull, issue = THREADS[:2]
    assert (pull.title, pull.url) == (
        "pydantic/pydantic-ai PR 2978",
        "https://github.com/pydantic/pydantic-ai/pull/2978",
    )
    assert (issue.title, issue.url) == (
        "pydantic/pydantic-ai 6884",
        "https://github.com/pydantic/pydantic-ai/issues/6884",
    )


def test_every_thread_has_its_checks_and_every_check_its_thread() -> None:
    named = Counter(check for thread in THREADS for check in thread.checks)
    assert [check for check, number in named.items() if number > 1] == []
    assert named.keys() == {check.id for profile in PROFILES for check in of_the_field(profile)}
    assert [threads_of(check) for check in ("field/wide-turn-bounded", "hand/usage")] == [(THREADS[1],), ()]


def test_every_thread_has_a_check_of_ag03() -> None:
    known = {check.id for check in of_the_field("ag03")}
    assert [thread.title for thread in THREADS if not known & set(thread.checks)] == []


@pytest.mark.parametrize("profile", PROFILES)
def test_the_checks_are_those_of_one_test_and_each_has_a_scenario_of_its_own(profile: str) -> None:
    checks = of_the_field(profile)
    (test,) = [test for test in tests_of(profile) if test.name == NAMES[profile]]
    assert (test.section, test.checks) == ("-", checks)
    used = Counter(name for check in checks for name in check.on)
    assert used == Counter(scenario.name for scenario in test.build(Labels(0, test.name)))


@pytest.mark.parametrize("profile", PROFILES)
def test_each_check_has_a_mutant_of_its_own(profile: str) -> None:
    killers = [mutant.killer.check for mutant in mutants_of(profile) if mutant.killer is not None]
    checks = {check.id: killers.count(check.id) for check in of_the_field(profile)}
    assert checks == dict.fromkeys(checks, 1)


def test_explain_tells_the_thread(capsys: pytest.CaptureFixture[str]) -> None:
    (thread,) = threads_of("field/limit-ends-run")
    for profile in PROFILES:
        assert cli.run(["explain", "field/limit-ends-run", "--profile", profile]) == 0
        lines = capsys.readouterr().out.splitlines()
        at = lines.index(f"  thread       {thread.title}: {thread.happened}")
        assert lines[at + 1].strip() == thread.url
    cli.run(["explain", "hand/usage"])
    assert "  thread" not in capsys.readouterr().out


# ------------------------------------------------------------------------------------------------ what is accepted


def found(agent: Any, check_id: str, seed: int = 3) -> Finding:
    """What a check finds of a loop."""
    check = CHECKS[check_id]
    built = {scenario.name: scenario for scenario in field.TEST.build(Labels(seed, field.TEST.name))}
    (name,) = check.on
    return check.function(Evidence(built[name], observe_here(ContractAdapter(agent), built[name])))


class _Careful:
    """Tools behind a loop that answers arguments it cannot parse itself, or with a table of ids before them."""

    def __init__(self, tools: Any) -> None:
        self._tools = tools
        self.definitions = tools.definitions

    async def call(self, call: ToolCall) -> ToolResult:
        """Refuse what does not parse, and run the rest."""
        try:
            json.loads(call.arguments)
        except ValueError:
            return ToolResult("these arguments are no JSON", is_error=True)
        result: ToolResult = await self._tools.call(call)
        return result


class Refusing(Agent):
    """Answers calls whose arguments do not parse without asking the tools."""

    def __init__(self, provider: Any, tools: Any, **options: Any) -> None:
        super().__init__(provider, _Careful(tools), **options)


class _Naming:
    """A model whose calls all get ids of the loop's own."""

    def __init__(self, provider: Any) -> None:
        self._provider = provider
        self.model = provider.model

    async def stream(self, *given: Any) -> Any:
        """The chunks, with an id for each call that no other has."""
        async for chunk in self._provider.stream(*given):
            if isinstance(chunk, ag03.CallChunk) and chunk.name:
                yield ag03.CallChunk(chunk.index, f"own-{chunk.index}", chunk.name, chunk.arguments)
            else:
                yield chunk


class Renaming(Agent):
    """Gives calls ids of its own, as a loop may where the model's are missing or the same."""

    def __init__(self, provider: Any, tools: Any, **options: Any) -> None:
        super().__init__(_Naming(provider), tools, **options)


class Summing(Agent):
    """Has the sum of the tokens on the span of the run, under a name of its own."""

    def invoke(self, messages: Any) -> Any:
        """A run whose first span is told the sum when the run is over."""
        stream = super().invoke(messages)
        tracing, make = self.tracing, self.tracing.run

        def run() -> Any:
            manager = make()
            leave = manager.__exit__

            def leaving(*how: Any) -> Any:
                span.set_attribute("loop.usage.input_tokens", stream.usage().input_tokens)
                return leave(*how)

            span = manager.__enter__()
            return _Entered(span, leaving)

        tracing.run = run  # type: ignore[method-assign]
        return stream


class _Entered:
    """A context that is entered already."""

    def __init__(self, value: Any, leave: Any) -> None:
        self._value, self._leave = value, leave

    def __enter__(self) -> Any:
        return self._value

    def __exit__(self, *how: object) -> Any:
        return self._leave(*how)


@pytest.mark.parametrize(
    ("agent", "check"),
    [
        (Refusing, "field/invalid-call-answered"),
        (Refusing, "field/arguments-not-emptied"),
        (Renaming, "field/every-id-runs"),
        (Summing, "field/tokens-told-once"),
    ],
)
def test_whatever_else_is_right_passes(agent: Any, check: str) -> None:
    finding = found(agent, check)
    assert finding.ok, (finding.expected, finding.seen)


def test_a_loop_that_refuses_calls_one_by_one_fails_though_no_call_runs_past_the_limit() -> None:
    class Unbudgeted(Agent):
        def __init__(self, *seams: Any, **options: Any) -> None:
            super().__init__(*seams, **options | {"budget": None})

    finding = found(Unbudgeted, "field/limit-ends-run")
    assert not finding.ok
    assert finding.seen == {"model calls": 13, "tool runs": 12, "ended": "answered"}


def test_a_wide_turn_that_runs_one_call_at_a_time_is_told_too() -> None:
    class Single(Agent):
        def __init__(self, *seams: Any, **options: Any) -> None:
            super().__init__(*seams, **options | {"max_parallel_tools": 1})

    assert found(Single, "field/wide-turn-bounded").seen == {"most in flight": 1}


def test_open_calls_are_those_with_fewer_answers_than_proposals() -> None:
    call = ToolCall("c1", "look", "{}")
    turn, answer = Message("assistant", "", (call,)), Message("tool", "seen", tool_call_id="c1")
    assert list(field._open([turn, answer])) == []
    assert list(field._open([turn, turn, answer])) == ["c1"]
    assert list(field._open([turn, answer, answer])) == []
