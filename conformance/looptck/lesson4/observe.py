"""Runs one scenario of the profile lesson4 against one loop in this process and records what it did.

The loop is synchronous, so there is nothing to watch: a loop without an end is ended by the fake model, which raises
when it is asked beyond its script, and one that spins by the real-time limit of the process around it.
"""

from __future__ import annotations

import copy
import json
import math
import numbers
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from looptck.adapter import NoInterfaceError, told
from looptck.contract.lesson4 import FatalToolError, ToolCall, ToolError
from looptck.lesson4.adapter import Agents
from looptck.lesson4.observation import MessageSeen, Observation, RequestSeen, RunSeen, StepSeen
from looptck.lesson4.spans import SpanLog
from looptck.observe.normal import count, get, is_a, many, plain, text
from looptck_fakes.lesson4 import Denied, FakeModel, FakeRegistry, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from looptck.lesson4.adapter import Adapter
    from looptck.lesson4.scenario import Ask, Scenario, Task


_NEVER_ASKED = "never_asked"
"""The name of a tool that no scenario knows."""
_sorted = json.JSONEncoder(sort_keys=True, default=str, ensure_ascii=False).encode
_in_order = json.JSONEncoder(default=str, ensure_ascii=False).encode


class ScriptedModelError(Exception):
    """An error that the scenario made the model raise."""


def observe_here(adapter: Adapter, scenario: Scenario) -> Observation:
    """Observe in this process. Raises `NoInterfaceError` where the loop offers nothing to run."""
    rig = _Rig(scenario)
    agents = Agents(rig.options, rig.budget)
    try:
        costs = tuple(adapter.cost(agents, *tokens) for tokens in scenario.costs)
    except NoInterfaceError:
        raise
    except Exception:  # noqa: BLE001 - the loop's affair: the check of what its meter says finds nothing
        costs = ()
    try:
        agent = adapter.build(agents)
    except NoInterfaceError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever the loop raises is an observation
        if scenario.refusable:
            return Observation(scenario.name, refused=text(told(error)))
        return Observation(scenario.name, died=text(f"the loop could not be built: {told(error)}"))
    made = []
    for number, task in enumerate(scenario.runs):
        rig.begin(task)
        made.append(_run(adapter, agent, rig, number))
    runs = [_once_more(seen, run, scenario) for seen, run in made]
    return Observation(scenario.name, tuple(runs), rig.spans.seen(), costs)


