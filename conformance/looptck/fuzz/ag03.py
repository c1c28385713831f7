"""Whole scenarios of ag03 for the fuzzer: a strategy that makes everything which the oracle can predict.

Calls come from a small pool, so that a call is proposed again, twice in a turn, or under the id of another. Limits are
drawn beside the sums that they are compared with, since it is at their edges that loops go wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Literal

from looptck.contract.ag03 import DENIED_PREFIX, llm_step, tool_step
from looptck.durability import sweep
from looptck.fuzz.draws import Draws, drawn
from looptck.scenario import Call, Invocation, Options, Said, Scenario, Tokens, Turn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hypothesis import strategies as st

_NAMES = ("look_up", "send", "read_page", "naïve")
_ARGUMENTS = ("{}", '{"q":"a"}', '{ "b" : 1, "a": [2, null] }', '{"q": "日本 ☂"}')
_NO_OBJECTS = (None,) * 27 + ('{"q":', "null", "")
"""Arguments that are no JSON object, where there are such."""
_TEXTS = ("ok", "done.", "", " \n ", "naïve ☂ 日本", "error: no", '{"ok": true}', "ok", "done.", "long " * 2500)
_FATES: tuple[dict[str, Any], ...] = (
    *({},) * 10,
    {"is_error": True},
    {"is_error": True},
    {"verdict": "deny", "reason": "no"},
    {"verdict": "deny", "reason": "not allowed: ☂"},
    {"verdict": "deny", "reason": ""},
    {"verdict": "need_approval", "marker": "approve-a", "reason": "costly"},
    {"verdict": "need_approval", "marker": "approve-a"},
    {"verdict": "need_approval", "marker": "approve-b"},
    {"raises": "out of order"},
    {"verdict": "raise", "reason": "no policy"},
)
_OWN = 4
_TWICE = (0, 0, 1)
_SHAPES = (
    *((0,), (1,), (0, 1), (1, 0), (2,), (0, 1, 2), (2, 0), (3,), (3, 1, 2), (0, 1, 2, 3), (3, 2, 1, 0)),
    *((0, 4, 5), (0, 1, 4, 5, 6, 7), (0, 4, 5, 6, 7), tuple(range(4, 16)), _TWICE),
)
"""Turns by the places of their calls: 0 to 3 are the pool's own, gone through again behind their end, and those from 4
on are further calls like the first, each with an id of its own."""
_PIECES = (("Yes.",), (), ("It ", "is ", "so."), ("",), ("", "a", ""), ("日本",), ("\n",))
_FLOOD = tuple(f"{number} " for number in range(1200))
"""Pieces of one reply, more than any buffer of events should hold."""
_BESIDE_CALLS = ((), ("One moment.",), ("a", "", "b"))
_USAGES = (None, (10, 5), (1, 0), (0, 3), (100, 7), (0, 0))
_ODD: tuple[dict[str, Any], ...] = (
    *({},) * 40,
    {"fragments": 2},
    {"fragments": 3},
    {"early_usage": Tokens(input=3, output=1)},
    {"error": "the model is down", "error_at": "before"},
    {"error": "the model is down", "error_at": "middle", "fragments": 2},
    {"error": "the model is down", "error_at": "after"},
)
_TURNS = (1, 2, 0, 3, 2, 3, 4, 10)
_DIFFERENT = 4
"""Turns of a long run that are drawn; behind them it begins again with the first."""
_SYSTEM = (None, "Be brief.", "", "日本 ☂")
_CALL_OPTIONS = (None, None, {"temperature": 0.5}, {"stop": ["a", "b"], "n": None})
_LIMITS = (*((),) * 3, *(("max_iter",), ("max_tokens",), ("max_tool_calls",)) * 3, ("max_tokens", "max_tool_calls"))
_ALL_LIMITS = ("max_iter", "max_tokens", "max_tool_calls")
_OFFSETS = (0, 1, -1)
"""Where a limit lies beside a sum that it is compared with."""
_READ = (*(("none", False),) * 2, *(("all", False),) * 3, (2, False), ("none", True))
"""How many events are read, and whether the result is awaited twice."""
_FINISH: tuple[Literal["at_once", "last", "first"], ...] = ("at_once", "at_once", "last", "first", "at_once")
_RUNNERS = ("none", "none", "record", "record", "refuse")
_INPUTS = ("user",) * 4 + (
    "led",
    "late system",
    "answered",
    "open",
    "open",
    "partly open",
    "answered, user",
    "answered long ago",
    "answered long ago",
    "assistant",
    "nobody",
)
_EXCHANGES = (2, 3, 8)
"""How many answers and questions stand behind a turn that was answered long ago."""
_LEADING = ("You are a clerk.", "You are a clerk.", "")
"""A system message of the input; an empty one is one too."""
_SECOND = ("none", "none", "none", "again", "again", "replay", "follow-up", "resume")
_STRANGERS = tuple(f"approve-{letter}" for letter in "cdefg")
"""Markers that no call has, mostly more of them than calls wait."""
_SECOND_OF_WAITING = ("resume",) * 6 + ("none", "again")


@dataclass(slots=True)
class _Made:
    """A scenario in the making: `pool` are its calls, `turns` what the first invocation's model says.

    `open` is the number of calls that the input ends with.
    """

    draws: Draws
    pool: list[Call]
    turns: list[Turn]
    open: int = 0


_NEXT, _INPUT, _FIRST, _WHOLE, _LIMIT, _POOL, _TURN, _ANSWER, _SWEEP, _SIZE = 0, 28, 40, 56, 72, 82, 106, 130, 140, 144
"""Where the choices of each part of a scenario are read from, those of calls and turns `_PART` apart, and their end.

