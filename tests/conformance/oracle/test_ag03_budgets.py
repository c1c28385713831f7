"""Ways to count denied calls, and to take a limit of zero: each is accepted, and what only looks like one is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.conformance.fuzz.loops import asking, planted
from tests.conformance.implementations_harness import ROOT
from tests.conformance.oracle.altered import altered, judged_of

from looptck.scenario import Call, Invocation, Options, Said, Scenario, Turn

if TYPE_CHECKING:
    from pathlib import Path

A = Call(id="a", name="look_up")
DENIED = Call(id="b", name="look_up", verdict="deny", reason="no")
RUN = Invocation(
    messages=(Said(content="go"),),
    turns=(*(Turn(calls=(A, DENIED)),) * 3, Turn(text=("Done.",))),
    read="all",
)
LIMITS = range(1, 7)


def scenario(limit: int) -> Scenario:
    return Scenario(name="denied", gate=True, options=Options(max_tool_calls=limit), invocations=(RUN,))


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("loop", ["generator_lazy", "other_readings", "queue_and_workers"])
def test_room_for_every_call_those_that_run_or_all_are_counted(
    loop: str, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not judged_of(ROOT / f"correct/{loop}.py", scenario(limit), monkeypatch).differs


SPENT, ROOM = "self._called += len(calls) - denied", "if limit is not None and self._called + len(calls) > limit:"
WRONG = {
    "nothing is used up": (SPENT, "self._called += 0"),
    "room is looked for behind what was used up": (ROOM, "if limit is not None and self._called > limit:"),
}


@pytest.mark.parametrize("change", WRONG.values(), ids=WRONG)
def test_a_loop_with_another_budget_breaks_a_must(
    change: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = judged_of(altered(tmp_path, "generator_lazy", change), scenario(2), monkeypatch)
    assert (one.broken, one.level) == ("tool-call-budget", "must")


LIMITED = ("max_iter", "max_parallel_tools", "max_tokens", "max_tool_calls")
REFUSES = """limits = [options.get('max_iter', 1), options.get('max_parallel_tools', 1)]
budget = options.get('budget')
limits += [budget.max_tokens, budget.max_tool_calls] if budget is not None else []
if any(limit is not None and limit < {least} for limit in limits):
    raise {error}('a limit has to be positive')"""


@pytest.mark.parametrize("name", LIMITED)
def test_a_limit_of_zero_may_be_refused(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loop = planted(tmp_path, made=REFUSES.format(least=1, error="ValueError"))
    assert not judged_of(loop, asking("zero", **{name: 0}), monkeypatch).differs


@pytest.mark.parametrize(("limit", "least", "error"), [(1, 2, "ValueError"), (0, 1, "TypeError")])
def test_another_may_not_nor_any_by_not_knowing_the_option(
    limit: int, least: int, error: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = planted(tmp_path, made=REFUSES.format(least=least, error=error))
    assert judged_of(loop, asking("refused", max_iter=limit), monkeypatch).broken == "crash"
