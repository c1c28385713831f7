"""Whole scenarios of the profile lesson4, drawn at random and near the edges of its rules.

Few draws make a scenario: calls come from a handful of near equals, ceilings are set beside what the replies spend.
Everything drawn stands in a table whose first entry is the plainest, so that a scenario shrinks towards it.
"""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from hypothesis import strategies as st

from looptck.contract.lesson4 import Usage
from looptck.lesson4.scenario import Ask, Meter, Reply, Scenario, Task
from looptck.oracle.lesson4 import cost_of
from looptck.scenario import Tokens

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn

__all__ = ["scenarios"]

LONG = "so it goes on and on, " * 600
"""Over ten thousand characters."""
ROOMY, FAR = 50, 5000
RAISES, UNKNOWN, NO_METER, SOME, MET, PASSED = "raises", "missing", "no meter", "some", "met", "passed"
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
HISTORIES: tuple[tuple[dict[str, Any], ...] | None, ...] = (
    None,
    ({"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}),
    None,
    (),
    (
        {"role": "user", "content": "look it up"},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "old_1", "name": "lookup", "arguments": {"q": "a"}}],
        },
        {"role": "tool", "tool_call_id": "old_1", "name": "lookup", "content": "found"},
        {"role": "assistant", "content": "there it is"},
    ),
    ({"role": "system", "content": "Be long."}, {"role": "user", "content": "hello"}),
)
OPTIONS: tuple[tuple[int | None, float | None], ...] = ((None, None), (64, 0.0), (None, 0.25), (900, None))
COUNTS = ((1000, 0), (0, 1000), (503, 251), (7, 3))
"""Tokens that the meter is asked the cost of."""
PRICES: tuple[tuple[float | None, float | None], ...] = (
    (2.0, 10.0),
    (None, None),
    (3.0, None),
    (None, 0.5),
    (1.5, 1.5),
)
STEPS: tuple[int | str | None, ...] = (ROOMY, 0, 1, ROOMY, SOME, None, -1, 2, SOME, NO_METER)
"""The ceiling of steps: roomy, unset, so many more than the script has turns, or some step in between."""
REPEATS: tuple[int | str | None, ...] = (ROOMY, MET, 1, PASSED, ROOMY, 2, MET, 1, None)
"""The repeat limit: roomy, unset, or as often as the script asks for one call, or once less."""
EDGES = (None, FAR, -1, 0, 1)
"""How far a ceiling lies above what has been spent at some step: far, or just passed, met, or just not met."""
ZEROS = (*[None] * 20, "max_steps", "max_total_tokens", "max_cost", "repeat_limit")
RUNS = ("one", "one", "again", "another")
"""How many runs the agent makes, and of which script."""

Turn: TypeAlias = tuple[list[int], tuple[int, int], str]
"""Its calls by number, what it spends, and what it says."""
Script: TypeAlias = tuple[list[Turn], str, str | None, tuple[int, int]]
"""The turns of a run and how they hang together, and the last reply with what that spends."""
TURNS = ("free", "stuck", "free", "nearly")
"""Each turn has calls of its own, or those of the first one; or nearly those, every second time."""

_CALL = st.integers(0, 4 * len(OUTCOMES) - 1)
_SPENT = st.sampled_from(SPENT)
_TURN = st.tuples(st.lists(_CALL, min_size=1, max_size=3), _SPENT, st.sampled_from(("", "", "I look.")))
_SCRIPT = st.tuples(st.lists(_TURN, max_size=5), st.sampled_from(TURNS), st.sampled_from(ENDS), _SPENT)
_POOL = st.sampled_from((*range(len(POOLS)), *range(1, len(POOLS) - 1), 1, 2, 2))
_STEPS, _REPEATS, _ZERO = st.sampled_from(STEPS), st.sampled_from(REPEATS), st.sampled_from(ZEROS)
_EDGE, _PRICES, _AT = st.sampled_from(EDGES), st.sampled_from(PRICES), st.integers(0, 5)
_RUNS, _SYSTEM, _HISTORY = st.sampled_from(RUNS), st.sampled_from(SYSTEMS), st.sampled_from(HISTORIES)
_OPTIONS, _RARELY, _EVENLY = st.sampled_from(OPTIONS), st.sampled_from((*[False] * 9, True)), st.booleans()


