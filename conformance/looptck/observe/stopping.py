"""The seams of an invocation that is stopped: from then on they do nothing, and the log hears nothing of them.

A process that has ended asks nobody for anything. A loop whose run is stopped in here may still clean up, finish
siblings or try again; none of that reaches the fakes, so that it is not taken for what the next invocation does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from looptck_fakes import StoppedError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from looptck.contract.ag03 import CallContext, Chunk, Message, ToolCall, ToolDefinition, ToolResult, Verdict
    from looptck_fakes import DurableRunner


def until_stopped(seams: Mapping[str, Any], runner: Any) -> dict[str, Any]:
    """The keyword arguments of an agent, with provider, tools and gate that end with the runner."""
    wrapped = {"provider": _Provider, "tools": _Tools, "gate": _Gate}
    return {name: wrapped[name](seam, runner) if name in wrapped else seam for name, seam in seams.items()}


class _Seam:
    """A seam, and the runner whose end is its end."""

    def __init__(self, seam: Any, runner: DurableRunner) -> None:
        self._seam = seam
        self._runner = runner

    def _look(self) -> None:
        if self._runner.stopped:
            raise StoppedError("the run was stopped")


class _Provider(_Seam):
    """A provider until the run is stopped."""

    @property
    def model(self) -> str:
        return str(self._seam.model)

    def stream(
        self, messages: Sequence[Message], tools: Sequence[ToolDefinition], options: Mapping[str, Any]
    ) -> AsyncIterator[Chunk]:
        chunks: AsyncIterator[Chunk]
        chunks = self._nothing() if self._runner.stopped else self._seam.stream(messages, tools, options)
        return chunks

    async def _nothing(self) -> AsyncIterator[Chunk]:
        """Raises where it is read: a loop may expect a provider's errors there alone."""
        chunks: tuple[Chunk, ...] = ()
        self._look()
        for chunk in chunks:
            yield chunk


class _Tools(_Seam):
    """Tools until the run is stopped."""

    def definitions(self) -> Sequence[ToolDefinition]:
        known: Sequence[ToolDefinition] = self._seam.definitions()
        return known

    async def call(self, call: ToolCall) -> ToolResult:
        self._look()
        result: ToolResult = await self._seam.call(call)
        return result


class _Gate(_Seam):
    """A gate until the run is stopped."""

    async def decide(self, call: ToolCall, context: CallContext) -> Verdict:
        self._look()
        verdict: Verdict = await self._seam.decide(call, context)
        return verdict
