"""The loop of openai_client.py with a classic mistake: it does not send the turns that proposed the calls."""

from __future__ import annotations

import sys

from openai_client import Messages, main


def without_turns(messages: Messages) -> Messages:
    """The messages without those that propose calls, so that what follows them answers nothing."""
    return [message for message in messages if not message.get("tool_calls")]


if __name__ == "__main__":
    sys.exit(main(without_turns))
