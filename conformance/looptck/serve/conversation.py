"""The requests of one invocation beside the replies that they got, and what each request had to show. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from looptck.contract.messages import Message
from looptck.serve.messages import Asked, comparable, read
from looptck.serve.stops import Stop, broken, stops_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from looptck.scenario import Call, Invocation, Scenario, Turn

_CLOSED = {"answer", "cap", "default-cap"}
"""Ends of a run behind which its transcript is known, with no call left open."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request, from 1 in the order of arrival, and the reply that was taken for it.

    `asked` is None where the server refused the request. `turn` is None then, and where the script had no reply left.
    """

    number: int
    asked: Asked | None
    turn: Turn | None

    @property
    def failed(self) -> bool:
        """Whether the client has got no whole reply, or may think so."""
        return self.turn is None or broken(self.turn) is not False


@dataclass(frozen=True, slots=True)
class ModelCall:
    """A request together with its repetitions: a client may send it again when the reply has failed."""

    attempts: tuple[tuple[Exchange, Asked], ...]

    @property
    def asked(self) -> Asked:
        """What was asked, every time."""
        return self.attempts[-1][1]

    @property
    def turn(self) -> Turn | None:
        """The last reply; None where the script had none left."""
        return self.attempts[-1][0].turn

    @property
    def number(self) -> int:
        """The number of its first request."""
        return self.attempts[0][0].number


@dataclass(frozen=True)
class Step:
    """A turn that a request had to show: its messages are `before`, the turn, its answers and `extra`.

    `opens`: the turn was part of the input, or of an invocation before.
    """

    number: int
    before: tuple[Message, ...]
    turn: Turn
    extra: tuple[Message, ...]
    after: tuple[Message, ...]
    opens: bool = False

    @property
    def message(self) -> Message:
        """The assistant message of the turn."""
        return comparable(self.turn.message())

    @property
    def ids(self) -> list[str]:
        """The ids of its calls, in their order."""
        return [call.id for call in self.turn.calls]

    @cached_property
    def kept(self) -> bool:
        """Whether the request starts with the messages before."""
        return self.after[: len(self.before)] == self.before

    @cached_property
    def place(self) -> int | None:
        """Where in the request the turn stands: the last message with calls of its ids; None where there is none."""
        first = len(self.before) if self.kept and not self.opens else 0
        places = [place for place, message in enumerate(self.after) if place >= first and self._resembles(message)]
        return places[-1] if places else None

    def _resembles(self, message: Message) -> bool:
        ids = {call.id for call in message.tool_calls}
        return message.role == "assistant" and bool(ids & set(self.ids) if self.turn.calls else not ids)

    @property
    def between(self) -> tuple[Message, ...]:
        """What stands before the turn and should not: behind all earlier messages, or the turn itself once more."""
        if self.place is None:
            return ()
        if self.opens:
            earlier = sum(map(self._resembles, self.before))
            return tuple(filter(self._resembles, self.after[: self.place]))[earlier:]
        return self.after[len(self.before) : self.place] if self.kept else ()

    @cached_property
    def behind(self) -> tuple[Message, ...]:
        """The messages behind the turn, or behind all earlier ones where it is missing, without what is `extra`."""
        first = self.place + 1 if self.place is not None else len(self.before) if self.kept else 0
        rest = self.after[first:]
        led = self.extra and rest[-len(self.extra) :] == self.extra
        return rest[: -len(self.extra)] if led else rest

    @property
    def answers(self) -> tuple[Message, ...]:
        """The tool messages behind the turn."""
        return tuple(message for message in self.behind if message.role == "tool")


class Conversation:
    """One invocation as its model saw it. `earlier` is the one that it continues, where it does."""

    def __init__(
        self, scenario: Scenario, place: int, requests: Sequence[bytes], earlier: Conversation | None = None
    ) -> None:
        self.scenario, self.place, self._earlier = scenario, place, earlier
        self.invocation: Invocation = scenario.invocations[place]
        self.exchanges = tuple(_exchanges(self.invocation.turns, requests))
        self.calls = tuple(_model_calls(self.exchanges))

    @cached_property
    def turns(self) -> tuple[Turn | None, ...]:
        """The replies to the model calls, and those of the script that nobody has asked for."""
        taken = sum(exchange.turn is not None for exchange in self.exchanges)
        return (*(call.turn for call in self.calls), *self.invocation.turns[taken:])

    @cached_property
    def stops(self) -> list[Stop]:
        """What may end the run, before the first model call and behind each reply."""
        return stops_of(self.scenario, self.place, self.turns, self.opening)

    @property
    def least(self) -> int:
        """The model calls that the run has to make."""
        return next((number for number, stop in enumerate(self.stops) if stop.any), len(self.turns))

    @property
    def end(self) -> tuple[int, Stop] | None:
        """The number of model calls behind which the run is over for sure, and why; None where nothing ends it."""
        return next(((number, stop) for number, stop in enumerate(self.stops) if stop.sure), None)

    @cached_property
    def given(self) -> tuple[Message, ...]:
        """The input of the invocation, without what it continues."""
        return tuple(comparable(said.message()) for said in self.invocation.messages)

    @cached_property
    def opening(self) -> tuple[Call, ...] | None:
        """The calls that the input leaves unanswered; None where that cannot be known."""
        if self.invocation.continues is not None:
            return self._left_open()
        answered = 0
        for said in reversed(self.invocation.messages):
            if said.role == "tool":
                answered += 1
            elif said.role == "assistant" and said.calls:
                return () if answered >= len(said.calls) else None if answered else said.calls
            else:
                break
        return ()

    def _left_open(self) -> tuple[Call, ...] | None:
        end = self._earlier.end if self._earlier is not None else None
        if self._earlier is None or end is None or len(self._earlier.calls) != end[0]:
            return None
        number, stop = end
        if stop.sure <= _CLOSED:
            return ()
        if stop.sure != {"approval"} or self.given:
            return None
        turn = self._earlier.turns[number - 1] if number else None
        return turn.calls if turn is not None else self._earlier.opening

    def steps(self) -> Iterator[Step]:
        """Every turn that a request had to show, in order."""
        yield from self._opened()
        for call, following in zip(self.calls, self.calls[1:], strict=False):
            turn = call.turn
            if turn is not None and turn.calls and not broken(turn):
                yield Step(following.number, call.asked.messages, turn, (), following.asked.messages)

    def _opened(self) -> Iterator[Step]:
        """The turn that the first request had to show: of the invocation before, or of the input."""
        opening = self.opening
        if not self.calls or opening is None:
            return
        first = self.calls[0]
        if self._earlier is not None and self._earlier.calls:
            last = self._earlier.calls[-1]
            if last.turn is not None:
                yield Step(first.number, last.asked.messages, last.turn, self.given, first.asked.messages)
        elif opening and self.invocation.continues is None:
            said = self.invocation.messages[-1]
            turn = _turn(said.content, opening)
            yield Step(first.number, self.given[:-1], turn, (), first.asked.messages, opens=True)


def _turn(text: str, calls: tuple[Call, ...]) -> Turn:
    from looptck.scenario import Turn  # noqa: PLC0415 - the types above need no pydantic

    return Turn(text=(text,), calls=calls)


def _exchanges(turns: Sequence[Turn], requests: Sequence[bytes]) -> Iterator[Exchange]:
    """Each request with its reply: every one that the server does not refuse takes the next of the script."""
    left = iter(turns)
    for number, raw in enumerate(requests, 1):
        asked = read(raw)
        yield Exchange(number, asked, None if asked is None else next(left, None))


def _model_calls(exchanges: Sequence[Exchange]) -> list[ModelCall]:
    """The requests that were answered, where one that repeats a failed one is another attempt of the same."""
    calls: list[ModelCall] = []
    for exchange in exchanges:
        asked = exchange.asked
        if asked is None:
            continue
        last = calls[-1].attempts[-1] if calls else None
        if last is not None and last[0].failed and (last[1].messages, last[1].tools) == (asked.messages, asked.tools):
            calls[-1] = ModelCall((*calls[-1].attempts, (exchange, asked)))
        else:
            calls.append(ModelCall(((exchange, asked),)))
    return calls
