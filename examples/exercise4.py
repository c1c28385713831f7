"""The exercise of lesson 4: a model that never stops asking for tools, and the two ceilings that stop it.

One script, two runs, four assertions. It prints how each run ended, or fails by an assertion.
"""
# ruff: noqa: S101, T201 - a script, whose assertions and printed lines are its point

from __future__ import annotations

from looptck.contract.lesson4 import Stop
from looptck_fakes.lesson4 import FakeModel, FakeRegistry, tool_call
from looptck_reference.metered import Agent, Budget, Run

MAX_STEPS = 6
TURNS = 10 * MAX_STEPS
"""How often the model would ask if nothing stopped it."""


def runaway() -> Run:
    """Another question each time: that looks like work, and only the number of steps tells that it is none."""
    model = FakeModel([tool_call("search", {"q": f"question {number}"}) for number in range(TURNS)])
    return Agent(model, FakeRegistry({"search": "nothing found"}), Budget(max_steps=MAX_STEPS)).run("Find it.")


def stuck() -> Run:
    """The same question each time, and a low repeat limit: that it is stuck shows in the third step."""
    model = FakeModel([tool_call("search", {"q": "the same question"}) for _ in range(TURNS)])
    budget = Budget(max_steps=MAX_STEPS, repeat_limit=2)
    return Agent(model, FakeRegistry({"search": "nothing found"}), budget).run("Find it.")


def main() -> None:
    """Both runs, and what must be true of them."""
    first = runaway()
    assert first.stop == Stop.STEP_BUDGET
    assert first.step_count == MAX_STEPS
    print(f"runaway: {first.stop.value} after {first.step_count} steps. {first.output}")
    second = stuck()
    assert second.stop == Stop.REPEATED_CALL
    assert second.step_count < MAX_STEPS
    print(f"stuck: {second.stop.value} after {second.step_count} steps. {second.output}")


if __name__ == "__main__":
    main()
