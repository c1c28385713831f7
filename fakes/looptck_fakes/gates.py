"""A gate whose verdicts stand in a table, and that keeps what it was asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from looptck.contract.ag03 import Allow, CallContext, Deny, NeedApproval, ToolCall, Verdict
from looptck_fakes.recorder import GateAsked, Recorder

Rule: TypeAlias = Verdict | Exception


class TableGate:
    """A `Gate` with verdicts by call id, else by tool name, else `default`; an exception in the table is raised.

    The table may also be a function of the call and its context.

        >>> import asyncio
        >>> gate = TableGate({"delete_file": Deny("read only"), "pay": NeedApproval("m1")})
        >>> asyncio.run(gate.decide(ToolCall("call_1", "delete_file", "{}"), CallContext(tainted=False, iter=1)))
        Deny(reason='read only')
        >>> [(asked.call.id, asked.verdict) for asked in gate.questions]
        [('call_1', 'deny')]
    """

    def __init__(
        self,
        table: Mapping[str, Rule] | Callable[[ToolCall, CallContext], Rule],
        *,
        default: Verdict | None = None,
        recorder: Recorder | None = None,
    ) -> None:
        self.recorder = recorder if recorder is not None else Recorder()
        self._table = table
        self._default = default if default is not None else Allow()

    @property
    def questions(self) -> tuple[GateAsked, ...]:
        """What was asked so far, in order."""
        return self.recorder.of(GateAsked)

    async def decide(self, call: ToolCall, context: CallContext) -> Verdict:
        """The verdict of the table."""
        try:
            rule = self._rule(call, context)
        except Exception as error:  # noqa: BLE001 - what a function raises is its verdict
            rule = error
        name = _NAMES.get(type(rule), "raised")
        self.recorder.add(lambda at: GateAsked(at, call, context.tainted, context.iter, name))  # type: ignore[arg-type]
        if isinstance(rule, Exception):
            raise rule
        return rule

    def _rule(self, call: ToolCall, context: CallContext) -> Rule:
        if callable(self._table):
            return self._table(call, context)
        return self._table.get(call.id, self._table.get(call.name, self._default))


_NAMES: Mapping[type, str] = {Allow: "allow", Deny: "deny", NeedApproval: "need_approval"}
