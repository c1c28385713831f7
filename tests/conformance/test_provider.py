"""What the real provider makes of answers that are good."""

from __future__ import annotations

import pytest
from tests.conformance.asking import LYON, PARIS, ask, delta, fragment, read, sse

from looptck.contract.ag03 import Accumulator, CallChunk, Message, TextChunk, ToolCall, Usage, UsageChunk
from looptck_fakes.server import ModelServer
from looptck_fakes.turns import Turn


def test_pieces_of_text_come_one_by_one_with_the_usage_last(server: ModelServer) -> None:
    chunks = ask(server, Turn(text=("It ", "", "is ", "sunny\u2028☀."), usage=Usage(20, 4)))
    assert chunks == [TextChunk("It "), TextChunk("is "), TextChunk("sunny\u2028☀."), UsageChunk(Usage(20, 4))]


def test_a_call_comes_whole_where_it_was_sent_whole(server: ModelServer) -> None:
    chunks = ask(server, Turn(calls=(PARIS,), usage=Usage(10, 5)))
    assert chunks == [CallChunk(0, "call_1", "get_weather", '{"city":"Paris"}'), UsageChunk(Usage(10, 5))]


def test_interleaved_fragments_come_as_they_arrive_with_late_ids(server: ModelServer) -> None:
    chunks = ask(server, Turn(calls=(PARIS, LYON), fragments=2))
    assert chunks == [
        CallChunk(0, arguments='{"city":'),
        CallChunk(1, arguments='{"city"'),
        CallChunk(0, "call_1", "get_weather", '"Paris"}'),
        CallChunk(1, "call_2", "get_weather", ':"Lyon"}'),
    ]


@pytest.mark.parametrize("fragments", [1, 2, 7])
@pytest.mark.parametrize("streaming", [True, False])
def test_a_turn_survives_the_wire(server: ModelServer, fragments: int, *, streaming: bool) -> None:
    broken = ToolCall("call_3", "get_weather", '{"city": "Par\ud800')
    turn = Turn(text=("Let me ", "see."), calls=(PARIS, LYON, broken), usage=Usage(10, 5), fragments=fragments)
    folded = Accumulator()
    for chunk in ask(server, turn, streaming=streaming):
        folded.add(chunk)
    assert folded.message() == Message("assistant", "Let me see.", (PARIS, LYON, broken))
    assert folded.usage() == Usage(10, 5)


def test_early_usage_is_told_before_the_text(server: ModelServer) -> None:
    chunks = ask(server, Turn(text=("Hi",), early_usage=Usage(9, 0), usage=Usage(9, 2)))
    assert chunks == [UsageChunk(Usage(9, 0)), TextChunk("Hi"), UsageChunk(Usage(9, 2))]


@pytest.mark.parametrize(
    "end", [[delta("stop")], ["[DONE]"], [delta("stop"), "[DONE]", "never read"]], ids=["reason", "done", "both"]
)
def test_a_stream_ends_with_done_or_a_finish_reason(end: list[object]) -> None:
    assert read(sse(delta(content="Hi"), *end)) == [TextChunk("Hi")]


def test_comments_other_fields_and_unknown_keys_are_passed_over() -> None:
    body = ": ping\r\n\r\nevent: message\r\nid: 1\r\n\r\n" + sse(
        {**delta(content="Hi", reasoning=["?"]), "usage": None, "service_tier": "x"}, {"choices": []}, "[DONE]"
    )
    assert read(body) == [TextChunk("Hi")]


def test_only_the_first_choice_is_read() -> None:
    second = {"choices": [{"index": 1, "delta": {"content": "Other"}}]}
    assert read(sse(delta(content="Hi"), second, "[DONE]")) == [TextChunk("Hi")]


def test_ids_and_names_that_are_sent_with_every_fragment_are_told_once() -> None:
    told = {"index": 0, "id": "a"}
    body = sse(
        fragment(**told, function={"name": "f", "arguments": "{"}),
        fragment(**told, function={"name": "f", "arguments": "}"}),
        "[DONE]",
    )
    assert read(body) == [CallChunk(0, "a", "f", "{"), CallChunk(0, arguments="}")]
