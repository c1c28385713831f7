"""An agent loop for OpenAI-compatible servers, in the standard library alone: a client for `looptck serve-model`.

It reads the scenario that it is to run from the file in LOOPTCK_SCENARIO: the input, the system prompt, the cap, and
what its tools answer. The server is that of OPENAI_BASE_URL.
"""

# ruff: noqa: S310, T201 - the address is that of the kit; what it prints is its point

from __future__ import annotations

import json
import os
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

Messages = list[dict[str, Any]]


def main(sent: Callable[[Messages], Messages] = list) -> int:
    """Run the first invocation of the scenario. `sent` is what of the messages goes into a request."""
    scenario = json.loads(Path(os.environ["LOOPTCK_SCENARIO"]).read_text(encoding="utf-8"))
    options, invocation = scenario.get("options", {}), scenario["invocations"][0]
    calls = [call for turn in invocation["turns"] for call in turn.get("calls", ())]
    answers = {call["id"]: call.get("answer", "ok") for call in calls}
    tools = [tool(name) for name in dict.fromkeys(call["name"] for call in calls)]
    messages: Messages = [
        {"role": said.get("role", "user"), "content": said["content"]} for said in invocation["messages"]
    ]
    if options.get("system") and messages[0]["role"] != "system":
        messages.insert(0, {"role": "system", "content": options["system"]})
    for _ in range(options.get("max_iter", 8)):
        reply = ask(sent(messages), tools)
        messages.append(reply)
        if not reply.get("tool_calls"):
            print(reply["content"])
            return 0
        for call in reply["tool_calls"]:
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": answers[call["id"]]})
    print("the iteration cap was reached")
    return 0


def tool(name: str) -> dict[str, Any]:
    """The definition of a tool that takes any object."""
    return {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": {}}}}


def ask(messages: Messages, tools: list[dict[str, Any]]) -> dict[str, Any]:
    """One model call: the assistant message that comes back."""
    body: dict[str, Any] = {"model": "any", "messages": messages} | ({"tools": tools} if tools else {})
    request = urllib.request.Request(
        os.environ["OPENAI_BASE_URL"] + "/chat/completions",
        json.dumps(body).encode(),
        {"content-type": "application/json", "authorization": f"Bearer {os.environ['OPENAI_API_KEY']}"},
    )
    with urllib.request.urlopen(request) as response:
        message: dict[str, Any] = json.load(response)["choices"][0]["message"]
    return message


if __name__ == "__main__":
    sys.exit(main())
