"""What is said while a scenario is served: one JSON object for the start and one for each request. Pure."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from looptck.report.text import one_line
from looptck.serve.report import SERVE_SCHEMA

if TYPE_CHECKING:
    from collections.abc import Sequence

    from looptck.scenario import Scenario, Turn
    from looptck.serve.messages import Asked

API_KEY = "looptck"
"""Any key will do; clients want one."""
_LONGEST = 200


def serving(scenario: Scenario, urls: Sequence[str]) -> dict[str, Any]:
    """The first line: where to ask. Each invocation of the scenario has a base URL of its own, in their order."""
    return {
        "type": "serving",
        "schema": SERVE_SCHEMA,
        "scenario": scenario.name,
        "base_url": urls[0],
        "base_urls": list(urls),
        "api_key": API_KEY,
    }


def request(number: int, invocation: int, asked: Asked | None, turn: Turn | None) -> dict[str, Any]:
    """A request as it came, None for what is none, and the reply in short. `messages` is null where it is refused.

    `number` counts all requests and `invocation` those of the scenario, both from 1. `turn` is None where the script
    has no reply left.
    """
    body = asked.body if asked is not None else {}
    return {
        "type": "request",
        "number": number,
        "invocation": invocation,
        "model": body.get("model"),
        "stream": asked.stream if asked is not None else False,
        "messages": body.get("messages"),
        "tools": list(asked.tools) if asked is not None else [],
        "beyond_script": asked is not None and turn is None,
        "answer": answer(turn) if asked is not None else "status 400: no chat completion request",
    }


def answer(turn: Turn | None) -> str:
    """A reply in short."""
    if turn is None:
        return "status 400: the script has no reply left"
    if turn.status is not None:
        return f"status {turn.status}"
    said = [json.dumps("".join(turn.text), ensure_ascii=False)] if turn.text else []
    said += [f"{call.id} = {call.name}({call.arguments})" for call in turn.calls]
    text = ", ".join(said) or '""'
    if turn.error is not None:
        text = f"error {turn.error_at} the reply: {turn.error}"
    cut = "" if turn.cut_after is None else f"cut off after {turn.cut_after} events: "
    return cut + (text if len(text) <= _LONGEST else text[:_LONGEST] + "…")


def told(line: dict[str, Any]) -> str:
    """The same line for people."""
    if line["type"] == "serving":
        others = [f"invocation {place}: {url}" for place, url in enumerate(line["base_urls"], 1)]
        place = "; ".join(others) if len(others) > 1 else line["base_url"]
        return one_line(f"serving {line['scenario']} at {place}")
    roles = [str(node.get("role")) if isinstance(node, dict) else "?" for node in line["messages"] or ()]
    return one_line(f"request {line['number']}: {', '.join(roles) or 'nothing'} -> {line['answer']}")
