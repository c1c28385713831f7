"""A tracer of OpenTelemetry's SDK that keeps every span, ended or not, whatever the environment says."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING
from unittest import mock

from opentelemetry import trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanLimits, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_ON

from looptck.observation import SpanSeen
from looptck.observe import normal

if TYPE_CHECKING:
    from opentelemetry.context import Context


class SpanLog(SpanProcessor):
    """Keeps the spans of one run in the order they started."""

    def __init__(self) -> None:
        self._spans: list[Span] = []
        ours = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
        with mock.patch.dict(
            os.environ, ours, clear=True
        ):  # a user's settings must not switch the kit's own tracer off
            provider = TracerProvider(
                sampler=ALWAYS_ON, resource=Resource.get_empty(), shutdown_on_exit=False, span_limits=SpanLimits()
            )
            provider.add_span_processor(self)
            self.tracer = provider.get_tracer("looptck")

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:  # noqa: ARG002 - the SDK's hook
        """Keep the span from its start: one that never ends must be seen too."""
        self._spans.append(span)

    def seen(self) -> tuple[SpanSeen, ...]:
        """Every span so far."""
        return tuple(_seen(span) for span in self._spans)


def current_span_id() -> str | None:
    """Id of the current span, in the form of `SpanSeen.id`; None where there is none."""
    context = trace.get_current_span().get_span_context()
    return _hex(context.span_id) if context.is_valid else None


def _seen(span: ReadableSpan) -> SpanSeen:
    context = span.get_span_context()
    assert context is not None, "a span of the SDK has a context"  # noqa: S101 - narrows the type
    return SpanSeen(
        id=_hex(context.span_id),
        parent=_hex(span.parent.span_id) if span.parent is not None else "",
        name=normal.text(span.name),
        kind=span.kind.name,
        attributes={normal.text(key): normal.plain(value) for key, value in (span.attributes or {}).items()},
        status=span.status.status_code.name,
        ended=span.end_time is not None,
    )


def _hex(span_id: int) -> str:
    return format(span_id, "016x")
