"""Whole scenarios of lesson4 for the fuzzer, near the edges of its rules.

Calls come from a handful of near equals, and ceilings are set beside what the replies spend. What is drawn stands in
tables: of outcomes and answers, of what comes last and before, of limits. The first entry of each is the plainest.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from looptck.contract.lesson4 import Completion, ToolCall, ToolResult, Usage
from looptck.fuzz.draws import Draws, drawn
from looptck.lesson4.scenario import Ask, Meter, Reply, Scenario, Task
from looptck.oracle.lesson4 import cost_of
from looptck.scenario import Tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hypothesis import strategies as st

__all__ = ["scenarios"]

LONG = "so it goes on and on, " * 600
"""Over ten thousand characters."""
ROOMY, FAR = 50, 5000
RAISES, UNKNOWN, NO_METER, SOME = "raises", "missing", "no meter", "some"
MET, PASSED, CALLED = "met", "passed", "called"
RUNAWAY = 100
"""Steps that no ceiling allows which nobody set."""
Arguments: TypeAlias = tuple[str, dict[str, Any], dict[str, str]]
"""The tool of a call, its arguments, and those that are no JSON."""

POOLS: tuple[tuple[Arguments, ...], ...] = (
    (("search", {"q": "a"}, {}), ("fetch", {"q": "a"}, {}), ("search", {"q": "b"}, {}), (UNKNOWN, {"q": "b"}, {})),
    (
        ("search", {"a": 1, "b": 2}, {}),
        ("search", {"b": 2, "a": 1}, {}),
        ("search", {"a": {"x": 1, "y": [2, {"p": 3, "q": 4}]}}, {}),
        ("search", {"a": {"y": [2, {"q": 4, "p": 3}], "x": 1}}, {}),
    ),
    (
        ("book", {"n": 1}, {"when": "2030-01-01"}),
        ("book", {"n": 1}, {"when": "2030-01-02"}),
        ("book", {}, {"when": "2030-01-01"}),
        ("book", {}, {"when": "2030-01-02"}),
    ),
    (("book", {"n": 1}, {}), ("book", {"n": "1"}, {}), ("book", {"n": None}, {}), ("book", {}, {})),
    (
        ("search", {"q": "rain"}, {}),
        ("search", {"q": "Rain"}, {}),
        ("search", {"q": "rain "}, {}),
        ("search", {"q": "rain"}, {}),
        ("search", {"Q": "rain"}, {}),
    ),
    (
        ("search", {"from": "a", "to": "b"}, {}),
        ("search", {"from": "b", "to": "a"}, {}),
        ("search", {"q": ["a", "b"]}, {}),
        ("search", {"q": ["b", "a"]}, {}),
    ),
    (
        ("search", {"q": f"{LONG}1"}, {}),
        ("search", {"q": f"{LONG}2"}, {}),
        ("search_all", {"q": "naïve ☂ 日本"}, {}),
        ("suche", {"q": "naïve ☂ 日本"}, {}),
    ),
    (
        ("book", {"n": 1}, {}),
        ("book", {"n": 1.0}, {}),
        ("book", {"n": True}, {}),
        ("book", {"when": "noon"}, {}),
        ("book", {}, {"when": "noon"}),
    ),
)
"""Calls that one scenario chooses from, near equals in pairs: some the same, some not.