@st.composite
def scenarios(draw: DrawFn) -> Scenario:
    """A scenario that the oracle can predict."""
    pool, script, again = draw(_POOL), draw(_SCRIPT), draw(_EVENLY)
    steps, runs, history = draw(_STEPS), draw(_RUNS), draw(_HISTORY)
    endless = steps in {None, NO_METER} and draw(_EVENLY)
    scripts = (script, draw(_SCRIPT)) if runs == "another" else (script,)
    tasks = [
        Task(
            task=f"task {place + 1}",
            history=history,
            replies=_replies(one, pool, first=place * 100, endless=endless, again=again),
        )
        for place, one in enumerate(scripts)
    ]
    meter = None if steps == NO_METER else _meter(draw, steps, tasks[0].replies)
    zero = None if meter is None else draw(_ZERO)
    output_limit, temperature = draw(_OPTIONS)
    return Scenario(
        name="drawn",
        meter=meter if meter is None or zero is None else meter.model_copy(update={zero: 0}),
        system=draw(_SYSTEM),
        max_output_tokens=output_limit,
        temperature=temperature,
        tools=not draw(_RARELY),
        tracer=draw(_EVENLY),
        costs=COUNTS if draw(_EVENLY) else (),
        refusable=zero is not None,
        runs=(*tasks, *tasks) if runs == "again" else tuple(tasks),
    )


def _meter(draw: DrawFn, steps: Any, replies: tuple[Reply, ...]) -> Meter:
    """Ceilings beside what the replies come to."""
    prices, at = draw(_PRICES), draw(_AT)
    spent = sum((reply.usage.usage() for reply in replies[: at % (len(replies) or 1) + 1]), Usage())
    turns = sum(bool(reply.asks) for reply in replies)
    priced = Meter(price_per_1k_input=prices[0], price_per_1k_output=prices[1])
    steps = at % (turns or 1) + 1 - turns if steps == SOME else steps
    tokens, cost = draw(_EDGE), draw(_EDGE)
    exactly = cost_of(priced, spent.input_tokens, spent.output_tokens)
    return Meter(
        max_steps=steps if steps in {None, ROOMY} else max(1, turns + steps),
        max_total_tokens=None if tokens is None else max(1, spent.total + tokens),
        max_cost=None if cost is None else max(0.001, float(exactly + Fraction(cost, 1000))),
        repeat_limit=_repeats(draw(_REPEATS), replies),
        price_per_1k_input=prices[0],
        price_per_1k_output=prices[1],
    )


def _repeats(limit: int | str | None, replies: tuple[Reply, ...]) -> int | None:
    if not isinstance(limit, str):
        return limit
    asks = [ask for reply in replies for ask in reply.asks]
    calls = Counter(json.dumps([ask.name, ask.arguments, ask.opaque], sort_keys=True) for ask in asks)
    most = max(calls.values(), default=1)
    return max(1, most - (limit == PASSED))


def _replies(script: Script, pool: int, *, first: int, endless: bool, again: bool) -> tuple[Reply, ...]:
    """The replies of a run. Calls are numbered behind `first`, or their ids say what they are and come `again`."""
    turns, how, end, last = script
    replies: list[Reply] = []
    number = first
    for turn, (calls, spent, text) in enumerate(turns):
        asks: dict[str, Ask] = {}
        for call in calls if how == "free" else turns[0][0]:
            number += 1
            outcome, place = divmod(call, len(POOLS[pool]))
            place ^= how == "nearly" and turn % 2
            place, outcome = place % len(POOLS[pool]), outcome % len(OUTCOMES)
            known = f"id_{place}_{outcome}"
            name = known if again and known not in asks else f"call_{number}"
            asks[name] = _ask(name, pool, place, outcome)
        replies.append(Reply(text=text, asks=tuple(asks.values()), usage=_tokens(spent)))
    replies += _runaway() if endless else ()
    if end is not None:
        error = "the model is down" if end == RAISES else None
        replies.append(Reply(text="" if error else end, error=error, usage=_tokens(last)))
    return tuple(replies)


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
