"""Loops that reach for what is the kit's, or ask more than they must: each is judged for what it does, and no worse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

BASE = """
import asyncio

from looptck.contract.ag03 import CallContext
from looptck_reference import loop, stream


class Run(loop.Run):
    async def loop(self):
        {at_start}
        return await super().loop()

    async def _run_tool(self, index, call):
        {at_tool}
        return await super()._run_tool(index, call)


class Agent(loop.Agent):
    def invoke(self, messages):
        run = Run(self, messages)
        return stream.Stream(run, run.events, run.traced)
"""


def written(folder: Path, at_start: str = "pass", at_tool: str = "pass") -> str:
    file = folder / "reaches.py"
    file.write_text(BASE.format(at_start=at_start.strip(), at_tool=at_tool.strip()), encoding="utf-8")
    return str(file)


def test_a_loop_that_stops_the_event_loop_fails_and_is_no_fault_of_the_kit(looptck: Any, tmp_path: Path) -> None:
    target = written(tmp_path, "asyncio.get_running_loop().stop()")
    ran = looptck("check", target, "-k", "hand/answer", "--seed", "1")
    assert ran.code == 1
    assert "the loop stopped the event loop that it was run on" in ran.out


def test_a_loop_that_asks_its_gate_again_at_dispatch_has_asked_before(looptck: Any, tmp_path: Path) -> None:
    again = "await self.agent.gate.decide(call, CallContext(False, self.iter)) if self.agent.gate else None"
    ran = looptck("check", written(tmp_path, at_tool=again), "-k", "gate/asked-*", "--seed", "1")
    assert ran.code == 0, ran.out