No registry knows the tool `UNKNOWN`. Whether calls of the last pool are the same is open, so that it is the rarest.
"""
_POOLS = (*range(len(POOLS)), *range(1, len(POOLS) - 1), 1, 2, 2)
Outcome: TypeAlias = Literal["ok", "failed", "denied", "unknown", "fatal"]
OUTCOMES: tuple[tuple[Outcome, str], ...] = (
    ("ok", "found"),
    ("failed", "timed out"),
    ("ok", "found it"),
    ("denied", "not allowed"),
    ("ok", "there it is"),
    ("ok", ""),
    ("fatal", "revoked"),
    ("ok", "error: no such word in this log"),
    ("ok", " \n"),
    ("ok", "naïve ☂ 日本"),
    ("failed", ""),
    ("ok", LONG),
)
SPENT = ((0, 0), (10, 5), (1, 1), (40, 20), (30, 30), (0, 7), (9, 0), (103, 51), (503, 251))
TEXTS = ("done", "", "\n spaced  ", "Stopped: reached the 4-step limit without an answer.", "naïve ☂ 日本")
ENDS: tuple[str | None, ...] = (*TEXTS, TEXTS[0], TEXTS[0], RAISES, None)
"""The last reply: an answer; an error of the model; or none, so that the script is too short."""
SYSTEMS = (None, "Be brief.", None, "naïve ☂", "")
HISTORIES: tuple[tuple[dict[str, Any], ...] | str | None, ...] = (
    None,
    ({"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}),
    None,
    (),
    CALLED,
    ({"role": "system", "content": "Be long."}, {"role": "user", "content": "hello"}),
)
"""What was said before; in `CALLED` a call of the scenario's own pool was made, which replies may ask for again."""
OPTIONS: tuple[tuple[int | None, float | None], ...] = ((None, None), (64, 0.0), (None, 0.25), (900, None))
COUNTS = ((1000, 0), (0, 1000), (503, 251), (7, 3))
"""Tokens that the meter is asked the cost of."""
PRICES: tuple[tuple[float | None, float | None], ...] = (
    (None, None),
    (2.0, 10.0),
    (3.0, None),
    (None, 0.5),
    (1.5, 1.5),
)
STEPS: tuple[int | str | None, ...] = (ROOMY, 0, 1, ROOMY, SOME, None, -1, ROOMY, 2, SOME, NO_METER)
"""The ceiling of steps: roomy, unset, so many more than the script has turns, or some step in between; or no meter."""
REPEATS: tuple[int | str | None, ...] = (ROOMY, 1, 2, MET, PASSED, ROOMY, MET, 1, ROOMY, None)
"""The repeat limit: a number, unset, as often as the script asks for one call, which it may, or once less."""
EDGES = (None, FAR, -1, 0, 1)
"""How far a ceiling lies above what has been spent at some step: far, or just passed, met, or just not met."""
ZEROS = (*[None] * 20, "max_steps", "max_total_tokens", "max_cost", "repeat_limit")
RUNS: tuple[tuple[int, ...], ...] = ((0,), (1,), (0, 0), (0, 1))
"""The runs that the agent makes, by their script; one that differs in its second run alone shrinks to that script."""
TURNS, ASKS = (0, 1, 2, 3, 4, 5, 2, 5), (1, 2, 3)
"""How many turns a run has before its last reply, and how many calls a turn."""
BESIDE_CALLS = ("", "", "I look.")
ALIKE = ("free", "stuck", "free", "nearly")
"""Each turn has calls of its own, or those of the first one; or nearly those, every second time."""
NO_TOOLS, SHARED = 10, 8
"""One scenario in so many has no tools, and calls that share the id of the one in front of them in their turn."""

_WHOLE, _METER, _SCRIPTS, _SIZE = 0, 13, (18, 67), 116
"""Where the choices of each part of a scenario are read from, and how many bytes they are in all.

Shrinking makes what comes first as small as it can: better a turn more than a limit more, or a run.
"""
_TURN, _PART = 4, 9
"""How far behind the place of a script those of its first turn are read, and how far apart the turns are."""


@dataclass(frozen=True, slots=True)
class _Calls:
    """What the calls of a scenario have in common: the pool that they are from, and how their ids come again.

    They do with `again` in other turns, and with `shared` in one turn. With `endless` more calls follow than any
    ceiling allows that nobody set. `outcomes` are those of the calls so far, by id and tool.
    """

    pool: int
    again: bool
    shared: bool
    endless: bool
    outcomes: dict[tuple[str, str], int] = field(default_factory=dict)

    def takes(self, name: str, tool: str, outcome: int) -> bool:
        """Give a call of a tool this id, unless one with another outcome has it: registries know it by id and tool."""
        return self.outcomes.setdefault((name, tool), outcome) == outcome


def scenarios() -> st.SearchStrategy[Scenario]:
    """Whole scenarios of lesson4, each of which the oracle can predict."""
    return drawn(_SIZE).map(_scenario)


def _scenario(data: bytes) -> Scenario:
    draws = Draws(data, _WHOLE)
    runs, history, system, options = draws.each_of(RUNS, HISTORIES, SYSTEMS, OPTIONS)
    pool, steps, zero = draws.each_of(_POOLS, STEPS, ZEROS)
    again, endless, tracer, costs = (draws.once_in(2) for _ in range(4))
    tools, shared = not draws.once_in(NO_TOOLS), draws.once_in(SHARED)
    calls = _Calls(pool, again, shared, endless and steps in {None, NO_METER})
    tasks = {
        script: Task(
            task=f"task {number + 1}",
            history=_called(pool) if history == CALLED else history,
            replies=_replies(draws, _SCRIPTS[script], calls, first=number * 100),
        )
        for number, script in enumerate(dict.fromkeys(runs))
    }
    meter = None if steps == NO_METER else _meter(draws.part(_METER), steps, zero, tasks[runs[0]].replies)
    return Scenario(
        name="drawn",
        meter=meter,
        system=system,
        max_output_tokens=options[0],
        temperature=options[1],
        tools=tools,
        tracer=tracer,
        costs=COUNTS if costs else (),
        refusable=meter is not None and zero is not None,
        runs=tuple(tasks[script] for script in runs),
    )


@lru_cache(maxsize=len(POOLS))
def _called(pool: int) -> tuple[dict[str, Any], ...]:
    """A history in which the first call of a pool was made; messages are JSON, and have what is none as its text."""
    name, arguments, opaque = POOLS[pool][0]
    call = ToolCall("old_1", name, {**arguments, **opaque})
    return (
        {"role": "user", "content": "look it up"},
        Completion(tool_calls=(call,)).as_message(),
        ToolResult(call.id, call.name, "found").as_message(),
        {"role": "assistant", "content": "there it is"},
    )


