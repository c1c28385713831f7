"""The kit's tools as a toolset of the framework, and the gate as the handler that it asks about calls to approve."""

from __future__ import annotations

import json
from typing import Any

from pydantic import TypeAdapter
from pydantic_ai import RunContext, ToolFailed
from pydantic_ai.messages import ModelRequest, ToolReturnPart
from pydantic_ai.tools import DeferredToolRequests, DeferredToolResults, ToolDenied
from pydantic_ai.tools import ToolDefinition as FrameworkTool
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool

from looptck.adapters.pydantic_ai.messages import tool_call
from looptck.contract.ag03 import DENIED_PREFIX, Allow, CallContext, Deny, Gate, NeedApproval, ToolCall, Tools

ANY_OBJECT: Any = TypeAdapter(dict[str, Any]).validator
"""What the framework checks arguments with before it calls: a JSON object, since it calls with one."""


class KitToolset(AbstractToolset[None]):
    """The tools of a run, called through the framework's own interface of a collection of tools.

    Where there is a gate, every call needs approval, as calls of the framework's tools with `requires_approval` do.
    """

    def __init__(self, tools: Tools, *, gated: bool) -> None:
        self._tools = tools
        self._kind: Any = "unapproved" if gated else "function"

    @property
    def id(self) -> str | None:
        """None is needed: nothing here is kept beyond its process."""
        return None

    async def get_tools(self, ctx: RunContext[None]) -> dict[str, ToolsetTool[None]]:
        """The tools by name, described as the kit describes them; retries are those of the agent."""
        return {
            tool.name: ToolsetTool(
                toolset=self,
                tool_def=FrameworkTool(
                    name=tool.name,
                    description=tool.description,
                    parameters_json_schema=dict(tool.parameters),
                    kind=self._kind,
                ),
                max_retries=ctx.max_retries,
                args_validator=ANY_OBJECT,
            )
            for tool in self._tools.definitions()
        }

    async def call_tool(
        self,
        name: str,
        tool_args: dict[str, Any],
        ctx: RunContext[None],
        tool: ToolsetTool[None],  # noqa: ARG002 - the framework's interface
    ) -> str:
        """Run one call. Raises `ToolFailed` for a result that is an error, and what the kit's tools raise as it is."""
        call = ToolCall(ctx.tool_call_id or "", name, json.dumps(tool_args, ensure_ascii=False))
        result = await self._tools.call(call)
        if result.is_error:
            raise ToolFailed(result.content)
        return result.content


class GateHandler:
    """Answers the framework's question about calls that need approval with the gate's verdicts.

    Allow is an approval, Deny a denial with the specification's text, and NeedApproval no answer: the framework ends
    the run with what is left unanswered. `waiting` keeps by call id who wants approval, and under which marker.
    """

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self.waiting: dict[str, NeedApproval] = {}

    async def __call__(self, ctx: RunContext[None], requests: DeferredToolRequests) -> DeferredToolResults:
        """Ask the gate about every call of the turn."""
        results = DeferredToolResults()
        for part in requests.approvals:
            verdict = await self._gate.decide(tool_call(part), CallContext(_tainted(ctx), ctx.run_step))
            if isinstance(verdict, Allow):
                results.approvals[part.tool_call_id] = True
            elif isinstance(verdict, Deny):
                results.approvals[part.tool_call_id] = ToolDenied(DENIED_PREFIX + verdict.reason)
            else:
                self.waiting[part.tool_call_id] = verdict
        return results


def _tainted(ctx: RunContext[None]) -> bool:
    """Whether what the framework shows of the context holds a tool's answer."""
    requests = (message for message in ctx.messages if isinstance(message, ModelRequest))
    return any(isinstance(part, ToolReturnPart) for request in requests for part in request.parts)
