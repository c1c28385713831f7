"""Correct loops pass whatever dialect their client speaks."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from tests.conformance.serve_asking import (
    ANSWER,
    LYON,
    PARIS,
    QUESTION,
    TWO,
    Messages,
    body,
    failed,
    judged,
    requests,
    scenario,
)

from looptck.canonical import canonical
from looptck.scenario import Call, Turn
from looptck.serve.messages import read
from looptck_fakes.model_app import _chat_request

Change = Callable[[dict[str, Any]], dict[str, Any]]


def each(change: Change) -> Callable[[Messages], Messages]:
    return lambda messages: [change(message) for message in messages]


def with_parts(message: dict[str, Any]) -> dict[str, Any]:
    text = message["content"]
    cut = [] if text is None else [{"type": "text", "text": text[:3]}, {"type": "text", "text": text[3:]}]
    return message | {"content": cut}


def without_content(message: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in message.items() if key != "content" or value is not None}


def with_empty_text(message: dict[str, Any]) -> dict[str, Any]:
    return message | {"content": message["content"] or ""}


def as_developer(message: dict[str, Any]) -> dict[str, Any]:
    return message | ({"role": "developer"} if message["role"] == "system" else {})


def with_extra_keys(message: dict[str, Any]) -> dict[str, Any]:
    return message | {"name": "somebody", "refusal": None, "annotations": [], "audio": None, "function_call": None}


def without_calls_as_null(message: dict[str, Any]) -> dict[str, Any]:
    return {"tool_calls": None} | message


def with_arguments(write: Callable[[Any], Any]) -> Change:
    def change(message: dict[str, Any]) -> dict[str, Any]:
        for call in message.get("tool_calls", ()):
            call["function"]["arguments"] = write(json.loads(call["function"]["arguments"]))
        return message

    return change


DIALECTS: dict[str, Change] = {
    "as they come": lambda message: message,
    "lists of parts": with_parts,
    "no content": without_content,
    "empty content": with_empty_text,
    "developer": as_developer,
    "extra keys": with_extra_keys,
    "null calls": without_calls_as_null,
    "arguments written anew": with_arguments(lambda value: json.dumps(value, indent=2)),
    "arguments parsed": with_arguments(lambda value: value),
}


@pytest.mark.parametrize("change", DIALECTS.values(), ids=DIALECTS)
def test_a_correct_loop_passes_in_every_dialect(change: Change) -> None:
    given = scenario(system="Be brief.")
    report = judged(given, requests(given, sent=each(change)))
    assert (report.verdict, failed(report)) == ("pass", [])
    assert {"requests/proposing-turn", "requests/system-once", "requests/tool-answers"} <= set(report.passed)


@pytest.mark.parametrize(
    "fields",
    [{"stream": True}, {"stream": False}, {"parallel_tool_calls": False, "tool_choice": "auto", "store": None}],
    ids=["stream", "no stream", "more fields"],
)
def test_the_other_fields_of_a_request_are_the_clients_own(fields: dict[str, Any]) -> None:
    assert failed(judged(scenario(), requests(scenario(), **fields))) == []


def test_call_options_may_have_the_other_name_of_two() -> None:
    given = scenario(call_options={"max_tokens": 7, "temperature": 0})
    assert failed(judged(given, requests(given, max_completion_tokens=7, temperature=0))) == []
    assert failed(judged(given, requests(given, max_completion_tokens=8, temperature=0))) == ["options"]
    assert failed(judged(given, requests(given))) == ["options"]


def test_arguments_are_compared_as_json_values() -> None:
    assert canonical('{"a": 1.0, "b":[1e2]}') == canonical('{ "b": [100], "a": 1 }')
    assert len({canonical(text) for text in ("1", "true", '"1"', "1.5", "[1]", "{", "")}) == 7
    assert canonical("[" * 100_000) == "[" * 100_000


def test_the_arguments_of_a_malformed_call_may_be_mended_but_that_is_noted() -> None:
    given = scenario(Turn(calls=(Call(id="c", name="get_weather", arguments='{"city": '),)), ANSWER)
    kept = requests(given)
    mended = [raw.replace(json.dumps('{"city": ').encode(), b'"{}"') for raw in kept]
    assert mended != kept
    assert failed(judged(given, kept)) == []
    report = judged(given, mended)
    assert (report.verdict, failed(report)) == ("pass", ["malformed-arguments"])


def test_calls_that_share_an_id_are_noted_and_no_more() -> None:
    twin = LYON.model_copy(update={"id": PARIS.id})
    given = scenario(Turn(calls=(PARIS, twin)), ANSWER)
    assert failed(judged(given, requests(given))) == []
    first, second = requests(given)
    merged = json.loads(second)["messages"][:-1]
    report = judged(given, [first, body(merged)])
    assert (report.verdict, failed(report)) == ("pass", ["duplicate-ids"])


def test_tools_that_answer_otherwise_are_noted_and_no_more() -> None:
    given = scenario()
    report = judged(given, [raw.replace(b"rain, 12 C", b"snow") for raw in requests(given)])
    assert (report.verdict, failed(report)) == ("pass", ["tool-answers"])


@pytest.mark.parametrize("arguments", ['{"city": ', "", "null"])
def test_whoever_answers_arguments_that_are_no_json_object_itself_is_told_nothing(arguments: str) -> None:
    broken = LYON.model_copy(update={"arguments": arguments})
    given = scenario(Turn(calls=(PARIS, broken)), ANSWER)
    report = judged(given, [raw.replace(b"rain, 12 C", b"not a JSON object") for raw in requests(given)])
    assert (report.verdict, failed(report)) == ("pass", [])
    assert "requests/tool-answers" in report.passed


def test_a_failed_tools_text_may_stand_behind_a_prefix() -> None:
    broken = PARIS.model_copy(update={"answer": "no such city", "is_error": True})
    given = scenario(Turn(calls=(broken,)), ANSWER)
    assert (
        failed(judged(given, [raw.replace(b"no such city", b"error: no such city") for raw in requests(given)])) == []
    )


def test_a_client_may_ask_its_own_question_where_it_is_said_so() -> None:
    given = scenario()
    asked = [raw.replace(QUESTION.content.encode(), b"What is new?") for raw in requests(given)]
    assert failed(judged(given, asked)) == ["input"]
    report = judged(given, asked, own_input=True)
    assert (report.verdict, failed(report)) == ("pass", [])
    assert report.skipped["requests/input"] == "the client asks a question of its own"


@pytest.mark.parametrize(
    "node",
    [None, 7, "text", [], {}, {"role": None}, {"role": "assistant", "tool_calls": [None, {"function": 3}, {}]}]
    + [{"role": "user", "content": content} for content in (7, {"a": 1}, [None, "x", {"type": "image_url"}, ["y"]])],
)
def test_a_message_may_be_anything(node: Any) -> None:
    first, *_ = requests(scenario())
    report = judged(scenario(), [first, body([node, {"role": "tool"}]), body([])])
    assert report.verdict == "fail"
    assert [finding.id for finding in report.findings if finding.verdict == "fault"] == []


@pytest.mark.parametrize(
    "raw",
    [
        *(b"", b"{", b"[]", b"{}", b'{"model":"m"}', b'{"messages":[]}', b'{"model":1,"messages":[]}', b"[" * 100_000),
        *(
            b'{"model":"m","messages":{}}',
            b'{"model":"m","messages":[]}',
            b'{"model":"m","messages":[],"tools":[1,{}]}',
        ),
    ],
)
def test_what_the_server_refuses_is_no_request(raw: bytes) -> None:
    assert (read(raw) is None) == (_chat_request(raw) is None)


def test_a_turn_is_compared_whole() -> None:
    given = scenario()
    assert failed(judged(given, [raw.replace(b"Let me look.", b"") for raw in requests(given)])) == ["turn-text"]
    other = [raw.replace(b'\\"Lyon\\"', b'\\"Nice\\"') for raw in requests(given)]
    assert (
        TWO.calls[1].arguments.replace("Lyon", "Nice")
        in json.loads(other[1])["messages"][1]["tool_calls"][1]["function"].values()
    )
    assert failed(judged(given, other)) == ["proposing-turn"]
