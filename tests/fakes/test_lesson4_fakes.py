"""The fakes of the profile lesson4: what the model replies and keeps, what the registry answers, what a span shows."""

from __future__ import annotations

import gc
from typing import Any

import pytest

from looptck.contract.lesson4 import (
    Completion,
    FatalToolError,
    Model,
    Registry,
    ToolCall,
    ToolError,
    ToolResult,
    Tracer,
    Usage,
)
from looptck_fakes.lesson4 import Denied, FakeModel, FakeRegistry, FakeTracer, Outcome, Reply, tool_call
from looptck_fakes.provider import ScriptExhaustedError


def dispatch(registry: Registry, name: str, **arguments: Any) -> ToolResult:
    return registry.dispatch(ToolCall("call_7", name, arguments))


def answered(content: str, *, ok: bool) -> ToolResult:
    return ToolResult("call_7", "tool", content, ok=ok)


# ----------------------------------------------------------------------------------------------------------- the model


SEARCH = ToolCall("a", "search", {"q": "x"})


@pytest.mark.parametrize(
    ("reply", "completion"),
    [
        ("done", Completion("done")),
        ("", Completion("")),
        (SEARCH, Completion(tool_calls=(SEARCH,))),
        ([SEARCH, SEARCH], Completion(tool_calls=(SEARCH, SEARCH))),
        (Completion("as it is", (SEARCH,), Usage(3, 4)), Completion("as it is", (SEARCH,), Usage(3, 4))),
    ],
)
def test_the_model_replies_with_what_the_script_says(reply: Reply, completion: Completion) -> None:
    model: Model = FakeModel([reply])
    assert model.complete([]) == completion


def test_the_replies_come_in_the_order_of_the_script() -> None:
    model = FakeModel(["a", "b", "c"])
    assert [model.complete([]).text for _ in range(3)] == ["a", "b", "c"]


def test_a_script_is_taken_as_it_was_given() -> None:
    script: list[Reply] = ["a"]
    model = FakeModel(script)
    script[0] = "b"
    assert model.complete([]).text == "a"


def test_an_error_in_the_script_is_raised_and_the_script_goes_on() -> None:
    error = ConnectionError("gone")
    model = FakeModel([error, "done"])
    with pytest.raises(ConnectionError) as caught:
        model.complete([])
    assert caught.value is error
    assert model.complete([]).text == "done"
    assert model.call_count == 2


def test_calls_without_an_id_are_numbered_through_the_whole_script() -> None:
    script: list[Reply] = [
        tool_call("search"),
        [tool_call("search"), tool_call("search", id="mine"), tool_call("search")],
        Completion(tool_calls=(tool_call("search"),)),
    ]
    model = FakeModel(script)
    ids = [[call.id for call in model.complete([]).tool_calls] for _ in script]
    assert ids == [["call_1"], ["call_2", "mine", "call_3"], ["call_4"]]


def test_a_call_for_a_script_has_name_arguments_and_id() -> None:
    assert tool_call("search", {"q": "x"}, id="a") == SEARCH
    assert tool_call("search") == ToolCall("", "search", {})


def test_each_model_call_is_kept_with_all_that_it_was_sent() -> None:
    model = FakeModel(["a", "b"])
    model.complete(
        [{"role": "user", "content": "go"}], tools=[{"name": "search"}], max_output_tokens=9, temperature=0.5
    )
    model.complete([])
    assert model.calls == [
        {
            "messages": [{"role": "user", "content": "go"}],
            "tools": [{"name": "search"}],
            "max_output_tokens": 9,
            "temperature": 0.5,
        },
        {"messages": [], "tools": None, "max_output_tokens": None, "temperature": None},
    ]


def test_what_is_kept_is_a_snapshot() -> None:
    model = FakeModel(["a"])
    message: dict[str, Any] = {"role": "assistant", "tool_calls": [{"id": "a"}]}
    messages, tools = [message], [{"name": "search", "parameters": {"type": "object"}}]
    model.complete(messages, tools=tools)
    message["tool_calls"][0]["id"] = "b"
    messages.append({"role": "tool"})
    tools[0]["parameters"] = {}
    assert model.calls[0]["messages"] == [{"role": "assistant", "tool_calls": [{"id": "a"}]}]
    assert model.calls[0]["tools"] == [{"name": "search", "parameters": {"type": "object"}}]


def test_no_tools_and_an_empty_list_of_them_are_told_apart() -> None:
    model = FakeModel(["a", "b"])
    model.complete([], tools=None)
    model.complete([], tools=[])
    assert [call["tools"] for call in model.calls] == [None, []]


def test_a_model_asked_beyond_its_script_keeps_the_call_and_raises() -> None:
    model = FakeModel(["a"])
    model.complete([])
    for number in (2, 3):
        with pytest.raises(ScriptExhaustedError, match=f"no reply for model call {number}"):
            model.complete([{"role": "user", "content": str(number)}])
    assert [len(call["messages"]) for call in model.calls] == [0, 1, 1]
    assert model.call_count == 3


