"""A tracer of OpenTelemetry's SDK that keeps every span, ended or not, whatever the environment says."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING
from unittest import mock

from opentelemetry import trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Span, SpanLimits, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_ON

from looptck.observation import SpanSeen
from looptck.observe import normal

if TYPE_CHECKING:
    from collections.abc import Callable

    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import ReadableSpan


class SpanLog(SpanProcessor):
    """Keeps the spans of one run in the order they started. `position` tells how long the log of the fakes is now."""

    def __init__(self, position: Callable[[], int]) -> None:
        self._position = position
        self._spans: list[Span] = []
        self._numbers: dict[int, str] = {}
        self._began: dict[int, int] = {}
        self._finished: dict[int, int] = {}
        with _no_settings():
            provider = TracerProvider(
                sampler=ALWAYS_ON, resource=Resource.get_empty(), shutdown_on_exit=False, span_limits=SpanLimits()
            )
            provider.add_span_processor(self)
            self.tracer = provider.get_tracer("looptck")

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:  # noqa: ARG002 - the SDK's hook
        """Keep the span from its start: one that never ends must be seen too."""
        self._spans.append(span)
        self._numbers[_id(span)] = str(len(self._spans))
        self._began[_id(span)] = self._position()

    def on_end(self, span: ReadableSpan) -> None:
        """Note where in the log it ended. The SDK tells of each span once, whatever the loop calls."""
        context = span.context
        if context is not None:  # the SDK's own spans always have one
            self._finished[context.span_id] = self._position()

    def current(self) -> str | None:
        """Id of the current span, in the form of `SpanSeen.id`; None where there is none of this log."""
        return self._numbers.get(_id(trace.get_current_span()))

    def seen(self) -> tuple[SpanSeen, ...]:
        """Every span so far. Their ids are numbers in the order they started, so that equal runs look equal."""
        return tuple(self._seen(span) for span in self._spans)

    def _seen(self, span: Span) -> SpanSeen:
        parent = span.parent.span_id if span.parent is not None else 0
        return SpanSeen(
            id=self._numbers[_id(span)],
            parent=self._numbers.get(parent, "elsewhere") if parent else "",
            name=normal.text(span.name),
            kind=normal.text(getattr(span.kind, "name", span.kind)),  # a loop may give anything as the kind
            attributes={normal.text(key): normal.plain(value) for key, value in (span.attributes or {}).items()},
            status=span.status.status_code.name,
            ended=span.end_time is not None,
            began=self._began[_id(span)],
            finished=self._finished.get(_id(span)),
        )


def _no_settings() -> AbstractContextManager[object]:
    """Without the user's settings for OpenTelemetry, which must not switch our tracer off."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    return nullcontext() if len(ours) == len(os.environ) else mock.patch.dict(os.environ, ours, clear=True)


def _id(span: trace.Span) -> int:
    return span.get_span_context().span_id
