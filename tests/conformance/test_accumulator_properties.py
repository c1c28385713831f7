"""The accumulator: whatever way a reply is cut into chunks and shuffled, the same message comes out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from looptck.contract.messages import (
    Accumulator,
    CallChunk,
    Chunk,
    Message,
    TextChunk,
    ToolCall,
    Usage,
    UsageChunk,
)

COMMON = settings(deadline=None, max_examples=60)

TEXT = st.text(max_size=6)
USAGE = st.builds(Usage, st.integers(0, 999), st.integers(0, 999))
# Few indices, with gaps, so that they come in every order.
INDEX = st.sampled_from([0, 1, 2, 7, 10, 100])
NO_CHUNKS = st.none() | st.integers() | TEXT | USAGE | st.builds(ToolCall, TEXT, TEXT, TEXT) | st.just(TextChunk)


@dataclass(frozen=True)
class Reply:
    """Chunks in the order of their arrival, and what they amount to."""

    chunks: tuple[Chunk, ...]
    message: Message
    usage: Usage


def folded(chunks: tuple[Chunk, ...]) -> Accumulator:
    accumulator = Accumulator()
    for chunk in chunks:
        accumulator.add(chunk)
    return accumulator


@st.composite
def fragmented(draw: st.DrawFn, index: int, call: ToolCall) -> list[Chunk]:
    """The call in fragments, with its id and its name each on one of them, whichever."""
    cuts = sorted(draw(st.lists(st.integers(0, len(call.arguments)), max_size=4)))
    pieces = [call.arguments[a:b] for a, b in zip([0, *cuts], [*cuts, len(call.arguments)], strict=True)]
    with_id, with_name = (draw(st.integers(0, len(pieces) - 1)) for _ in range(2))
    return [
        CallChunk(index, call.id if place == with_id else "", call.name if place == with_name else "", piece)
        for place, piece in enumerate(pieces)
    ]


def merged(draw: st.DrawFn, tracks: list[list[Chunk]]) -> tuple[Chunk, ...]:
    """All tracks as one, each in its own order."""
    ahead = [iter(track) for track in tracks]
    turns = draw(st.permutations([place for place, track in enumerate(tracks) for _ in track]))
    return tuple(next(ahead[place]) for place in turns)


@st.composite
def replies(draw: st.DrawFn) -> Reply:
    """A reply with text, calls and usage, all of them interleaved."""
    pieces = draw(st.lists(TEXT, max_size=4))
    calls = draw(st.dictionaries(INDEX, st.builds(ToolCall, TEXT, TEXT, st.text(max_size=20)), max_size=4))
    totals = draw(st.lists(USAGE, max_size=3))
    tracks: list[list[Chunk]] = [
        [TextChunk(piece) for piece in pieces],
        [UsageChunk(total) for total in totals],
        *(draw(fragmented(index, call)) for index, call in calls.items()),
    ]
    ordered = tuple(calls[index] for index in sorted(calls))
    return Reply(
        merged(draw, tracks), Message("assistant", "".join(pieces), ordered), totals[-1] if totals else Usage()
    )


@COMMON
@given(replies())
def test_chunks_in_any_interleaving_fold_into_the_whole_reply(reply: Reply) -> None:
    accumulator = folded(reply.chunks)
    assert accumulator.message() == reply.message
    assert accumulator.usage() == reply.usage


@COMMON
@given(replies(), st.data())
def test_looking_at_a_reply_on_its_way_does_not_change_it(reply: Reply, data: st.DataObject) -> None:
    middle = data.draw(st.integers(0, len(reply.chunks)))
    accumulator = folded(reply.chunks[:middle])
    early = accumulator.message()
    assert early == accumulator.message()
    for chunk in reply.chunks[middle:]:
        accumulator.add(chunk)
    assert accumulator.message() == reply.message
    assert reply.message.content.startswith(early.content)


@COMMON
@given(replies(), NO_CHUNKS)
def test_what_is_no_chunk_is_refused_and_leaves_no_trace(reply: Reply, stranger: Any) -> None:
    accumulator = folded(reply.chunks)
    with pytest.raises(TypeError, match="not a chunk"):
        accumulator.add(stranger)
    assert (accumulator.message(), accumulator.usage()) == (reply.message, reply.usage)


def test_a_reply_without_chunks_is_an_empty_answer_that_cost_nothing() -> None:
    accumulator = Accumulator()
    assert accumulator.message() == Message("assistant")
    assert accumulator.usage() == Usage()


def test_calls_are_ordered_by_number_and_not_as_text() -> None:
    accumulator = folded((CallChunk(10, "b", "t", "{}"), CallChunk(9, "a", "t", "{}")))
    assert [call.id for call in accumulator.message().tool_calls] == ["a", "b"]


def test_a_call_without_arguments_is_a_call() -> None:
    assert folded((CallChunk(0, "call_1", "now"),)).message().tool_calls == (ToolCall("call_1", "now", ""),)


def test_the_last_usage_counts_and_is_not_added_to_the_ones_before() -> None:
    assert folded((UsageChunk(Usage(10, 1)), UsageChunk(Usage(10, 5)))).usage() == Usage(10, 5)