def test_a_model_that_nobody_asked_has_no_calls() -> None:
    assert (FakeModel(["a"]).calls, FakeModel(["a"]).call_count) == ([], 0)


# -------------------------------------------------------------------------------------------------------- the registry


@pytest.mark.parametrize(
    ("outcome", "result"),
    [
        ("found", answered("found", ok=True)),
        ("", answered("", ok=True)),
        (Denied("not allowed"), answered("denied: not allowed", ok=False)),
        (Denied(), answered("denied: denied", ok=False)),
        (ToolError("no such page"), answered("error: no such page", ok=False)),
        (lambda call: f"{call.id} {call.arguments['q']}", answered("call_7 x", ok=True)),
        (lambda _: Denied("not allowed"), answered("denied: not allowed", ok=False)),
        (lambda _: lambda call: call.name, answered("tool", ok=True)),
    ],
)
def test_the_registry_answers_with_the_outcome_of_the_tool(outcome: Outcome, result: ToolResult) -> None:
    registry: Registry = FakeRegistry({"tool": outcome})
    assert dispatch(registry, "tool", q="x") == result


@pytest.mark.parametrize("through_a_function", [False, True])
def test_a_fatal_error_is_raised(through_a_function: bool) -> None:  # noqa: FBT001
    error = FatalToolError("revoked")
    with pytest.raises(FatalToolError) as caught:
        dispatch(FakeRegistry({"tool": (lambda _: error) if through_a_function else error}), "tool")
    assert caught.value is error


@pytest.mark.parametrize("tools", [{}, {"search": "found"}])
def test_an_unknown_tool_is_a_result_that_is_not_ok(tools: dict[str, Outcome]) -> None:
    assert dispatch(FakeRegistry(tools), "tool") == answered("error: unknown tool tool", ok=False)


def test_there_is_a_schema_for_each_tool_of_the_table() -> None:
    registry = FakeRegistry({"search": "found", "refund": Denied()})
    assert [schema["name"] for schema in registry.schemas()] == ["search", "refund"]
    assert all(schema["parameters"] == {"type": "object"} for schema in registry.schemas())


def test_an_empty_table_has_no_schemas() -> None:
    assert FakeRegistry({}).schemas() == []


def test_the_table_is_taken_as_it_was_given() -> None:
    table: dict[str, Outcome] = {"tool": "found"}
    registry = FakeRegistry(table)
    table["tool"] = "lost"
    assert dispatch(registry, "tool").content == "found"


def test_every_call_is_kept_whatever_became_of_it() -> None:
    registry = FakeRegistry({"ok": "found", "denied": Denied(), "failed": ToolError(), "fatal": FatalToolError()})
    for name in ("ok", "denied", "failed", "unknown"):
        dispatch(registry, name, q=name)
    with pytest.raises(FatalToolError):
        dispatch(registry, "fatal", q="fatal")
    names = ["ok", "denied", "failed", "unknown", "fatal"]
    assert registry.dispatched == [ToolCall("call_7", name, {"q": name}) for name in names]


# ---------------------------------------------------------------------------------------------------------- the tracer


def test_spans_are_kept_in_the_order_in_which_they_were_opened() -> None:
    spans = FakeTracer()
    tracer: Tracer = spans
    with tracer.span("outer"):
        with tracer.span("inner"):
            pass
        assert [(span.name, span.ended) for span in spans.spans] == [("outer", False), ("inner", True)]
    with tracer.span("next"):
        pass
    assert [(span.name, span.ended) for span in spans.spans] == [("outer", True), ("inner", True), ("next", True)]


def test_a_span_keeps_its_attributes_and_the_last_value_of_each() -> None:
    tracer = FakeTracer()
    with tracer.span("run") as span:
        span.set(stop="none", steps=1)
        span.set(stop="answered")
    assert tracer.spans[0].attributes == {"stop": "answered", "steps": 1}


def test_spans_share_no_attributes() -> None:
    tracer = FakeTracer()
    with tracer.span("a") as first, tracer.span("b"):
        first.set(stop="answered")
    assert [span.attributes for span in tracer.spans] == [{"stop": "answered"}, {}]


def test_a_span_that_nobody_leaves_does_not_end() -> None:
    tracer = FakeTracer()
    tracer.span("opened").set(stop="answered")
    tracer.span("entered").__enter__()
    gc.collect()
    assert [span.ended for span in tracer.spans] == [False, False]


def test_a_span_ends_with_its_block_also_by_an_error_which_goes_on() -> None:
    tracer = FakeTracer()
    with pytest.raises(ZeroDivisionError), tracer.span("run"):
        raise ZeroDivisionError
    assert tracer.spans[0].ended
