"""The real provider that suites hand to a loop: chat completions of an OpenAI-compatible server, streamed over HTTP.

The contract's seam is `looptck.contract.ag03.Provider`. Nothing else of the kit imports this package at its own
import, since it brings an HTTP client with it. `wire` decides what bytes mean and does no I/O; `client` does the I/O
and decides nothing.
"""

from looptck.provider.client import OpenAICompatibleProvider
from looptck.provider.errors import ProviderError

__all__ = ["OpenAICompatibleProvider", "ProviderError"]
