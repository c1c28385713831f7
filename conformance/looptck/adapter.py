"""How the kit drives a loop: one coroutine that makes one invocation and says how it ended.

A class that meets the contract needs no adapter of its own: `ContractAdapter` drives it. Others implement `Adapter`
and declare in `lacks` which features their loop does not have, with the reason.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from looptck.contract.ag03 import Event, Message, Usage

NO_STREAM = "no stream: "
"""What the problem of an invocation begins with that gave nothing to await."""
STREAM_METHODS = ("events", "result", "transcript", "usage")
MOST_EVENTS = 10_000
"""Events that are read of one run, far beyond any scenario's: a stream that has more has no end."""


class NoInterfaceError(Exception):
    """The loop lacks something that the contract asks for, so nothing can be observed; the text says what."""


@dataclass(slots=True)
class Outcome:
    """How an invocation ended: an answer or an error, and what the loop then says of transcript and usage.

    `problems` are one-line notes about what the loop did not offer. `again` is what a second `result()` gave, where
    the scenario asks for one.
    """

    message: Message | None = None
    error: BaseException | None = None
    transcript: Sequence[Message] | None = None
    usage: Usage | None = None
    events_ended: bool = False
    again: str | None = None
    problems: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Run:
    """One invocation to make.

    `options` are the keyword arguments for the agent: `provider`, `tools` and whatever the scenario sets. `agents` is
    where an adapter keeps the agent it made, under `agent_key`, for later invocations of the same one. Events that are
    read go to `on_event`. With `result_twice` the result is awaited again, and `Outcome.again` is `same` where it is
    the same.
    """

    options: Mapping[str, Any]
    messages: list[Message]
    read: Literal["none", "all"] | int
    on_event: Callable[[Event], None]
    agents: dict[int, Any]
    agent_key: int
    result_twice: bool = False


class Adapter(Protocol):
    """Drives one kind of loop."""

    name: str
    version: str
    lacks: Mapping[str, str]

    async def run(self, run: Run) -> Outcome:
        """Make the invocation. Raises `NoInterfaceError` where the loop offers nothing to invoke."""
        ...


class ContractAdapter:
    """Drives a class that meets `looptck.contract.ag03.Agent`; it has every feature."""

    lacks: Mapping[str, str] = {}

    def __init__(self, agent_class: Callable[..., Any]) -> None:
        if not callable(getattr(agent_class, "invoke", None)):
            msg = f"{_name(agent_class)} has no method invoke(messages)"
            raise NoInterfaceError(msg)
        self._agent_class = agent_class
        self.name = _name(agent_class)
        self.version = str(getattr(agent_class, "__version__", ""))

    async def run(self, run: Run) -> Outcome:
        """Build the agent where none is to be reused, invoke it, read events if asked to, await the result."""
        outcome = Outcome()
        try:
            if run.agent_key not in run.agents:
                run.agents[run.agent_key] = self._agent_class(**run.options)
            stream = run.agents[run.agent_key].invoke(run.messages)
        except Exception as error:  # noqa: BLE001 - whatever the loop raises is an observation
            outcome.error = error
            outcome.problems.append(NO_STREAM + told(error))
            return outcome
        missing = [method for method in STREAM_METHODS if not _has(stream, method)]
        if "result" in missing:
            msg = f"what {self.name}.invoke returned has no method " + ", ".join(f"{name}()" for name in missing)
            raise NoInterfaceError(msg)
        outcome.problems += [f"the stream has no method {name}()" for name in missing]
        await self._finish(stream, run, outcome)
        for name in ("transcript", "usage"):
            if name not in missing:
                _ask(stream, name, outcome)
        return outcome

    async def _finish(self, stream: Any, run: Run, outcome: Outcome) -> None:
        try:
            if run.read != "none":
                outcome.events_ended = await _read(stream, run)
            outcome.message = await stream.result()
            if run.result_twice:
                outcome.again = "same" if await stream.result() == outcome.message else "another answer"
        except KeyboardInterrupt:  # somebody at the keyboard, in a run that is not isolated
            raise
        except BaseException as error:  # noqa: BLE001 - see above
            if outcome.message is not None:
                hung = isinstance(error, asyncio.CancelledError)  # the kit's own doing, when nothing more could happen
                outcome.again = "unfinished" if hung else told(error)
            else:
                outcome.error = error


async def _read(stream: Any, run: Run) -> bool:
    """Read events as the run says, and no more than any run has; True when the iterator ended by itself."""
    number = 0
    async for event in stream.events():
        run.on_event(event)
        number += 1
        if number in {run.read, MOST_EVENTS}:
            return False
    return True


def _ask(stream: Any, name: str, outcome: Outcome) -> None:
    try:
        setattr(outcome, name, getattr(stream, name)())
    except Exception as error:  # noqa: BLE001 - see above
        outcome.problems.append(f"{name}() raised {told(error)}")


def _has(stream: Any, method: str) -> bool:
    """Whether there is such a method; one that cannot be had is missing."""
    try:
        return callable(getattr(stream, method, None))
    except Exception:  # noqa: BLE001 - a property of the loop's own may raise anything
        return False


def told(error: BaseException) -> str:
    """An error by type and text; by its type alone where its text cannot be had."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # noqa: BLE001 - a hostile __str__
        return type(error).__name__


def _name(thing: Any) -> str:
    return str(getattr(thing, "__qualname__", None) or type(thing).__qualname__)
