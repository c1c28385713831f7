"""It runs, at least."""

from __future__ import annotations

from typing import Any

from looptck_fakes.lesson4 import FakeModel, FakeRegistry, tool_call


def test_it_runs(loop_class: Any) -> None:
    run = loop_class(FakeModel([tool_call("search", {"q": "a"}), "done"]), FakeRegistry({"search": "found"})).run("go")
    assert run.output


def test_it_has_a_budget(loop_class: Any, budget_class: Any) -> None:
    assert loop_class(FakeModel([]), FakeRegistry({}), budget=budget_class(max_steps=3, max_cost=0.5)) is not None
