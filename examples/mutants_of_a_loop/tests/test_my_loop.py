"""A few tests of my_loop.py. `loop_class` is its `Agent`, or a mutant of it."""
# ruff: noqa: D103, PLR2004, S101

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from looptck.contract.ag03 import ApprovalError, MaxIterError, Message, NeedApproval, ToolCall
from looptck_fakes import RecordingTools, ScriptedProvider, TableGate, Turn

PAY = ToolCall("call_1", "pay", "{}")
BILL = Message("user", "Pay the bill.")


def test_the_model_is_asked_as_often_as_the_cap_says(loop_class: Any) -> None:
    model = ScriptedProvider([Turn(calls=(PAY,)) for _ in range(9)])
    agent = loop_class(model, RecordingTools({"pay": "paid"}), max_iter=2)
    with suppress(MaxIterError):
        asyncio.run(agent.invoke([BILL]).result())
    assert len(model.requests) == 2


def test_what_was_approved_runs(loop_class: Any) -> None:
    marker = "bill-7"
    model, tools = ScriptedProvider([Turn(text=("Paid.",))]), RecordingTools({"pay": "paid"})
    agent = loop_class(model, tools, gate=TableGate({"pay": NeedApproval(marker)}), approvals=[marker])
    with suppress(ApprovalError):
        asyncio.run(agent.invoke([BILL, Message("assistant", tool_calls=(PAY,))]).result())
    assert tools.runs == (PAY,)
