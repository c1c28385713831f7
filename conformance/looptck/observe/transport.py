"""The model over HTTP: for scenarios of that transport, the real provider talks to the fake server.

Both bring an HTTP stack with them, so they are imported only by the scenarios that need them.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from looptck.observe.rig import MODEL

if TYPE_CHECKING:
    from collections.abc import Iterator

    from looptck.observe.rig import Rig
    from looptck.scenario import Turn
    from looptck_fakes.server import Cut, HttpReply
    from looptck_fakes.turns import Turn as FakeTurn


@contextmanager
def transport(rig: Rig) -> Iterator[None]:
    """Give the rig the provider that its scenario's transport asks for; the server lives as long as the context."""
    if rig.scenario.transport == "direct":
        yield
        return
    from looptck.provider import OpenAICompatibleProvider  # noqa: PLC0415 - see the module's docstring
    from looptck_fakes.server import ModelServer  # noqa: PLC0415 - likewise

    with ModelServer() as server:
        url = server.script(
            [http_reply(rig, turn) for invocation in rig.scenario.invocations for turn in invocation.turns]
        )
        rig.provider = OpenAICompatibleProvider(MODEL, url)
        rig.http_requests = lambda: tuple(request.body for request in server.requests(url))
        yield


def http_reply(rig: Rig, turn: Turn) -> FakeTurn | HttpReply | Cut:
    """A turn of the scenario as the server answers it: a status, a reply that is cut off, or the whole reply."""
    from looptck_fakes.server import Cut, HttpReply  # noqa: PLC0415 - see the module's docstring

    if turn.status is not None:
        return HttpReply(turn.status, '{"error": {"message": "the scenario asks for this status"}}')
    if turn.cut_after is not None:
        return Cut(rig.fake_turn(turn), turn.cut_after)
    return rig.fake_turn(turn)
