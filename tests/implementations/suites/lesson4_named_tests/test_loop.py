"""The five tests that the lesson names, for any metered loop: `python -m unittest test_loop`."""
# ruff: noqa: PT009 - for unittest

from __future__ import annotations

import unittest
from typing import Any

from looptck.contract.lesson4 import Completion, FatalToolError, Stop, Usage
from looptck.subject import Agent, Budget
from looptck_fakes.lesson4 import FakeModel, FakeRegistry, tool_call


def searches(*queries: str) -> list[Any]:
    return [tool_call("search_help", {"q": query}) for query in queries]


class LoopTests(unittest.TestCase):
    def setUp(self) -> None:
        self.registry = FakeRegistry({"search_help": "see page 12", "charge_card": FatalToolError("no authorization")})

    def test_single_tool_then_answer(self) -> None:
        (search,) = searches("refunds")
        model = FakeModel(
            [Completion(tool_calls=(search,), usage=Usage(100, 20)), Completion("Page 12.", usage=Usage(150, 5))]
        )
        run = Agent(model, self.registry, system="Be helpful.").run("How do refunds work?")
        self.assertEqual(run.stop, Stop.ANSWERED)
        self.assertTrue(run.ok)
        self.assertEqual(run.output, "Page 12.")
        self.assertEqual(list(run.trajectory()), ["search_help"])
        self.assertEqual([len(call["messages"]) for call in model.calls], [2, 4])
        answered = model.calls[1]["messages"][-1]
        self.assertEqual(answered["role"], "tool")
        self.assertEqual(answered["tool_call_id"], "call_1")
        self.assertEqual(answered["content"], "see page 12")
        self.assertEqual((run.input_tokens, run.output_tokens), (250, 25))

    def test_fatal_tool_error_aborts_instead_of_looping(self) -> None:
        model = FakeModel([tool_call("charge_card"), "It is paid."])
        run = Agent(model, self.registry).run("Pay.")
        self.assertEqual(run.stop, Stop.TOOL_FATAL)
        self.assertFalse(run.ok)
        self.assertEqual(model.call_count, 1)
        self.assertFalse(run.used_tool("charge_card"))

    def test_differing_arguments_are_not_treated_as_repeats(self) -> None:
        model = FakeModel([*searches("a", "b", "c"), "Found."])
        run = Agent(model, self.registry, budget=Budget(repeat_limit=1)).run("Search.")
        self.assertEqual(run.stop, Stop.ANSWERED)
        self.assertEqual(list(run.trajectory()), ["search_help"] * 3)

    def test_step_budget_stops_a_runaway_agent(self) -> None:
        model = FakeModel(searches(*map(str, range(20))))
        run = Agent(model, self.registry, budget=Budget(max_steps=4)).run("Never end.")
        self.assertEqual(run.stop, Stop.STEP_BUDGET)
        self.assertEqual(run.step_count, 4)
        self.assertEqual(model.call_count, 4)
        self.assertIn("4-step limit", run.output)

    def test_repeated_identical_call_is_detected(self) -> None:
        model = FakeModel(searches(*["same"] * 10))
        run = Agent(model, self.registry, budget=Budget(max_steps=10, repeat_limit=2)).run("Go on.")
        self.assertEqual(run.stop, Stop.REPEATED_CALL)
        self.assertEqual(run.step_count, 3)
        self.assertEqual(len(self.registry.dispatched), 2)


if __name__ == "__main__":
    unittest.main()
