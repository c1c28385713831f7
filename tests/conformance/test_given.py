"""The line above a worked example: everything that a scenario sets and that is not the default, whichever option it is.

A failure cannot be understood without it: what a budget was stands nowhere else.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.conformance.pages import Page, check, made_up
from tests.conformance.test_console_report import failures

from looptck import scenario as ag03
from looptck.lesson4 import scenario as lesson4
from looptck.observation import InvocationSeen, Observation
from looptck.report.given import given

SAID = (ag03.Said(content="What is there to see?"),)
RUN = ag03.Invocation(messages=SAID, turns=(ag03.Turn(text=("A ship.",)),))
TASK = lesson4.Task(task="look", replies=(lesson4.Reply(text="A ship."),))
CAPPED = ag03.Scenario(name="sea", options=ag03.Options(max_tokens=15), invocations=(RUN,))
SEEN = Observation("sea", invocations=(InvocationSeen("answered", 0, 0, ()),))


def metered(**fields: Any) -> str:
    return given(lesson4.Scenario(name="sea", runs=(TASK,), **fields))


def test_where_all_is_default_there_is_no_line() -> None:
    assert given(ag03.Scenario(name="sea", invocations=(RUN,))) == metered() == ""
    two = (RUN, RUN.model_copy(update={"messages": ()}))
    assert given(ag03.Scenario(name="sea", invocations=two)) == ""


def test_what_is_set_stands_in_the_order_of_the_fields() -> None:
    options = ag03.Options(system="Be brief.", call_options={"temperature": 0}, max_iter=0, max_parallel_tools=1)
    told = given(ag03.Scenario(name="sea", options=options, gate=True, finish="last", invocations=(RUN,)))
    assert told == (
        'with system="Be brief.", call_options={"temperature": 0}, max_iter=0, max_parallel_tools=1, gate, '
        'finish="last"'
    )


def test_what_a_run_sets_is_told_with_its_number_where_there_are_several() -> None:
    first = RUN.model_copy(update={"runner": "record", "stop": ag03.Stop(after=2, lost=True)})
    again = RUN.model_copy(update={"continues": 0, "approvals": ("m",)})
    assert given(ag03.Scenario(name="sea", invocations=(first,))) == 'with runner="record", stop(after=2, lost)'
    assert given(ag03.Scenario(name="sea", gate=True, invocations=(first, RUN, again))) == (
        'with gate; run 1 with runner="record", stop(after=2, lost); run 3 with continues=run 1, approvals=["m"]'
    )


def test_a_meter_that_limits_nothing_is_still_one() -> None:
    assert metered(meter=lesson4.Meter()) == "with meter()"
    assert metered(meter=lesson4.Meter(repeat_limit=1, max_cost=0.5), tools=False) == (
        "with max_cost=0.5, repeat_limit=1, no tools"
    )


def test_the_history_of_a_run_is_told_and_cut() -> None:
    history = ({"role": "user", "content": "a" * 90},)
    told = given(lesson4.Scenario(name="sea", runs=(TASK.model_copy(update={"history": history}),)))
    assert told == 'with history=[{"role": "user", "content": "aaaaaaaaa…'


@pytest.mark.parametrize("name", ag03.Options.model_fields)
def test_no_option_of_ag03_is_forgotten(name: str) -> None:
    values: dict[str, Any] = {"system": "brief", "name": "brief", "call_options": {"brief": True}}
    options = ag03.Options.model_validate({name: values.get(name, 7)})
    told = given(ag03.Scenario(name="sea", options=options, invocations=(RUN,)))
    assert told == f"with {name}={json.dumps(values.get(name, 7))}"


@pytest.mark.parametrize("name", lesson4.Meter.model_fields)
def test_no_limit_or_price_of_a_meter_is_forgotten(name: str) -> None:
    assert metered(meter=lesson4.Meter.model_validate({name: 7})).startswith(f"with {name}=7")


def test_the_line_stands_above_the_worked_example() -> None:
    failed = check(expected=1, seen=2)
    lines = failures(failed, scenario=CAPPED, observation=SEEN).splitlines()
    assert lines[lines.index("the run of scenario sea") + 1] == "  with max_tokens=15"
    page = Page(made_up(failed, scenario=CAPPED, observation=SEEN))
    assert page.texts("p", "given") == ["with max_tokens=15"]


def test_no_text_of_a_scenario_gets_out_of_the_line() -> None:
    options = ag03.Options(system="[bold]\x1b[31m\n</p><script>")
    scenario = CAPPED.model_copy(update={"options": options})
    lines = failures(check(expected=1, seen=2), scenario=scenario, observation=SEEN).splitlines()
    assert r'  with system="[bold]\u001b[31m\n</p><script>"' in lines
    page = Page(made_up(check(expected=1, seen=2), scenario=scenario, observation=SEEN))
    assert page.texts("p", "given") == [r'with system="[bold]\u001b[31m\n</p><script>"']
