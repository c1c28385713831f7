"""A loop that does not meet the contract, and the adapter that lets the kit check it.

Try it: `looptck check examples/chat_adapter.py:ChatAdapter`.
"""

from collections.abc import Mapping

from looptck.adapter import Outcome, Run
from looptck.contract.ag03 import Accumulator, Message, Provider, Tools


async def chat(model: Provider, tools: Tools, history: list[Message]) -> Message:
    """Ask the model, run its calls, and so on to its answer: no limits, no events, no gate."""
    while True:
        reply = Accumulator()
        async for chunk in model.stream(history, tools.definitions(), {}):
            reply.add(chunk)
        history.append(reply.message())
        if not history[-1].tool_calls:
            return history[-1]
        for call in history[-1].tool_calls:
            result = await tools.call(call)
            history.append(Message("tool", result.content, tool_call_id=call.id))


class ChatAdapter:
    """Drives chat() for one invocation."""

    name, version = "chat", "1"
    lacks: Mapping[str, str] = {"max_iter": "there is no limit", "gate": "every call runs"}

    async def run(self, run: Run) -> Outcome:
        """Make the invocation and say how it ended."""
        history = list(run.messages)
        outcome = Outcome(transcript=history)
        try:
            outcome.message = await chat(run.options["provider"], run.options["tools"], history)
        except BaseException as error:  # noqa: BLE001 - a cancelled run has an outcome too
            outcome.error = error
        return outcome
