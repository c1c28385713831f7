"""The table gate: a verdict for every call, and a record of every question."""

from __future__ import annotations

import asyncio
import threading

import pytest

from looptck.contract.ag03 import Allow, CallContext, Deny, NeedApproval, ToolCall, Verdict
from looptck_fakes import GateAsked, Recorder, TableGate
from looptck_fakes.gates import Rule

CLEAN, TAINTED = CallContext(tainted=False, iter=1), CallContext(tainted=True, iter=2)


def calling(name: str, call_id: str = "call_1") -> ToolCall:
    return ToolCall(call_id, name, "{}")


def verdict_of(gate: TableGate, call: ToolCall, context: CallContext = CLEAN) -> Verdict:
    return asyncio.run(gate.decide(call, context))


@pytest.mark.parametrize(
    ("rule", "recorded"),
    [(Allow(), "allow"), (Deny("read only"), "deny"), (NeedApproval("m1", "costs money"), "need_approval")],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else value,
)
def test_a_verdict_is_given_as_it_stands_in_the_table(rule: Verdict, recorded: str) -> None:
    gate = TableGate({"pay": rule})
    assert verdict_of(gate, calling("pay"), TAINTED) is rule
    assert [(asked.call, asked.tainted, asked.iter, asked.verdict) for asked in gate.questions] == [
        (calling("pay"), True, 2, recorded)
    ]


def test_the_id_of_a_call_goes_before_the_name_of_its_tool() -> None:
    gate = TableGate({"pay": Deny("by name"), "call_2": Deny("by id")})
    assert verdict_of(gate, calling("pay", "call_1")) == Deny("by name")
    assert verdict_of(gate, calling("pay", "call_2")) == Deny("by id")
    assert verdict_of(gate, calling("look", "call_2")) == Deny("by id")


def test_what_is_not_in_the_table_is_allowed_unless_something_else_is_said() -> None:
    assert verdict_of(TableGate({}), calling("look")) == Allow()
    assert verdict_of(TableGate({}, default=Deny("unknown")), calling("look")) == Deny("unknown")


def test_an_exception_in_the_table_is_raised_and_the_question_kept() -> None:
    error = ConnectionError("the policy server is gone")
    gate = TableGate({"pay": error})
    with pytest.raises(ConnectionError) as caught:
        verdict_of(gate, calling("pay"))
    assert caught.value is error
    assert gate.questions == (GateAsked(0, calling("pay"), tainted=False, iter=1, verdict="raised"),)


def tainted_means_no(call: ToolCall, context: CallContext) -> Rule:
    return Deny(f"{call.name} after tool output") if context.tainted else Allow()


def test_the_table_may_be_a_function_of_the_call_and_its_context() -> None:
    gate = TableGate(tainted_means_no)
    assert verdict_of(gate, calling("pay"), CLEAN) == Allow()
    assert verdict_of(gate, calling("pay"), TAINTED) == Deny("pay after tool output")
    assert [asked.verdict for asked in gate.questions] == ["allow", "deny"]


def test_the_function_may_give_an_exception_to_raise() -> None:
    gate = TableGate(lambda _call, _context: ValueError("no policy"))
    with pytest.raises(ValueError, match="no policy"):
        verdict_of(gate, calling("pay"))
    assert [asked.verdict for asked in gate.questions] == ["raised"]


def test_what_the_function_itself_raises_is_kept_as_well() -> None:
    def broken(call: ToolCall, _context: CallContext) -> Rule:
        raise LookupError(call.name)

    gate = TableGate(broken)
    with pytest.raises(LookupError, match="pay"):
        verdict_of(gate, calling("pay"))
    assert [asked.verdict for asked in gate.questions] == ["raised"]


def test_questions_are_kept_in_the_order_they_were_asked() -> None:
    log = Recorder()
    gate = TableGate({}, recorder=log)
    calls = [calling("look", f"call_{number}") for number in (3, 1, 2)]
    for call in calls:
        verdict_of(gate, call)
    assert [asked.call for asked in gate.questions] == calls
    assert gate.questions == log.records


def test_two_threads_may_ask_the_same_gate() -> None:
    gate = TableGate({"pay": NeedApproval("m1")}, default=Deny("unknown"))
    wrong: list[Verdict] = []

    async def ask() -> None:
        for number in range(50):
            expected = NeedApproval("m1") if number % 2 else Deny("unknown")
            verdict = await gate.decide(calling("pay" if number % 2 else "look"), CLEAN)
            wrong.extend([verdict] if verdict != expected else [])

    threads = [threading.Thread(target=lambda: asyncio.run(ask())) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert sorted(asked.verdict for asked in gate.questions) == ["deny"] * 50 + ["need_approval"] * 50
