"""What a loop may refuse by an error, and where: a limit of zero, an input without messages or answered in part."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.conformance.fuzz.loops import NO_SYSTEM, asking, planted
from tests.conformance.oracle.altered import judged_of

from looptck.scenario import Call, Invocation, Options, Said, Scenario, Turn

if TYPE_CHECKING:
    from pathlib import Path

LIMITED = ("max_iter", "max_parallel_tools", "max_tokens", "max_tool_calls")
ABOVE = """limits = [options.get('max_iter', 1), options.get('max_parallel_tools', 1)]
budget = options.get('budget')
limits += [budget.max_tokens, budget.max_tool_calls] if budget is not None else []
if any(limit is not None and limit < {least} for limit in limits):
    raise {error}('a limit has to be positive')"""


@pytest.mark.parametrize("name", LIMITED)
def test_a_limit_of_zero_may_be_refused(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loop = planted(tmp_path, made=ABOVE.format(least=1, error="ValueError"))
    assert not judged_of(loop, asking("zero", **{name: 0}), monkeypatch).differs


@pytest.mark.parametrize(("limit", "least", "error"), [(1, 2, "ValueError"), (0, 1, "TypeError")])
def test_another_may_not_nor_any_by_not_knowing_the_option(
    limit: int, least: int, error: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = planted(tmp_path, made=ABOVE.format(least=least, error=error))
    assert judged_of(loop, asking("refused", max_iter=limit), monkeypatch).broken == "crash"


A, B = Call(id="a", name="look_up"), Call(id="b", name="look_up")
ANSWERED = Said(role="tool", content="ok", tool_call_id="a")
GO, PROPOSED = Said(content="go"), Said(role="assistant", calls=(A, B))
NONE: tuple[Said, ...] = ()
OPEN = {"no message": NONE, "answered in part": (GO, PROPOSED, ANSWERED)}
FIXED = {"a user's": (GO,), "answered by nobody": (GO, PROPOSED)}
INVOKED = "if {refused}:\n    raise {error}('not with these messages')"
STREAMED = """if {refused}:
    stream = super().invoke(messages)
    async def refuses():
        {first}
        raise ValueError('not with these messages')
    stream._run = refuses
    return stream"""
FEW = "len(messages) in {0, 1, 2, 3}"


def given(messages: tuple[Said, ...], *, tracer: bool = True) -> Scenario:
    run = Invocation(messages=messages, turns=(Turn(text=("Done.",)),), read="all")
    return Scenario(name="given", tracer=tracer, invocations=(run, run.model_copy(update={"messages": (GO,) * 4})))


@pytest.mark.parametrize("system", [None, "Be brief."])
@pytest.mark.parametrize(
    "body", [INVOKED.format(refused=FEW, error="ValueError"), STREAMED.format(refused=FEW, first="pass")]
)
@pytest.mark.parametrize("messages", OPEN.values(), ids=OPEN)
def test_an_input_of_which_it_is_open_what_becomes_may_be_refused(
    messages: tuple[Said, ...], body: str, system: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = given(messages).model_copy(update={"options": Options(system=system)})
    assert not judged_of(planted(tmp_path, body), scenario, monkeypatch).differs


@pytest.mark.parametrize("messages", FIXED.values(), ids=FIXED)
def test_no_other_input_may_be_refused(
    messages: tuple[Said, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = planted(tmp_path, INVOKED.format(refused=FEW, error="ValueError"))
    assert judged_of(loop, given(messages), monkeypatch).broken == "crash"
    loop = planted(tmp_path, STREAMED.format(refused=FEW, first="pass"))
    one = judged_of(loop, given(messages), monkeypatch)
    assert (one.broken, one.level) == ("loop-repeats" if messages == (GO,) else "resume-without-model-call", "must")


def test_an_input_that_the_loop_cannot_work_with_is_not_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = planted(tmp_path, INVOKED.format(refused=FEW, error="TypeError"))
    assert judged_of(loop, given(NONE), monkeypatch).broken == "crash"


def test_a_loop_that_refuses_one_input_may_not_refuse_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loop = planted(tmp_path, INVOKED.format(refused="True", error="ValueError"))
    assert judged_of(loop, given(NONE), monkeypatch).broken == "crash"


def test_a_run_that_has_asked_the_model_has_not_refused_its_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asks = "[_ async for _ in self.provider.stream([], self.tools.definitions(), {})]"
    loop = planted(tmp_path, STREAMED.format(refused="not messages", first=asks))
    one = judged_of(loop, given(NONE, tracer=False), monkeypatch)
    assert (one.broken, one.level) == ("loop-ends-without-calls", "must")


@pytest.mark.parametrize("messages", OPEN.values(), ids=OPEN)
def test_a_mistake_with_an_input_that_may_be_refused_breaks_a_must(
    messages: tuple[Said, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = given(messages).model_copy(update={"options": Options(system="Be brief.")})
    one = judged_of(planted(tmp_path, made=NO_SYSTEM), scenario, monkeypatch)
    assert (one.broken, one.level) == ("system-prompt-first", "must")


def test_a_run_that_goes_on_behind_one_that_was_refused_has_no_message_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Invocation(messages=NONE, turns=(Turn(text=("Done.",)),))
    scenario = Scenario(name="behind", invocations=(run, run.model_copy(update={"continues": 0})))
    loop = planted(tmp_path, INVOKED.format(refused="not messages", error="ValueError"))
    assert not judged_of(loop, scenario, monkeypatch).differs


def test_what_stands_beside_an_input_that_was_refused_is_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Invocation(messages=NONE, turns=(Turn(text=("Done.",)),))
    scenario = Scenario(
        name="beside",
        options=Options(system="Be brief."),
        invocations=(run, run.model_copy(update={"messages": (GO,)})),
    )
    loop = planted(tmp_path, INVOKED.format(refused="not messages", error="ValueError"), made=NO_SYSTEM)
    one = judged_of(loop, scenario, monkeypatch)
    assert (one.broken, one.level) == ("system-prompt-first", "must")