def _meter(draws: Draws, steps: Any, zero: str | None, replies: tuple[Reply, ...]) -> Meter:
    """Ceilings beside what the replies come to; one of them may be zero."""
    (price_in, price_out), tokens, cost, repeats, at = draws.each_of(PRICES, EDGES, EDGES, REPEATS, range(6))
    spent = sum((reply.usage.usage() for reply in replies[: at % (len(replies) or 1) + 1]), Usage())
    turns = sum(bool(reply.asks) for reply in replies)
    priced = Meter(price_per_1k_input=price_in, price_per_1k_output=price_out)
    steps = at % (turns or 1) + 1 - turns if steps == SOME else steps
    exactly = cost_of(priced, spent.input_tokens, spent.output_tokens)
    ceilings = {
        "max_steps": steps if steps in {None, ROOMY} else max(1, turns + steps),
        "max_total_tokens": None if tokens is None else max(1, spent.total + tokens),
        "max_cost": None if cost is None else max(0.001, float(exactly + Fraction(cost, 1000))),
        "repeat_limit": _repeats(repeats, replies),
    }
    if zero is not None:
        ceilings[zero] = 0
    return priced.model_copy(update=ceilings)


def _repeats(limit: int | str | None, replies: tuple[Reply, ...]) -> int | None:
    if not isinstance(limit, str):
        return limit
    asks = [ask for reply in replies for ask in reply.asks]
    calls = Counter(json.dumps([ask.name, ask.arguments, ask.opaque], sort_keys=True) for ask in asks)
    most = max(calls.values(), default=1)
    return max(1, most - (limit == PASSED))


def _replies(draws: Draws, place: int, calls: _Calls, *, first: int) -> tuple[Reply, ...]:
    """The replies of a run, whose calls are numbered behind `first` where their ids do not say what they are."""
    number, alike, end, last = draws.part(place).each_of(TURNS, ALIKE, ENDS, SPENT)
    turns = [_turn(draws.part(place + _TURN + _PART * turn), calls.pool) for turn in range(number)]
    replies: list[Reply] = []
    for turn, (text, spent, own) in enumerate(turns):
        asks: list[Ask] = []
        for entry, outcome in own if alike == "free" else turns[0][2]:
            first += 1
            near = (entry ^ 1) % len(POOLS[calls.pool]) if alike == "nearly" and turn % 2 else entry
            asks.append(_ask(_id(calls, asks, near, outcome, first), calls.pool, near, outcome))
        replies.append(Reply(text=text, asks=tuple(asks), usage=_tokens(spent)))
    replies += _runaway() if calls.endless else ()
    if end is not None:
        error = "the model is down" if end == RAISES else None
        replies.append(Reply(text="" if error else end, error=error, usage=_tokens(last)))
    return tuple(replies)


def _id(calls: _Calls, before: Sequence[Ask], entry: int, outcome: int, number: int) -> str:
    """The id of a call, behind those `before` it in its turn: that of the last one, what the call is, or its number."""
    tool, known = POOLS[calls.pool][entry][0], f"id_{entry}_{outcome}"
    if calls.shared and before and calls.takes(before[-1].id, tool, outcome):
        return before[-1].id
    name = known if calls.again and known not in {ask.id for ask in before} else f"call_{number}"
    calls.outcomes[name, tool] = outcome
    return name


def _turn(draws: Draws, pool: int) -> tuple[str, tuple[int, int], list[tuple[int, int]]]:
    """What a turn says, what it spends, and its calls: each an entry of the pool, and what becomes of it."""
    text, spent, number = draws.each_of(BESIDE_CALLS, SPENT, ASKS)
    last = len(POOLS[pool]) - 1, len(OUTCOMES) - 1
    return text, spent, [(draws.number(last[0]), draws.number(last[1])) for _ in range(number)]


@lru_cache(maxsize=4096)
def _ask(name: str, pool: int, place: int, outcome: int) -> Ask:
    tool, arguments, opaque = POOLS[pool][place]
    what, answer = OUTCOMES[outcome]
    what = "unknown" if tool == UNKNOWN else what
    return Ask(id=name, name=tool, arguments=arguments, opaque=opaque, outcome=what, answer=answer)


@lru_cache(maxsize=len(SPENT))
def _tokens(spent: tuple[int, int]) -> Tokens:
    return Tokens(input=spent[0], output=spent[1])


@lru_cache(maxsize=1)
def _runaway() -> tuple[Reply, ...]:
    """Turns with a call each, other arguments every time: more than any ceiling allows that nobody set."""
    asks = (Ask(id=f"run_{n}", name="search", arguments={"page": n}, answer=f"page {n}") for n in range(RUNAWAY))
    return tuple(Reply(asks=(ask,)) for ask in asks)
