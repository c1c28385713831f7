"""A stream that goes on giving events, and never gives the kit a turn, fails by their number and not by time."""

from __future__ import annotations

from collections.abc import AsyncIterator

from tests.conformance.driving import Hollow, observe, only, scenario

from looptck.adapter import MOST_EVENTS
from looptck.contract.ag03 import Event


class EndlessEvents(Hollow):
    """Its events never end, and none of them is waited for."""

    async def events(self) -> AsyncIterator[Event]:
        while True:
            yield Event("text", 1, text="and ")


def test_events_without_an_end_are_read_up_to_a_number_and_have_not_ended() -> None:
    """Takes half a second: ten thousand events are recorded."""
    seen = only(observe(EndlessEvents, scenario(read="all")))
    assert len(seen.events) == MOST_EVENTS
    assert not seen.events_ended
    assert seen.status == "answered"
