"""My agent works! Three unit tests of the loop."""
# ruff: noqa: PT009 - for unittest

from __future__ import annotations

import unittest
from collections.abc import AsyncIterator, Sequence
from typing import Any

from looptck.contract.ag03 import CallChunk, Chunk, Message, TextChunk, ToolCall, ToolDefinition, ToolResult
from looptck.subject import Agent


class Model:
    """Uses the calculator so many times before it answers."""

    model = "mine"

    def __init__(self, calls: int = 0) -> None:
        self.calls = calls

    async def stream(self, messages: Sequence[Message], *_: Any, **__: Any) -> AsyncIterator[Chunk]:
        if self.calls:
            self.calls -= 1
            yield CallChunk(0, f"call_{len(messages)}", "add", '{"a": 2, "b": 3}')
        else:
            yield TextChunk("The sum is 5.")


class Calculator:
    """Knows one sum."""

    def __init__(self) -> None:
        self.used = 0

    def definitions(self) -> list[ToolDefinition]:
        return [ToolDefinition("add", "Adds two numbers.")]

    async def call(self, call: ToolCall) -> ToolResult:
        self.used += 1
        return ToolResult("5", is_error=call.name != "add")


class TestAgent(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        self.calculator = Calculator()

    async def test_answers(self) -> None:
        answer = await Agent(Model(), self.calculator).invoke([Message("user", "What is 2 + 3?")]).result()
        self.assertEqual(answer.content, "The sum is 5.")

    async def test_uses_tool(self) -> None:
        agent = Agent(Model(calls=1), self.calculator)
        answer = await agent.invoke([Message("user", "What is 2 + 3?")]).result()
        self.assertEqual(self.calculator.used, 1)
        self.assertIn("5", answer.content)

    async def test_transcript(self) -> None:
        stream = Agent(Model(calls=1), self.calculator, system="You can add.").invoke([Message("user", "2 + 3?")])
        await stream.result()
        roles = [message.role for message in stream.transcript()]
        self.assertEqual(roles, ["system", "user", "assistant", "tool", "assistant"])


if __name__ == "__main__":
    unittest.main()
