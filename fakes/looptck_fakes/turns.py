"""What a scripted model says in one turn, and how its reply is cut into chunks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from looptck.contract.messages import CallChunk, Chunk, TextChunk, ToolCall, Usage, UsageChunk

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class Turn:
    """One reply of a scripted model: text in pieces, calls in fragments, then the usage; or an error on the way.

    `fragments` is the number of pieces that each call's arguments arrive in. With more than one, the fragments of all
    calls are interleaved and ids and names arrive with the last. `early_usage` is reported before the reply's text,
    `usage` (the one that counts) at its end. `error` is raised before the first chunk, in the middle (after the text
    and half of the call fragments) or after everything else. With `hold`, the provider waits on its stage after the
    text.

        >>> turn = Turn(text=("One moment.",), calls=(ToolCall("call_1", "add", '{"a":1}'),), fragments=2)
        >>> [(chunk.id, chunk.arguments) for chunk in turn.call_chunks()]
        [('', '{"a'), ('call_1', '":1}')]
    """

    text: tuple[str, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    usage: Usage | None = None
    error: BaseException | None = None
    error_at: Literal["before", "middle", "after"] = "before"
    fragments: int = 1
    early_usage: Usage | None = None
    hold: bool = False

    def text_chunks(self) -> Iterator[Chunk]:
        """The early usage and the pieces of text."""
        if self.early_usage is not None:
            yield UsageChunk(self.early_usage)
        for piece in self.text:
            yield TextChunk(piece)

    def call_chunks(self) -> tuple[CallChunk, ...]:
        """The fragments of every call, in the order they arrive."""
        if self.fragments <= 1:
            return tuple(CallChunk(i, call.id, call.name, call.arguments) for i, call in enumerate(self.calls))
        last = self.fragments - 1
        return tuple(
            CallChunk(
                index,
                id=call.id if piece == last else "",
                name=call.name if piece == last else "",
                arguments=_piece(call.arguments, piece, self.fragments),
            )
            for piece in range(self.fragments)
            for index, call in enumerate(self.calls)
        )


def _piece(text: str, number: int, of: int) -> str:
    """Piece `number` of `text` cut into `of` pieces, all of it covered."""
    return text[len(text) * number // of : len(text) * (number + 1) // of]
