"""Whole scenarios of the profile lesson4, drawn at random and near the edges of its rules.

Few draws make a scenario: calls come from a handful of near equals, ceilings are set beside what the replies spend.
Everything drawn stands in a table whose first entry is the plainest, so that a scenario shrinks towards it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

from hypothesis import strategies as st

from looptck.lesson4.scenario import Ask, Meter, Reply, Scenario, Task
from looptck.oracle.lesson4 import cost_of
from looptck.scenario import Tokens

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn

__all__ = ["scenarios"]

LONG = "so it goes on and on, " * 600
"""Over ten thousand characters."""
ROOMY = 50
RUNAWAY = 100
"""Steps that no ceiling allows which nobody set."""
Arguments = tuple[str, dict[str, Any], dict[str, str]]
"""The tool of a call, its arguments, and those that are no JSON."""

POOLS: tuple[tuple[Arguments, ...], ...] = (
    (("search", {"q": "a"}, {}), ("search", {"q": "b"}, {}), ("fetch", {"q": "a"}, {}), ("missing", {"q": "a"}, {})),
    (("search", {"a": 1, "b": 2}, {}), ("search", {"b": 2, "a": 1}, {}), ("search", {"a": 2, "b": 1}, {})),
    (
        ("search", {"a": {"x": 1, "y": [2, {"p": 3, "q": 4}]}}, {}),
        ("search", {"a": {"y": [2, {"q": 4, "p": 3}], "x": 1}}, {}),
        ("search", {"a": {"x": 1, "y": [{"p": 3, "q": 4}, 2]}}, {}),
    ),
    (("book", {}, {"when": "2030-01-01"}), ("book", {}, {"when": "2030-01-02"}), ("book", {"n": 1}, {})),
    (("book", {"n": 1}, {}), ("book", {"n": "1"}, {}), ("book", {"n": None}, {}), ("book", {}, {}), ("book", {"n": 2}, {})),
    (("search", {"q": "rain"}, {}), ("search", {"q": "Rain"}, {}), ("search", {"Q": "rain"}, {})),
    (("search", {"q": "rain"}, {}), ("search", {"q": "rain "}, {}), ("search_all", {"q": "rain"}, {})),
    (("search", {"from": "a", "to": "b"}, {}), ("search", {"from": "b", "to": "a"}, {}), ("search", {"q": ["a", "b"]}, {})),
    (("search", {"q": ["b", "a"]}, {}), ("search", {"q": ["a", "b"]}, {}), ("search", {"q": "a"}, {})),
    (("search", {"q": f"{LONG}1"}, {}), ("search", {"q": f"{LONG}2"}, {}), ("suche", {"q": "naïve ☂ 日本"}, {})),
    (("book", {"n": 1}, {}), ("book", {"n": 1.0}, {}), ("book", {"n": True}, {}), ("book", {"when": "a"}, {"when": "a"})),
)
"""Calls that one scenario chooses from: some the same, some nearly. `missing` is a tool that no registry knows."""
Outcome = Literal["ok", "failed", "denied", "unknown", "fatal"]
OUTCOMES: tuple[tuple[Outcome, str], ...] = (
    ("ok", "found"),
    ("failed", "timed out"),
    ("ok", "found"),
    ("denied", "not allowed"),
    ("ok", "found it"),
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
ENDS: tuple[str | None, ...] = (*TEXTS, TEXTS[0], TEXTS[0], "raises", None)
"""The last reply: an answer; an error of the model; or none, so that the script is too short."""
SYSTEMS = (None, "Be brief.", None, "naïve ☂", "")
HISTORIES: tuple[tuple[dict[str, Any], ...] | None, ...] = (
    None,
    ({"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}),
    None,
    (),
    (
        {"role": "user", "content": "look it up"},
        {"role": "assistant", "content": "", "tool_calls": [{"id": "old_1", "name": "lookup", "arguments": {"q": "a"}}]},
        {"role": "tool", "tool_call_id": "old_1", "name": "lookup", "content": "found"},
        {"role": "assistant", "content": "there it is"},
    ),
    ({"role": "system", "content": "Be long."}, {"role": "user", "content": "hello"}),
)
OPTIONS: tuple[tuple[int | None, float | None], ...] = ((None, None), (64, 0.0), (None, 0.25), (900, None))
COUNTS = ((1000, 0), (0, 1000), (503, 251), (7, 3))
"""Tokens that the meter is asked the cost of."""
PRICES: tuple[tuple[float | None, float | None], ...] = ((2.0, 10.0), (None, None), (3.0, None), (None, 0.5), (1.5, 1.5))
STEPS: tuple[int | None, ...] = (ROOMY, 0, 1, ROOMY, -1, 2, None)
"""The ceiling of steps: roomy, unset, or so many more than the script has replies."""
REPEATS: tuple[int | None, ...] = (ROOMY, 1, 2, 3, None)
EDGES = (ROOMY, -1, 0, 1)
"""How far a ceiling lies above what has been spent at some step: far, or just passed, met, or just not met."""
ZEROS = (None, None, None, None, None, None, "max_steps", "max_total_tokens", "max_cost", "repeat_limit")


def _below(table: tuple[Any, ...]) -> st.SearchStrategy[int]:
    return st.integers(0, len(table) - 1)


_CALL = st.integers(0, len(OUTCOMES) * max(len(pool) for pool in POOLS) * 2)
_TURN = st.tuples(st.lists(_CALL, min_size=1, max_size=3), _below(SPENT), st.integers(0, 3))
_SCRIPT = st.tuples(st.lists(_TURN, max_size=6), st.sampled_from(ENDS), _below(SPENT))
_AROUND = st.fixed_dictionaries(
    {
        "system": st.sampled_from(SYSTEMS),
        "tracer": st.booleans(),
        "options": st.sampled_from(OPTIONS),
        "history": st.sampled_from(HISTORIES),
    }
)


@st.composite
def scenarios(draw: DrawFn) -> Scenario:
    """A scenario that the oracle can predict."""
    pool = draw(st.sampled_from(POOLS))
