"""A model of the framework whose replies come from a provider of the contract."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.messages import ModelMessage, ModelResponse, ModelResponseStreamEvent
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition as FrameworkTool
from pydantic_ai.usage import RequestUsage

from looptck.adapters.pydantic_ai.messages import from_framework, parts_of
from looptck.contract.ag03 import (
    Accumulator,
    CallChunk,
    Chunk,
    Provider,
    TextChunk,
    ToolDefinition,
    Usage,
    UsageChunk,
)

SYSTEM = "looptck"
"""What the framework is told as the name of the model's maker."""


class ProviderModel(Model[None]):
    """The framework's interface of a model over a provider: asked once for each request, whole or streamed.

    Whatever the provider raises leaves `request`, or the reading of the stream, as it is.
    """

    def __init__(self, provider: Provider) -> None:
        super().__init__(profile=ModelProfile(supports_inline_system_prompts=True))
        self._source = provider

    @property
    def model_name(self) -> str:
        """The provider's model."""
        return self._source.model

    @property
    def system(self) -> str:
        """See `SYSTEM`."""
        return SYSTEM

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """Ask for a reply and wait for all of it."""
        settings, parameters = self.prepare_request(model_settings, model_request_parameters)
        whole = Accumulator()
        async for chunk in self._ask(messages, settings, parameters):
            whole.add(chunk)
        parts = parts_of(whole.message())
        return ModelResponse(parts=parts, usage=usage_of(whole.usage()), model_name=self.model_name)

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,  # noqa: ARG002 - the framework's interface
    ) -> AsyncGenerator[StreamedResponse]:
        """Ask for a reply that is read piece by piece; what is left unread when the context ends is closed."""
        settings, parameters = self.prepare_request(model_settings, model_request_parameters)
        chunks = self._ask(messages, settings, parameters)
        try:
            yield StreamedReply(parameters, chunks, self.model_name)
        finally:
            if isinstance(chunks, AsyncGenerator):
                await chunks.aclose()

    def _ask(
        self, messages: list[ModelMessage], settings: ModelSettings | None, parameters: ModelRequestParameters
    ) -> AsyncIterator[Chunk]:
        tools = [definition(tool) for tool in parameters.declared_function_tools]
        return self._source.stream(from_framework(messages), tools, dict(settings or {}))


@dataclass
class StreamedReply(StreamedResponse):
    """A reply while it arrives: chunks of the contract in, events of the framework out."""

    chunks: AsyncIterator[Chunk]
    name: str
    began: datetime = field(default_factory=lambda: datetime.now(UTC))

    async def _get_event_iterator(self) -> AsyncIterator[ModelResponseStreamEvent]:
        parts = self._parts_manager
        async for chunk in self.chunks:
            if isinstance(chunk, TextChunk):
                for event in parts.handle_text_delta(vendor_part_id="text", content=chunk.text):
                    yield event
            elif isinstance(chunk, CallChunk):
                for event in parts.handle_tool_call_delta_events(
                    vendor_part_id=chunk.index,
                    tool_name=chunk.name or None,
                    args=chunk.arguments or None,
                    tool_call_id=chunk.id or None,
                ):
                    yield event
            elif isinstance(chunk, UsageChunk):
                self._usage = usage_of(chunk.usage)  # a total, as the contract reports it

    @property
    def model_name(self) -> str:
        """The provider's model."""
        return self.name

    @property
    def provider_name(self) -> str | None:
        """There is none: the provider is the kit's own."""
        return None

    @property
    def provider_url(self) -> str | None:
        """There is none."""
        return None

    @property
    def timestamp(self) -> datetime:
        """When the reply began."""
        return self.began


def usage_of(usage: Usage) -> RequestUsage:
    """Tokens of one model call."""
    return RequestUsage(input_tokens=usage.input_tokens, output_tokens=usage.output_tokens)


def definition(tool: FrameworkTool) -> ToolDefinition:
    """A tool as the model is told of it."""
    return ToolDefinition(tool.name, tool.description or "", tool.parameters_json_schema)
