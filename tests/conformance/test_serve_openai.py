"""The official client of such servers against a served model: a correct loop passes, a wrong one is told."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.conformance.commands import ROOT, command

THREE_TURNS = "TestHandExample/three-turns"

LOOP = """
import json, os, sys
import openai

stream, forgetful = "stream" in sys.argv, "forgetful" in sys.argv
with open(os.environ["LOOPTCK_SCENARIO"]) as file:
    scenario = json.load(file)
run = scenario["invocations"][0]
calls = [call for turn in run["turns"] for call in turn.get("calls", [])]
tools = [{"type": "function", "function": {"name": name, "parameters": {}}} for name in {c["name"]: 0 for c in calls}]
answers = {call["id"]: call["answer"] for call in calls}
client = openai.OpenAI()


def ask(messages):
    fields = {"model": "any", "messages": messages, "tools": tools, **scenario["options"].get("call_options", {})}
    if not stream:
        return client.chat.completions.create(**fields).choices[0].message
    with client.chat.completions.stream(**fields, stream_options={"include_usage": True}) as events:
        return events.get_final_completion().choices[0].message


messages = [{"role": "user", "content": said["content"]} for said in run["messages"]]
while (reply := ask(messages)).tool_calls:
    if not forgetful:
        messages.append(reply)
    for call in reply.tool_calls:
        messages.append({"role": "tool", "tool_call_id": call.id, "content": answers[call.id]})
print(reply.content)
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """The scenario, three replies with text beside calls and calls in fragments, and the loop."""
    folder: Path = tmp_path_factory.mktemp("openai")
    ran = command("scenario", THREE_TURNS, "--seed", "5")
    (folder / "scenario.json").write_text(ran.out, encoding="utf-8")
    (folder / "loop.py").write_text(LOOP, encoding="utf-8")
    return str(folder / "scenario.json"), str(folder / "loop.py")


@pytest.mark.parametrize(
    ("words", "code", "ids"),
    [
        ((), 0, []),
        (("stream",), 0, []),
        (("forgetful",), 1, ["requests/proposing-turn"]),
    ],
    ids=["not streamed", "streamed", "forgetful"],
)
def test_the_official_client(files: tuple[str, str], words: tuple[str, ...], code: int, ids: list[str]) -> None:
    # Over a second each: the client takes that long to be imported.
    ran = command("serve-model", files[0], "--", sys.executable, files[1], *words, folder=ROOT)
    *asked, verdict = [json.loads(line) for line in ran.out.splitlines()]
    assert (ran.code, [finding["id"] for finding in verdict["findings"]]) == (code, ids), ran.err
    found: list[Any] = [line["stream"] for line in asked[1:]]
    assert found == ["stream" in words] * 3
