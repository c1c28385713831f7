"""Whatever rests on good sense, denied and waiting calls do not run, nor what is past a limit: that breaks a must."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.conformance.fuzz.drawing import drawn_from
from tests.conformance.implementations_harness import ROOT, forget_import
from tests.conformance.oracle.altered import altered, judged_of

from looptck.fuzz import ag03
from looptck.oracle.beside_ag03 import _whatever_is_open
from looptck.profile import profile_of
from looptck.scenario import Call, Invocation, Options, Said, Scenario, Tokens, Turn
from looptck.target import parse_target

if TYPE_CHECKING:
    from pathlib import Path

LOOP = "tasks_and_semaphore"


def call(call_id: str, name: str = "look_up", **more: Any) -> Call:
    return Call(id=call_id, name=name, **more)


A, B, C, DENIED = call("a"), call("b"), call("c"), call("denied", verdict="deny")
WAITS = call("waits", verdict="need_approval", marker="ok")
CUT, CUT_DENIED, CUT_WAITS = (one.model_copy(update={"arguments": '{"q":'}) for one in (call("cut"), DENIED, WAITS))


def run_of(*turns: tuple[Call, ...], **options: Any) -> Scenario:
    replies = (*(Turn(calls=calls, usage=Tokens(input=10)) for calls in turns), Turn(text=("Done.",)))
    return Scenario(
        name="forbidden",
        gate=True,
        options=Options(**options),
        invocations=(Invocation(messages=(Said(content="go"),), turns=replies),),
    )


FIT = "call.arguments.endswith('}')"
ALL_FIT = "all(call.arguments.endswith('}') for message in self._messages for call in message.tool_calls)"
BY_ID = "by = {c.id: v for (_, c), v in zip(calls, verdicts)}\n        verdicts = [by[c.id] for _, c in calls]\n"
REFUSED = f"if not {FIT}:\n                    verdict = Deny('no JSON')\n                el"
NO_GATE = ("if self._agent.gate is None:", f"if self._agent.gate is None or not {ALL_FIT}:")
APPROVED, SPENT = "if verdict.marker in self._agent.approvals:", "self._usage.total > limit:"
WRONG: dict[str, tuple[tuple[str, str], Scenario, str]] = {
    "a denied call without fit arguments runs": (
        ("if isinstance(verdict, Deny):", f"if isinstance(verdict, Deny) and {FIT}:"),
        run_of((CUT_DENIED,)),
        "denied-not-run",
    ),
    "a verdict is that of another call under the same id": (
        ("        if pending:\n", f"        {BY_ID}        if pending:\n"),
        run_of((DENIED, call("denied", name="send"))),
        "denied-not-run",
    ),
    "a call without fit arguments is refused in place of waiting": (
        (APPROVED, REFUSED + APPROVED),
        run_of((CUT_WAITS, B)),
        "approval-runs-nothing",
    ),
    "behind such a call there is no gate for what is denied": (NO_GATE, run_of((CUT,), (DENIED,)), "denied-not-run"),
    "nor for what waits": (NO_GATE, run_of((CUT,), (WAITS,)), "approval-runs-nothing"),
    "nor a budget of calls": (
        ("limit is not None and used > limit:", f"limit is not None and used > limit and {ALL_FIT}:"),
        run_of((CUT, A, B), max_tool_calls=1),
        "tool-call-budget",
    ),
    "nor one of tokens": ((SPENT, f"{SPENT[:-1]} and {ALL_FIT}:"), run_of((CUT,), max_tokens=9), "token-budget"),
    "nor a cap": (
        ("while self._model_calls < self._agent.max_iter:", f"while self._model_calls < 1 or not {ALL_FIT}:"),
        run_of((CUT,), max_iter=1),
        "iteration-cap",
    ),
    "of a turn that a budget forbids as many calls run as there is room for": (
        ("self._spend(len(calls))", "calls = calls[:1]"),
        run_of((CUT,), (A, B, C), max_tool_calls=2),
        "tool-call-budget",
    ),
}


@pytest.mark.parametrize(("change", "scenario", "broken"), WRONG.values(), ids=WRONG)
def test_what_no_reading_allows_breaks_a_must(
    change: tuple[str, str], scenario: Scenario, broken: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not judged_of(ROOT / f"correct/{LOOP}.py", scenario, monkeypatch).differs
    one = judged_of(altered(tmp_path, LOOP, change), scenario, monkeypatch)
    assert (one.broken, one.level) == (broken, "must")


def test_so_it_does_in_a_later_run_than_the_first_that_only_good_sense_objects_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = f"if isinstance(verdict, Deny) and {FIT}:"
    twice = (
        "result = await self._tool(",
        "await self._agent.tools.call(call)\n                result = await self._tool(",
    )
    loop = altered(tmp_path, LOOP, ("if isinstance(verdict, Deny):", ran), twice)
    (first,), (second,) = run_of((CUT,)).invocations, run_of((CUT_DENIED,)).invocations
    scenario = run_of().model_copy(update={"invocations": (first, second)})
    assert judged_of(loop, scenario.model_copy(update={"invocations": (first,)}), monkeypatch).level == "should"
    assert judged_of(loop, scenario, monkeypatch).broken == "denied-not-run"


ANEW = ("tools.call(call)", "tools.call(ToolCall(call.id, call.name, '{}') if call.arguments == 'null' else call)")


@pytest.mark.parametrize(("denied", "level"), [("{}", "should"), ('{"q":"a"}', "must")])
def test_a_run_that_may_be_that_of_an_allowed_sibling_is_not_held_to_be_that_of_the_denied_one(
    denied: str, level: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A loop that makes `null` into an object runs what looks like the denied call: then it may be that."""
    runs_it = ("if isinstance(verdict, Deny):", "if isinstance(verdict, Deny) and 'q' not in call.arguments:")
    turn = (call("a", arguments="null"), call("a", arguments=denied, verdict="deny"))
    one = judged_of(altered(tmp_path, LOOP, ANEW, runs_it), run_of(turn), monkeypatch)
    assert one.level == level


@pytest.mark.parametrize("loop", ["tasks_and_semaphore", "other_readings", "generator_lazy"])
def test_a_correct_loop_does_nothing_of_it(loop: str, monkeypatch: pytest.MonkeyPatch) -> None:
    forget_import(monkeypatch)
    profile = profile_of("ag03")
    adapter = parse_target(str(ROOT / f"correct/{loop}.py"), {}).load(profile.adapt)
    for scenario in drawn_from(ag03.scenarios(), 60):
        assert not list(_whatever_is_open(scenario, profile.observe(adapter, scenario, 10), 0)), scenario