Shrinking makes what comes first as small as it can: better one run more of the model than one of the loop.
"""
_PART = 6


def scenarios() -> st.SearchStrategy[Scenario]:
    """Whole scenarios of ag03, each of which the oracle can predict."""
    return drawn(_SIZE).map(_scenario)


def swept() -> st.SearchStrategy[Scenario]:
    """Such scenarios with a run that is stopped at a step and gone on with from its journal, where one can be."""
    return drawn(_SIZE).map(_swept)


def _swept(data: bytes) -> Scenario:
    scenario = _scenario(data)
    every = sweep(scenario)
    return Draws(data, _SWEEP).of(every) if every else scenario


def _scenario(data: bytes) -> Scenario:
    draws = Draws(data, _WHOLE)
    made = _Made(draws, _pool(draws), [])
    made.turns = _turns(made)
    system, call_options, name, gate = draws.each_of(_SYSTEM, _CALL_OPTIONS, (None, "clerk"), (False, False, True))
    first = _first(made)
    made.open = _left_open(first.messages)
    options = Options(
        system=system,
        name=name,
        call_options=call_options,
        max_parallel_tools=draws.of((None, 2, 1, 3)),
        **_limits(made),
    )
    return Scenario(
        name="fuzzed",
        options=options,
        gate=gate or any(call.verdict != "allow" for call in made.pool),
        tracer=draws.once_in(4),
        # Beside a refused step siblings may never start: tools that are held would be waited for.
        finish="at_once" if first.refuse else draws.of(_FINISH),
        invocations=(first, *_second(made, first)),
    )


def _turns(made: _Made) -> list[Turn]:
    """What the model says: turns, which a long run repeats, and mostly an answer."""
    draws, number = made.draws, made.draws.of(_TURNS)
    some = [_turn(made.pool, draws.part(_TURN + _PART * n)) for n in range(min(number, _DIFFERENT))]
    turns = (some * number)[:number]
    if not draws.once_in(16):
        turns.append(_answer(draws.part(_ANSWER)))
    if turns and draws.once_in(40):
        turns[0] = turns[0].model_copy(update={"text": _FLOOD})
    return turns


def _pool(draws: Draws) -> list[Call]:
    """One to four calls that differ in id, name or arguments; now and then all under one id."""
    pool: dict[tuple[str, str, str], Call] = {}
    shared = draws.once_in(12)
    for place in range(1, 2 + draws.of((1, 0, 2, 3))):
        own = draws.part(_POOL + _PART * (place - 1))
        name, arguments = own.each_of(_NAMES, _ARGUMENTS)
        fate: dict[str, Any] = own.of(_FATES)
        odd = own.of(_NO_OBJECTS)
        call = Call(
            id=f"call_{1 if shared else place}",
            name=name,
            arguments=arguments if odd is None else odd,
            answer=own.of(_TEXTS),
            **fate,
        )
        pool.setdefault((call.id, call.name, call.arguments), call)
    return list(pool.values())


def _turn(pool: Sequence[Call], draws: Draws) -> Turn:
    """A turn of some calls of the pool."""
    shape = draws.of(_SHAPES)
    calls = [pool[place % len(pool)] if place < _OWN else _further(pool[0], place) for place in shape]
    if shape != _TWICE:
        calls = list(dict.fromkeys(calls))
    return Turn(text=draws.of(_BESIDE_CALLS), calls=tuple(calls), **_spending(draws))


def _further(call: Call, place: int) -> Call:
    """A call like another, with an id and an answer of its own."""
    return call.model_copy(update={"id": f"call_{place + 10}", "answer": f"again {place}"})


def _answer(draws: Draws) -> Turn:
    return Turn(text=draws.of(_PIECES), **_spending(draws))


def _spending(draws: Draws) -> dict[str, Any]:
    """What a reply costs, and what is odd about it."""
    usage, odd = draws.of(_USAGES), draws.of(_ODD)
    return odd if usage is None else odd | {"usage": Tokens(input=usage[0], output=usage[1])}


def _first(made: _Made) -> Invocation:
    draws = made.draws.part(_FIRST)
    read: Any
    read, twice = draws.of(_READ)
    return Invocation(
        messages=_input(made),
        turns=tuple(made.turns),
        approvals=_approvals(made, draws) if draws.once_in(6) else None,
        read=read,
        result_twice=twice,
        **_runner(made, draws),
    )


def _approvals(made: _Made, draws: Draws) -> tuple[str, ...] | None:
    """All markers, some, others, or what is only like one: a part, more, other letters, another of its fields."""
    waiting = [call for call in made.pool if call.marker]
    markers = tuple(sorted({call.marker for call in waiting}))
    if not waiting:
        return None
    call = waiting[0]
    marker = call.marker
    near = (marker[:-1], f"{marker}2", marker.upper(), f" {marker} ", call.id, call.name, call.reason)
    others = (_STRANGERS, (*markers[:1], *_STRANGERS))
    return draws.of((*(markers, markers, markers[:1]) * 3, *((text,) for text in near), *others))


def _input(made: _Made) -> tuple[Said, ...]:
    """A user message; before it perhaps a system message, behind it turns that are answered, or not yet."""
    draws = made.draws.part(_INPUT)
    kind = draws.of(_INPUTS)
    user, system = Said(content=draws.of(_TEXTS)), Said(role="system", content=draws.of(_LEADING))
    asks = Said(role="assistant", content="How many?")
    plain = {
        "user": (user,),
        "led": (system, user),
        "late system": (user, system),
        "assistant": (user, asks, Said(content="Two.")),
        "nobody": draws.of(((system,), (), (asks,), (system, asks))),
    }
    if kind in plain:
        return plain[kind]
    calls = tuple(dict.fromkeys(_turn(made.pool, draws).calls))
    answers = [_answered(call) for call in calls]
    left = {"open": 0, "partly open": draws.number(len(calls))}.get(kind, len(calls))
    behind = {
        "answered, user": (Said(content="And?"),),
        "answered long ago": (asks, Said(content="Two.")) * draws.of(_EXCHANGES),
    }.get(kind, ())
    proposed = (Said(role="assistant", content="", calls=calls), *answers[:left], *behind)
    return proposed if draws.once_in(6) else (user, *proposed)


def _left_open(messages: Sequence[Said]) -> int:
    """The number of calls that the last turn of an input has, unless somebody spoke behind it."""
    behind = messages and messages[-1].role == "user"
    return 0 if behind else sum(len(said.calls) for said in messages)


def _answered(call: Call) -> Said:
    text = DENIED_PREFIX + call.reason if call.verdict == "deny" else call.answer
    return Said(role="tool", content=text, tool_call_id=call.id)


def _runner(made: _Made, draws: Draws) -> dict[str, Any]:
    """No step runner, one that records, or one that refuses a step which the run may come to."""
    runner = draws.of(_RUNNERS)
    if runner != "refuse" or not made.turns:
        return {"runner": "record" if runner == "refuse" else runner}
    names = []
    for number, turn in enumerate(made.turns[:2], 1):
        names += [llm_step(number), *(tool_step(number, index, call.name) for index, call in enumerate(turn.calls))]
    return {"runner": runner, "refuse": (draws.of(names),)}


def _limits(made: _Made) -> dict[str, int]:
    """Limits at one of the sums, or just beside it; never zero, for what that means is open."""
    sums = {
        "max_iter": list(range(1, len(made.turns) + 1)),
        "max_tokens": list(accumulate(_total(turn) for turn in made.turns)),
        "max_tool_calls": list(accumulate([made.open, *(len(turn.calls) for turn in made.turns)])),
    }
    draws, limits = made.draws.part(_LIMIT), dict[str, int]()
    if made.open > 1 and draws.once_in(3):
        return {"max_tool_calls": made.open - 1}  # the turn that the input ends with is too much
    if len(made.turns) > _DIFFERENT + 1 and draws.once_in(2):
        return limits  # so long a run is for the limit that it is not given
    for name in draws.of((*_LIMITS, _ALL_LIMITS)):
        near, offset = draws.each_of(sums[name] or [1], _OFFSETS)
        limits[name] = max(near + offset, 1)
    return limits


def _total(turn: Turn) -> int:
    usage = turn.usage or turn.early_usage
    return usage.usage().total if usage is not None else 0


def _second(made: _Made, first: Invocation) -> tuple[Invocation, ...]:
    """A further invocation: resumed with some approvals, the same again, a replay, or a new question."""
    draws = made.draws.part(_NEXT)
    kind = draws.of(_SECOND_OF_WAITING if any(call.marker for call in made.pool) else _SECOND)
    if kind == "resume":
        approvals = None if draws.once_in(4) else _approvals(made, draws)
        turns = (_turn(made.pool, draws), _answer(draws)) if draws.once_in(4) else (_answer(draws),)
        runner: Any = "record" if first.runner != "none" else "none"
        return (Invocation(continues=0, approvals=approvals, turns=turns, runner=runner, read=first.read),)
    if kind == "again":
        return (first.model_copy(update={"reuse_agent": not draws.once_in(3)}),)
    if kind == "replay" and first.runner == "record":
        return (first.model_copy(update={"runner": "replay"}),)
    if kind == "follow-up":
        return (Invocation(continues=0, messages=(Said(content="And?"),), turns=(_answer(draws),), read=first.read),)
    return ()
