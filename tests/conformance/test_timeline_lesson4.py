"""The timeline of runs of lesson4: model calls and dispatches in order, and what no ceiling should have let pass."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conformance.implementations_harness import forget_import
from tests.conformance.timelines import bars, beyond, lines, of_suite

from looptck.lesson4.adapter import ContractAdapter
from looptck.lesson4.evidence import Evidence
from looptck.lesson4.observation import Observation, RequestSeen, RunSeen, SpanSeen, from_json, to_json
from looptck.lesson4.observe import observe_here
from looptck.lesson4.scenario import Ask, Meter, Reply, Scenario, Task
from looptck.lesson4.timeline import timeline
from looptck.report.lanes import Timeline
from looptck.scenario import Tokens
from looptck.session import choose
from looptck_reference import metered

LOOK, COUNT = Ask(id="call_1", name="look"), Ask(id="call_2", name="count")
PAID = Tokens(input=4, output=2)
LOOKS, COUNTS = Reply(asks=(LOOK,), usage=PAID), Reply(asks=(COUNT,), usage=PAID)
ANSWERS = Reply(text="A ship.", usage=PAID)
REQUEST = RequestSeen((), None, None, None)


@pytest.fixture(autouse=True)
def _forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    forget_import(monkeypatch)


def scenario(*replies: Reply, **meter: Any) -> Scenario:
    run = Task(task="Look.", replies=replies)
    return Scenario(name="sea", meter=Meter(**meter) if meter else None, tracer=True, runs=(run,))


def drawn(given: Scenario) -> Timeline:
    """The timeline of the reference loop."""
    found = timeline(Evidence(given, observe_here(ContractAdapter(metered.Agent, metered), given)))
    assert found is not None
    return found


def of(given: Scenario, requests: int, *dispatched: str) -> Timeline:
    """The timeline of a run that asked the model so often and dispatched these lines."""
    run = RunSeen("returned", (REQUEST,) * requests, dispatched, stop="answered")
    found = timeline(Evidence(given, Observation("sea", (run,))))
    assert found is not None
    return found


def test_model_calls_and_dispatches_stand_in_their_order() -> None:
    found = drawn(scenario(Reply(asks=(LOOK, COUNT)), ANSWERS))
    assert [(bar.text, bar.start) for bar in bars(found, "model")] == [("0", 0), ("1", 3)]
    assert [(bar.text, bar.start) for bar in bars(found, "tool")] == [("look", 1), ("count", 2)]
    assert [(bar.text, bar.start, bar.end) for bar in bars(found, "run")] == [("the run: answered", 0, 4)]
    assert (lines(found), found.size) == ([("end of the run", 4)], 4)


def test_spans_stand_around_what_happened_in_them_also_in_a_second_run() -> None:
    run = Task(task="Look.", replies=(LOOKS, ANSWERS))
    found = drawn(Scenario(name="sea", tracer=True, runs=(run, run)))
    assert [(bar.text, bar.start, bar.end) for bar in bars(found, "span")] == [("agent.run", 0, 3), ("agent.run", 3, 6)]
    assert [bar.text for bar in bars(found, "run")] == ["run 1: answered", "run 2: answered"]


def test_a_call_that_passed_the_repeat_limit_and_ran_shows() -> None:
    found, right = of_suite("lesson4", "repeat/never-run", "bottom_checked"), of_suite("lesson4", "repeat/never-run")
    assert [bar.mark for bar in bars(found, "tool")] == ["", "", "beyond"]
    assert lines(found)[0] == ("repeats: 3 > 2", bars(found, "tool")[2].start)
    assert lines(right)[0] == lines(found)[0]
    assert beyond(right) == []


@pytest.mark.parametrize(
    ("meter", "line"),
    [
        ({"max_steps": 1}, "steps: 1"),
        ({"max_total_tokens": 5}, "tokens: 6 > 5"),
        ({"max_cost": 0.5, "price_per_1k_input": 100.0, "price_per_1k_output": 100.0}, "cost: 0.6 > 0.5"),
    ],
)
def test_a_model_call_after_a_ceiling_shows(meter: dict[str, Any], line: str) -> None:
    given = scenario(LOOKS, COUNTS, **meter)
    found = of(given, 2, "call_1 = look({})", "call_2 = count({})")
    assert lines(found)[0] == (line, 2)
    assert beyond(found) == ["model 1", "tool count"]
    assert beyond(drawn(given)) == []


def test_with_room_for_no_step_the_first_model_call_shows() -> None:
    assert beyond(of(scenario(ANSWERS, max_steps=0), 1)) == ["model 0"]


def test_what_happens_after_a_fatal_error_shows() -> None:
    fatal = Reply(asks=(LOOK.model_copy(update={"outcome": "fatal"}),))
    found = of(scenario(fatal, ANSWERS), 2, "call_1 = look({})")
    assert beyond(found) == ["model 1"]
    assert beyond(drawn(scenario(fatal, ANSWERS))) == []


def test_what_was_dispatched_and_not_asked_for_stands_at_the_end() -> None:
    found = of(scenario(ANSWERS), 1, "call_9 = steal({})")
    assert [(bar.text, bar.start) for bar in bars(found, "tool")] == [("steal", 1)]


def test_there_is_no_timeline_without_a_run() -> None:
    assert timeline(Evidence(scenario(ANSWERS), Observation("sea", refused="ValueError: no"))) is None


def test_no_limit_is_ever_passed_by_the_reference() -> None:
    for chosen in choose("lesson4", "", 9):
        for given in chosen.scenarios:
            if not given.refusable:
                assert beyond(drawn(given)) == [], given.name


def test_where_spans_stand_survives_json_and_makes_no_difference() -> None:
    span = SpanSeen("agent.run", {}, ended=False, began=3)
    (back,) = from_json(to_json(Observation("sea", spans=(span,)))).spans
    assert (back.began, back.finished) == (3, None)
    assert back == SpanSeen("agent.run", {}, ended=False)


def test_a_span_that_never_ended_is_broken() -> None:
    run = RunSeen("returned", (REQUEST,), ())
    seen = Observation(
        "sea", (run,), (SpanSeen("agent.run", {}, ended=False, began=0), SpanSeen("lost", {}, ended=True))
    )
    found = timeline(Evidence(scenario(ANSWERS), seen))
    assert found is not None
    assert [(bar.text, bar.end, bar.mark) for bar in bars(found, "span")] == [("agent.run", None, "broken")]