class _Rig:
    """The fakes of a scenario. Model and registry are the same for all runs and are given each run's script."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.spans = SpanLog(self._asked)
        self._before = 0
        self.model = FakeModel([])
        asks = {ask.name: ask for ask in scenario.asks()}
        known = (
            {name: self._outcome for name, ask in asks.items() if ask.outcome != "unknown"} if scenario.tools else {}
        )
        self._asks = {(ask.id, ask.name): ask for ask in scenario.asks()}
        self.registry = FakeRegistry(known)
        given = {
            "system": scenario.system,
            "max_output_tokens": scenario.max_output_tokens,
            "temperature": scenario.temperature,
            "tracer": self.spans if scenario.tracer else None,
        }
        self.options = {"model": self, "registry": self.registry}
        self.options |= {name: value for name, value in given.items() if value is not None}
        self.budget = scenario.meter.model_dump(exclude_none=True) if scenario.meter is not None else None

    def complete(self, *args: Any, **kwargs: Any) -> Any:
        """The model as the loop sees it, across runs."""
        return self.model.complete(*args, **kwargs)

    def _asked(self) -> int:
        """How much model and registry have been asked in all runs."""
        return self._before + len(self.model.calls) + len(self.registry.dispatched)

    def begin(self, task: Task) -> None:
        """Load the script of the next run."""
        self._before = self._asked()
        self.model = FakeModel(
            [ScriptedModelError(r.error) if r.error is not None else r.completion() for r in task.replies]
        )
        self.registry.dispatched.clear()

    def _outcome(self, call: ToolCall) -> Outcome:
        ask: Ask | None = self._asks.get((call.id, call.name))
        if ask is None or ask.outcome == "unknown":
            return ToolError(f"no such call in the scenario: {call}")
        if ask.outcome == "denied":
            return Denied(ask.answer)
        if ask.outcome == "failed":
            return ToolError(ask.answer)
        if ask.outcome == "fatal":
            return FatalToolError(ask.answer)
        return ask.answer


def _once_more(seen: RunSeen, run: Any, scenario: Scenario) -> RunSeen:
    """A run as it was seen, and whether it is still the same now that all runs are made."""
    if seen.status != "returned":
        return seen
    now = replace(seen, **_returned(run, asked_about(scenario)))
    return replace(seen, kept=now == seen)


def _run(adapter: Adapter, agent: Any, rig: _Rig, number: int) -> tuple[RunSeen, Any]:
    task = rig.scenario.runs[number]
    history = None if task.history is None else [dict(message) for message in task.history]
    before = copy.deepcopy(history)
    fields: dict[str, Any]
    run: Any = None
    try:
        run = adapter.run(agent, task.task, history)
    except Exception as error:  # noqa: BLE001 - whatever the loop raises is an observation
        fields = {"status": "raised", "raised": text(told(error))}
    else:
        fields = {"status": "returned"} | _returned(run, asked_about(rig.scenario))
    seen = RunSeen(
        requests=tuple(_request(call) for call in rig.model.calls),
        dispatched=tuple(call_line(call) for call in rig.registry.dispatched),
        history_untouched=history == before,
        **fields,
    )
    return seen, run


def _returned(run: Any, names: Sequence[str]) -> dict[str, Any]:
    """What a finished run says of itself, and of these tools; what it does not offer is a problem, not an error."""
    problems: list[str] = []
    missing: list[str] = []

    def ask(name: str, *args: Any, call: bool = False) -> Any:
        try:
            value = getattr(run, name)
        except Exception as error:  # noqa: BLE001 - see above
            if isinstance(error, AttributeError) and get(type(run), name) is None:
                missing.append(name)
            else:  # a property of that name, in which something raises
                problems.append(text(f"{name} raised {told(error)}"))
            return None
        try:
            return value(*args) if call else value
        except Exception as error:  # noqa: BLE001 - see above
            problems.append(text(f"{name}() raised {told(error)}"))
        return None

    stop, ok = ask("stop"), ask("ok")
    return {
        "stop": text(get(stop, "value", stop)),
        "stop_is_text": is_a(stop, str) and is_a(get(stop, "value"), str),
        "ok": ok if is_a(ok, bool) else None,
        "output": text(ask("output")),
        "steps": tuple(_step(step) for step in many(ask("steps"))),
        "step_count": count(ask("step_count")),
        "messages": tuple(message(item) for item in many(ask("messages"))),
        "input_tokens": count(ask("input_tokens")),
        "output_tokens": count(ask("output_tokens")),
        "cost": _number(ask("cost"), -1.0),
        "requested": _names(ask("requested_tools", call=True)),
        "trajectory": _names(ask("trajectory", call=True)),
        "blocked": _names(ask("blocked_tools", call=True)),
        "used_tool": {name: plain(ask("used_tool", name, call=True)) for name in names},
        "requested_tool": {name: plain(ask("requested_tool", name, call=True)) for name in names},
        "problems": tuple(dict.fromkeys(problems + _missing(run, missing))),
    }


def asked_about(scenario: Scenario) -> list[str]:
    """The tools that a run is asked about, each once: those that the model asks for, and some that it does not."""
    tools = list(dict.fromkeys(ask.name for ask in scenario.asks()))
    return tools + never_asked(tools)


def never_asked(tools: Sequence[str]) -> list[str]:
    """Names that a run is asked about beside its tools: one of no tool at all, and those of its tools cut short."""
    return [name for name in (_NEVER_ASKED, *(tool[:-1] for tool in tools)) if name not in tools]


def _number(value: Any, otherwise: Any) -> Any:
    """A finite number as a float, of any kind of number; `otherwise` for anything else."""
    try:
        number = float(value) if is_a(value, (numbers.Real, Decimal)) else math.nan
    except (ArithmeticError, ValueError):  # too large for a float, or a decimal that signals
        return otherwise
    return number if math.isfinite(number) else otherwise


def _missing(run: Any, names: list[str]) -> list[str]:
    """One line for everything that a run does not have."""
    what = ", ".join(dict.fromkeys(names))
    return [f"run() returned a {type(run).__name__}, which has no {what}"] if names else []


def _step(step: Any) -> StepSeen:
    lists = (_names(get(step, name)) for name in ("requested_names", "succeeded_names", "blocked_names"))
    results = tuple(
        f"{text(get(r, 'tool_call_id'))} {get(r, 'ok') is True} {text(get(r, 'content'))}"
        for r in many(get(step, "tool_results"))
    )
    return StepSeen(count(get(step, "index")), text(get(get(step, "completion"), "text")), results, *lists)


def _item(value: Mapping[str, Any], name: str) -> Any:
    """An item of a mapping; None where it is missing or cannot be read."""
    try:
        return value.get(name)
    except Exception:  # noqa: BLE001 - a mapping of the loop's own may raise anything
        return None


def _names(value: Any) -> tuple[str, ...]:
    return tuple(text(name) for name in many(value))


def message(value: Any) -> MessageSeen:
    """A message that was sent or kept, whether a mapping or an object."""
    part = _item if is_a(value, Mapping) else get
    calls = tuple(_proposed(call) for call in many(part(value, "tool_calls")))
    role, content = text(part(value, "role") or ""), text(part(value, "content") or "")
    return MessageSeen(role, content, text(part(value, "tool_call_id") or ""), calls)


def _proposed(call: Any) -> str:
    if not is_a(call, Mapping):
        return f"{text(get(call, 'id'))} = {text(get(call, 'name'))}"
    function = _item(call, "function")
    name = _item(function if is_a(function, Mapping) else call, "name")
    return f"{text(_item(call, 'id'))} = {text(name)}"


def _request(call: Mapping[str, Any]) -> RequestSeen:
    tools, temperature = call["tools"], call["temperature"]
    return RequestSeen(
        messages=tuple(message(item) for item in call["messages"]),
        tools=None if tools is None else tuple(_tool_name(tool) for tool in many(tools)),
        max_output_tokens=count(call["max_output_tokens"]) if call["max_output_tokens"] is not None else None,
        temperature=_number(temperature, None),
    )


def _tool_name(tool: Any) -> str:
    if not is_a(tool, Mapping):
        return text(tool)
    function = _item(tool, "function")  # some wrap a schema for the wire; it is the same tool
    return text(_item(function if is_a(function, Mapping) else tool, "name"))


def call_line(call: ToolCall) -> str:
    """A dispatched call as `id = name(arguments)`, the arguments with sorted keys."""
    return _line(call, _sorted)


def written_line(call: ToolCall) -> str:
    """The same to be shown, its keys in the order in which they were written."""
    return _line(call, _in_order)


def _line(call: ToolCall, write: Callable[[Any], str]) -> str:
    try:
        arguments = write(dict(call.arguments))
    except Exception:  # noqa: BLE001 - keys that cannot be sorted, values that cannot be shown: no call of the scenario
        arguments = text(call.arguments)
    return text(f"{call.id} = {call.name}({arguments})")
