"""Does once, in the process that forks, what every forked child would otherwise do for itself.

None of it touches a target: it imports and builds what the kit's own side needs, and leaves no thread behind.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from looptck.profile import Profile


def warm(profile: Profile, scenarios: Iterable[Any]) -> None:
    """Build the form in which observations travel; where a scenario goes over HTTP, make one request over HTTP."""
    profile.decode(profile.encode(profile.observation("warm")))
    if any(getattr(scenario, "transport", "direct") == "http" for scenario in scenarios):
        _one_request()


def _one_request() -> None:
    """One real request to a server of our own: most of what such a stack imports, it imports when it is first used."""
    from looptck.contract.messages import Message, Usage  # noqa: PLC0415 - only where somebody needs the stack
    from looptck.provider import OpenAICompatibleProvider  # noqa: PLC0415 - likewise
    from looptck_fakes import Turn  # noqa: PLC0415 - likewise
    from looptck_fakes.server import ModelServer  # noqa: PLC0415 - likewise

    async def ask(url: str) -> None:
        provider = OpenAICompatibleProvider("warm", url)
        async for _ in provider.stream([Message("user", "?")], (), {}):
            pass

    with ModelServer() as server:
        asyncio.run(ask(server.script([Turn(text=("!",), usage=Usage(1, 1))])))
