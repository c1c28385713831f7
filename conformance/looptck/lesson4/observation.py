"""An observation of the profile lesson4: what the fakes were asked, and what each run gave back, as plain data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from looptck.wire import json_of


@dataclass(frozen=True, slots=True)
class MessageSeen:
    """A message by its parts; calls as `id = name`."""

    role: str
    content: str
    tool_call_id: str = ""
    calls: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RequestSeen:
    """One model call. `tools` are their names; None where the request had none at all."""

    messages: tuple[MessageSeen, ...]
    tools: tuple[str, ...] | None
    max_output_tokens: int | None
    temperature: float | None


@dataclass(frozen=True, slots=True)
class StepSeen:
    """A step of a run: its reply's text, the results of its tools as lines, and its three lists."""

    index: int
    text: str
    results: tuple[str, ...]
    requested: tuple[str, ...]
    succeeded: tuple[str, ...]
    blocked: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RunSeen:
    """How one run went. `raised` names the error where it did not return.

    `used_tool` and `requested_tool` hold what these say of each tool, `kept` tells whether the run is still the same
    when all runs are made, `problems` what it did not offer.
    """

    status: Literal["returned", "raised"]
    requests: tuple[RequestSeen, ...]
    dispatched: tuple[str, ...]
    raised: str = ""
    stop: str = ""
    stop_is_text: bool = False
    ok: bool | None = None
    output: str = ""
    steps: tuple[StepSeen, ...] = ()
    step_count: int = -1
    messages: tuple[MessageSeen, ...] = ()
    input_tokens: int = -1
    output_tokens: int = -1
    cost: float = -1.0
    requested: tuple[str, ...] = ()
    trajectory: tuple[str, ...] = ()
    blocked: tuple[str, ...] = ()
    used_tool: dict[str, Any] | None = None
    requested_tool: dict[str, Any] | None = None
    history_untouched: bool = True
    kept: bool = False
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SpanSeen:
    """A span by name and attributes.

    `began` and `finished` are the numbers of model calls and dispatches before it, over all runs; None where that is
    not known, or not yet. They make no difference between two observations.
    """

    name: str
    attributes: dict[str, Any]
    ended: bool
    began: int | None = field(default=None, compare=False)
    finished: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Observation:
    """Everything seen in one scenario; `died`, `blame` and `output` as in `looptck.observation.Observation`.

    `refused` is what the loop raised instead of being built, where the scenario lets it: there are no runs then.
    """

    scenario: str
    runs: tuple[RunSeen, ...] = ()
    spans: tuple[SpanSeen, ...] = ()
    costs: tuple[float, ...] = ()
    refused: str | None = None
    died: str | None = None
    blame: Literal["loop", "limit", "target", "kit"] = "loop"
    output: str = field(default="", compare=False)


to_json, from_json = json_of(Observation)
