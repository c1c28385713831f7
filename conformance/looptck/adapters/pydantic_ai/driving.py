"""Drives an agent of pydantic-ai: makes it of the kit's seams, runs it once for each invocation, says how it ended.

Nothing here helps the framework along: no error of it is caught but to be told, nothing is run again or put in order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from opentelemetry.trace import Tracer, TracerProvider
from pydantic_ai import Agent, AgentRunResult, DeferredToolRequests, DeferredToolResults, __version__
from pydantic_ai import capture_run_messages as captured
from pydantic_ai.capabilities import AbstractCapability, HandleDeferredToolCalls, Instrumentation
from pydantic_ai.models.instrumented import InstrumentationSettings
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import RunUsage

from looptck.adapter import Outcome, Run
from looptck.adapters.pydantic_ai.events import EventReader
from looptck.adapters.pydantic_ai.limits import in_contract_words, limits_of
from looptck.adapters.pydantic_ai.messages import from_framework, open_calls, reply, to_framework, tool_call
from looptck.adapters.pydantic_ai.model import ProviderModel
from looptck.adapters.pydantic_ai.tools import GateHandler, KitToolset
from looptck.contract.ag03 import ApprovalError, Message, NeedApproval, Pending, Usage


@dataclass(slots=True)
class Made:
    """An agent that was made, and the gate behind it where it has one."""

    agent: Agent[None, Any]
    gate: GateHandler | None


class PydanticAIAdapter:
    """The adapter; `docs/pydantic-ai.md` tells how each part of the contract is mapped, and why."""

    name = "pydantic-ai"
    version = __version__
    isolation = "process"
    lacks: Mapping[str, str] = {
        "max_parallel_tools": "the calls of a turn all run at once, or one after the other: there is no number to set",
        "result_twice": "a run is awaited once and gives a value: there is nothing to await again",
        "step_runner": "there is no seam for one: durable runs are made by integrations of three engines",
    }

    async def run(self, run: Run) -> Outcome:
        """Make the invocation."""
        outcome = Outcome()
        usage = RunUsage()
        with captured() as history:
            try:
                if run.agent_key not in run.agents:
                    run.agents[run.agent_key] = make(run.options)
                await _invoke(run.agents[run.agent_key], run, usage, outcome)
            except KeyboardInterrupt:  # somebody at the keyboard, in a run that is not isolated
                raise
            except BaseException as error:  # noqa: BLE001 - whatever the framework raises is an observation
                outcome.error = in_contract_words(error)
        outcome.transcript = from_framework(history)
        outcome.usage = _usage(usage)
        return outcome


def make(options: Mapping[str, Any]) -> Made:
    """The agent of an invocation's options."""
    gate = GateHandler(options["gate"]) if "gate" in options else None
    capabilities: list[AbstractCapability[None]] = []
    if gate is not None:
        capabilities.append(HandleDeferredToolCalls(handler=gate))
    if "tracer" in options:
        settings = InstrumentationSettings(tracer_provider=_OneTracer(options["tracer"]))
        capabilities.append(Instrumentation(settings=settings))
    agent: Agent[None, Any] = Agent(
        ProviderModel(options["provider"]),
        output_type=str if gate is None else [str, DeferredToolRequests],
        deps_type=type(None),
        system_prompt=options.get("system", ()),
        name=options.get("name"),
        model_settings=cast("ModelSettings", dict(options.get("call_options") or {})),
        toolsets=[KitToolset(options["tools"], gated=gate is not None)],
        capabilities=capabilities,
    )
    return Made(agent, gate)


async def _invoke(made: Made, run: Run, usage: RunUsage, outcome: Outcome) -> None:
    """One run of the framework; what it returns is told in the outcome, what it raises is raised."""
    prompt, history = _split(run.messages)
    reader = EventReader(run.read, run.on_event) if run.read != "none" else None
    try:
        result = await made.agent.run(
            prompt,
            message_history=to_framework(history) or None,
            deferred_tool_results=_approved(run),
            usage_limits=limits_of(run.options),
            usage=usage,
            event_stream_handler=reader,
        )
    finally:
        outcome.events_ended = reader is not None and reader.ended
    if isinstance(result.output, DeferredToolRequests):
        outcome.error = _waits(result, made.gate)
        return
    outcome.message = Message("assistant", result.output)


def _split(messages: Sequence[Message]) -> tuple[str | None, Sequence[Message]]:
    """The prompt of a run, which is a user message at the end of its input, and the history before it."""
    if messages and messages[-1].role == "user":
        return messages[-1].content, messages[:-1]
    return None, messages


def _approved(run: Run) -> DeferredToolResults | None:
    """Approvals by call id, as the framework takes them, of the open calls that an earlier run left waiting.

    None where there are no approvals or no such calls. A call whose marker is not approved has no result.
    """
    waiting: dict[str, NeedApproval] = {}
    for made in run.agents.values():
        waiting |= made.gate.waiting if made.gate is not None else {}
    asked = [call for call in open_calls(run.messages) if call in waiting]
    if "approvals" not in run.options or not asked:
        return None
    approved = [call for call in asked if waiting[call].marker in run.options["approvals"]]
    return DeferredToolResults(approvals=dict.fromkeys(approved, True))


def _waits(result: AgentRunResult[Any], gate: GateHandler | None) -> ApprovalError:
    """A run that returned calls to approve, in the contract's words: it ended with an error that lists them."""
    waiting = gate.waiting if gate is not None else {}
    pending = []
    for part in result.output.approvals:
        want = waiting[part.tool_call_id]
        pending.append(Pending(tool_call(part), want.marker, want.reason))
    return ApprovalError(
        pending,
        message=reply(result.response),
        transcript=from_framework(result.all_messages()),
        usage=_usage(result.usage),
    )


def _usage(usage: RunUsage) -> Usage:
    return Usage(usage.input_tokens, usage.output_tokens)


class _OneTracer(TracerProvider):
    """A tracer provider, as the framework takes one, that gives out the tracer of the run."""

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer

    def get_tracer(self, *_args: Any, **_options: Any) -> Tracer:
        """The one tracer, whoever asks."""
        return self._tracer
