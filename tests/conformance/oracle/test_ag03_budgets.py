"""Ways to count denied calls: each is accepted, and what only looks like one is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
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
