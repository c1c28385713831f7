"""Reports show arguments in the order in which the model writes them: it may be all that tells two calls apart.

What is compared has sorted keys as ever, so the order of keys never makes a difference.
"""

from __future__ import annotations

from typing import Any

import pytest
from tests.conformance.pages import Page, check, made_up
from tests.conformance.test_console_report import failures

from looptck.canonical import as_written, canonical, in_order
from looptck.lesson4.scenario import Ask, Reply, Task
from looptck.lesson4.scenario import Scenario as Metered
from looptck.observation import InvocationSeen, Observation
from looptck.profile import profile_of
from looptck.report.beside import Pair, pairs
from looptck.scenario import Call, Invocation, Said, Scenario, Turn
from looptck.target import REFERENCES, parse_target

WRITTEN, SORTED = '{"b": {"d": 1, "c": 2}, "a": 1}', '{"a": 1, "b": {"c": 2, "d": 1}}'
LOOK = Call(id="call_1", name="look", arguments=WRITTEN.replace(" ", ""))
SEA = Scenario(name="sea", invocations=(Invocation(messages=(Said(),), turns=(Turn(calls=(LOOK,)), Turn())),))
ASKS = tuple(
    Ask(id=f"call_{n}", name="look", arguments=arguments) for n, arguments in ((1, {"b": 2, "a": 1}), (2, {"a": 1}))
)
METERED = Metered(name="sea", runs=(Task(task="go", replies=(Reply(asks=ASKS), Reply(text="done"))),))
SEEN = Observation("sea", invocations=(InvocationSeen("answered", 0, 0, ()),))


def observed(profile: str, scenario: Any) -> Any:
    """The evidence of the reference."""
    known = profile_of(profile)
    adapter = parse_target("reference", {"reference": REFERENCES[profile]}).load(known.adapt)
    return known.evidence(scenario, known.observe(adapter, scenario, 5.0))


def test_keys_stay_in_their_order_and_nothing_else_is_kept() -> None:
    assert in_order('{"b":1.0,  "a":"\\u00e9"}') == '{"b": 1, "a": "é"}'
    assert in_order("{no JSON") == "{no JSON"
    assert canonical(in_order(WRITTEN)) == canonical(WRITTEN) == SORTED


def test_a_call_that_is_written_in_two_orders_is_shown_as_it_is_compared() -> None:
    assert as_written([("1", "2"), ("3", "4"), ("3", "5"), ("6", "6")]) == {"1": "2"}


@pytest.mark.parametrize(
    ("profile", "scenario", "said"),
    [
        ("ag03", SEA, f"call_1 = look({WRITTEN})"),
        ("lesson4", METERED, 'call_1 = look({"b": 2, "a": 1}), call_2 = look({"a": 1})'),
    ],
)
def test_the_worked_example_and_the_timeline_show_what_the_model_wrote(profile: str, scenario: Any, said: str) -> None:
    evidence, known = observed(profile, scenario), profile_of(profile)
    assert known.rows(evidence)[0].model == said
    timeline = known.timeline(evidence)
    assert timeline is not None
    told = [bar.told for lane in timeline.lanes if lane.kind == "tool" for bar in lane.bars]
    assert any(said.partition("),")[0] in one for one in told)


def test_a_call_that_ran_beyond_the_script_is_shown_so_too() -> None:
    evidence, known = observed("lesson4", METERED), profile_of("lesson4")
    object.__setattr__(evidence.observation.runs[0], "dispatched", evidence.run().dispatched * 2)
    assert known.rows(evidence)[-1].did[0] == 'also runs call_1 = look({"b": 2, "a": 1})'
    timeline = known.timeline(evidence)
    assert timeline is not None
    told = [bar.told for lane in timeline.lanes if lane.kind == "tool" for bar in lane.bars]
    assert 'also dispatched: call_1 = look({"b": 2, "a": 1})' in told


def test_sides_are_compared_before_they_are_put_into_other_words() -> None:
    shown = {"one": "1", "two": "1"}
    assert pairs(["one"], ["two"], shown) == [Pair("1", "1", "1", differs=True)]
    assert pairs({"x": {"y": ["an one"]}}, {"x": None}, shown) == [Pair("x", '{"y": ["an 1"]}', "null", differs=True)]


def test_terminal_and_page_show_expected_and_seen_in_that_order() -> None:
    line, written = f'assistant: "" + call_1 = look({SORTED})', f'assistant: "" + call_1 = look({WRITTEN})'
    failed = check(expected=[line], seen=[], alternatives=[line])
    text = failures(failed, scenario=SEA, observation=SEEN)
    assert text.count(written) == 2
    cells = Page(made_up(failed, scenario=SEA, observation=SEEN)).texts("td")
    assert written in cells
    assert not [shown for shown in (text, *cells) if SORTED in shown]
