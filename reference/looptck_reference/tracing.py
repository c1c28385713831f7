"""The spans of section 2.7, or nothing at all where no tracer was given.

OpenTelemetry's API is imported only with a tracer, so a loop without one pays for neither spans nor import.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from looptck.contract import ag03

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer

SpanContext = AbstractContextManager[Any]
_NOTHING: SpanContext = nullcontext()


class Tracing:
    """Opens the spans of one agent. Every method returns a context manager that yields a `Span`, or None."""

    def __init__(self, tracer: Tracer | None, agent: str, model: str) -> None:
        self._tracer = tracer
        self._agent = agent
        self._model = model

    def run(self) -> SpanContext:
        """The span of the whole run."""
        return self._span(ag03.SPAN_RUN, {ag03.AGENT_NAME: self._agent})

    def llm_call(self) -> SpanContext:
        """The span of one model call."""
        return self._span(ag03.SPAN_LLM, {ag03.REQUEST_MODEL: self._model}, client=True)

    def tool(self, name: str) -> SpanContext:
        """The span of one tool call; it is the current span while the tool runs."""
        return self._span(ag03.tool_span(name), {ag03.TOOL_NAME: name})

    def tool_not_run(self, name: str, outcome: str) -> None:
        """The span of a call that the gate kept from running."""
        with self.tool(name) as span:
            set_attribute(span, ag03.OUTCOME, outcome)

    def _span(self, name: str, attributes: dict[str, str], *, client: bool = False) -> SpanContext:
        if self._tracer is None:
            return _NOTHING
        from opentelemetry.trace import SpanKind  # noqa: PLC0415 - see the module's docstring

        kind = SpanKind.CLIENT if client else SpanKind.INTERNAL
        return self._tracer.start_as_current_span(name, kind=kind, attributes=attributes)


def set_attribute(span: Span | None, key: str, value: str | int) -> None:
    """Set an attribute where there is a span."""
    if span is not None:
        span.set_attribute(key, value)
