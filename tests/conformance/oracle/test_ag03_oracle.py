"""The oracle of ag03: correct loops do what it predicts, of whatever style, and no mutant of the reference does."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from tests.conformance.implementations_harness import ROOT, Implementations, forget_import
from tests.conformance.oracle.beside import SEED, Levels, differing, predicted
from tests.conformance.oracle.killing import levels_where_killed

from looptck import oracle
from looptck.fuzz.ag03 import scenarios
from looptck.fuzz.observing import Observer
from looptck.fuzz.search import Search, search
from looptck.oracle.judging import Judged, judge_one
from looptck.profile import profile_of
from looptck.requirements import requirements
from looptck.scenario import Call, Invocation, Options, Said, Scenario, Tokens, Turn
from looptck.target import REFERENCES, Loader, parse_target
from looptck_fakes import ModelAsked

if TYPE_CHECKING:
    from tests.lean import Lean

AG03 = Implementations("ag03", ROOT)
CORRECT = ["reference", *map(str, AG03.correct)]
each_correct = pytest.mark.parametrize("target", CORRECT, ids=lambda target: target.rpartition("/")[2])
DRAWN, WITHIN = 40, 300
USER = (Said(content="go"),)
SLOW, FEW = "state_machine.py", 15
"""A loop that works in threads: that nothing more can happen is seen by waiting, many times in each scenario."""
NOT_PREDICTED = {"x125", "x126", "x130", "x131", "x132", "x134", "x135", "x141", "x172", "x176", "x180"}
"""Mutants that differ where a run is cancelled, where several run at once, or before a server."""
LESS_GRAVE = {"x160"}
"""It runs a tool that raises a second time: what follows from a tool that raises is a matter of good sense."""


def test_nearly_all_scenarios_of_the_suite_can_be_predicted() -> None:
    assert len(predicted("ag03")) > 90


@each_correct
def test_a_correct_loop_does_in_the_suite_what_is_predicted(target: str, lean: Lean) -> None:
    assert lean(differing, "ag03", target) == {}


# mutants


@pytest.fixture(scope="module")
def levels(lean: Lean) -> Levels:
    return lean(levels_where_killed, "ag03")


def test_no_mutant_does_but_where_nothing_is_predicted(levels: Levels) -> None:
    assert len(levels) > 180
    assert {mutant for mutant, (broken, _) in levels.items() if not broken} == NOT_PREDICTED


def test_what_a_mutant_breaks_is_as_grave_as_what_its_killer_checks(levels: Levels) -> None:
    less = {
        mutant for mutant, (broken, wanted) in levels.items() if broken and wanted == "must" and "must" not in broken
    }
    assert less == LESS_GRAVE


# drawn scenarios


@each_correct
def test_a_correct_loop_does_what_is_predicted_of_drawn_scenarios(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    forget_import(monkeypatch)
    profile = profile_of("ag03")
    adapter = parse_target(target, {"reference": REFERENCES["ag03"]}).load(profile.adapt)
    told: list[str] = []

    @seed(SEED)
    @settings(
        max_examples=FEW if target.endswith(SLOW) else DRAWN,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(scenarios())
    def each(scenario: Scenario) -> None:
        found = oracle.differences(profile, scenario, profile.observe(adapter, scenario, 10))
        told.extend(f"{one} in {scenario.model_dump_json(exclude_defaults=True)}" for one in found)

    each()
    assert told == []


FIT = tuple(Call(id=f"fit_{place}", name="look_up", arguments='{"q":"a"}') for place in range(3))
UNFIT = (
    *(
        Call(id=f"call_{place}", name="look_up", arguments=arguments)
        for place, arguments in enumerate(('{"q":', "null", "", "{}"))
    ),
    Call(id="denied", name="look_up", arguments="{,}", verdict="deny", reason="no"),
)
"""Calls whose arguments are no JSON object, but for one. A loop may leave them to the tools or answer them itself."""
UNFIT_TURN = Turn(calls=UNFIT, usage=Tokens(input=3))
UNFIT_RUNS = {
    "fresh": {"turns": (UNFIT_TURN, UNFIT_TURN.model_copy(update={"calls": UNFIT[:1]}), Turn(text=("Yes.",)))},
    "resumed": {
        "messages": (Said(content="go"), Said(role="assistant", calls=UNFIT[:1])),
        "turns": (Turn(text=("Yes.",)),),
    },
}


@pytest.mark.parametrize("run", UNFIT_RUNS.values(), ids=UNFIT_RUNS)
@each_correct
def test_whoever_answers_calls_without_fit_arguments_differs_in_nothing(
    target: str, run: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    forget_import(monkeypatch)
    profile = profile_of("ag03")
    adapter = parse_target(target, {"reference": REFERENCES["ag03"]}).load(profile.adapt)
    first = Invocation(**{"messages": USER, "read": "all", "runner": "record"} | run)
    scenario = Scenario(name="unfit", tracer=True, invocations=(first, first.model_copy(update={"runner": "replay"})))
    for gate, limit in product((False, True), (None, 1, 3, 4, 5, 6)):
        each = scenario.model_copy(update={"gate": gate, "options": Options(max_tool_calls=limit)})
        assert oracle.differences(profile, each, profile.observe(adapter, each, 10)) == (), (gate, limit)


@pytest.mark.parametrize("error_at", ["before", "middle", "after"])
@each_correct
def test_whatever_a_loop_keeps_of_a_reply_that_failed_it_differs_in_nothing(
    target: str, error_at: Literal["before", "middle", "after"], monkeypatch: pytest.MonkeyPatch
) -> None:
    forget_import(monkeypatch)
    profile = profile_of("ag03")
    adapter = parse_target(target, {"reference": REFERENCES["ag03"]}).load(profile.adapt)
    for calls, fragments in product(range(4), (1, 2, 3)):
        failed = Turn(text=("Let ", "me."), calls=FIT[:calls], fragments=fragments, error="down", error_at=error_at)
        first = Invocation(messages=USER, turns=(Turn(calls=FIT[:1]), failed), read="all")
        resumed, asked = (Invocation(continues=0, messages=more, turns=(Turn(text=("Yes.",)),)) for more in ((), USER))
        for second in (resumed, asked):
            scenario = Scenario(name="failing", invocations=(first, second))
            assert oracle.differences(profile, scenario, profile.observe(adapter, scenario, 10)) == (), scenario


# wrong loops


def grave() -> list[Path]:
    """The wrong loops that the suite fails for a must."""
    records = requirements("ag03")
    checks = {check.id: check for test in profile_of("ag03").tests for check in test.checks}
    failed = {
        file: [one for verdict in ("fail", "obstacle") for one in AG03.recorded(file).get(verdict, [])]
        for file in AG03.wrong
    }
    return [file for file, ids in failed.items() if any(records[checks[i].requirement].level == "must" for i in ids)]


RARE = {"bounded_queue"}
"""It waits for a reader behind a hundred events: so long a text comes once in hundreds of scenarios."""


@pytest.mark.parametrize("file", [file for file in grave() if file.stem not in RARE], ids=lambda file: file.stem)
def test_the_fuzzer_finds_a_wrong_loop(file: Path) -> None:
    profile, load = profile_of("ag03"), Loader(parse_target(str(file), {}), "ag03")
    with closing(Observer(profile, load, 5)) as observing:
        found = search(profile, observing, Search(SEED, WITHIN, shrink=False, one=True))
    assert [one.level for one in found.failures.values()] == ["must"]


def test_whoever_shows_usage_when_it_is_reported_need_not_show_it_again(monkeypatch: pytest.MonkeyPatch) -> None:
    early = Turn(text=("one",), early_usage=Tokens(input=3, output=1))
    scenario = Scenario(name="early", invocations=(Invocation(messages=USER, turns=(early,), read="all"),))
    forget_import(monkeypatch)
    profile = profile_of("ag03")
    adapter = parse_target("reference", {"reference": REFERENCES["ag03"]}).load(profile.adapt)
    seen = profile.observe(adapter, scenario, 10)
    (run,) = seen.invocations
    text, usage, *rest = run.events
    assert (text.kind, usage.kind) == ("text", "usage")
    at_once = replace(seen, invocations=(replace(run, events=(usage, text, *rest)),))
    assert oracle.differences(profile, scenario, at_once) == ()


def test_values_without_a_hash_in_spans_are_differences(monkeypatch: pytest.MonkeyPatch) -> None:
    turns = (Turn(text=("one",), usage=Tokens(input=3, output=1)),)
    scenario = Scenario(name="spans", tracer=True, invocations=(Invocation(messages=USER, turns=turns),))
    forget_import(monkeypatch)
    profile = profile_of("ag03")
    adapter = parse_target("reference", {"reference": REFERENCES["ag03"]}).load(profile.adapt)
    seen = profile.observe(adapter, scenario, 10)
    listed = tuple(replace(one, attributes={k: [v] for k, v in one.attributes.items()}) for one in seen.spans)
    assert oracle.differences(profile, scenario, replace(seen, spans=listed)) != ()


def test_usage_is_blamed_on_reports_of_a_reply_that_was_made_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    twice = Turn(usage=Tokens(input=1), early_usage=Tokens(input=2))
    turns = (Turn(text=("one",), usage=Tokens(input=3, output=1)), twice)
    scenario = Scenario(name="usage", invocations=(Invocation(messages=USER, turns=turns),))
    forget_import(monkeypatch)
    profile = profile_of("ag03")
    adapter = parse_target("reference", {"reference": REFERENCES["ag03"]}).load(profile.adapt)
    seen = profile.observe(adapter, scenario, 10)
    off = replace(seen, invocations=(replace(seen.invocations[0], usage=None),))
    assert [one.requirement for one in oracle.differences(profile, scenario, off)] == ["usage-is-summed"]


def test_there_are_wrong_loops_to_find() -> None:
    assert len(grave()) > 10


# good sense, beside a reading that is not the reference's

WAITS = Call(id="a", name="look_up", verdict="need_approval", marker="ok-a")
RESUMED = Scenario(
    name="resumed",
    gate=True,
    invocations=(
        Invocation(messages=USER, turns=(Turn(calls=(WAITS,)),), runner="record", read="all"),
        Invocation(continues=0, turns=(Turn(text=("Yes.",)),), approvals=("ok-a",), runner="record", read="all"),
    ),
)
DENIED = (
    Call(id="a", name="look_up", arguments='{"q":"a"}'),
    Call(id="b", name="look_up", verdict="deny", reason="no"),
)
OTHERWISE: dict[str, tuple[str, Scenario, str]] = {
    "arguments written anew": (
        "reencodes_arguments",
        Scenario(
            name="anew",
            gate=True,
            invocations=(
                Invocation(
                    messages=USER,
                    turns=(Turn(calls=DENIED), Turn(text=("Yes.",))),
                    runner="refuse",
                    refuse=("tool/1/1/look_up",),
                ),
            ),
        ),
        "arguments-verbatim",
    ),
    "arguments that are no JSON, beside a step that is refused": (
        "reencodes_arguments",
        Scenario(
            name="no JSON",
            invocations=(
                Invocation(
                    messages=USER,
                    turns=(Turn(calls=(Call(id="c", name="look_up", arguments='{"q":'), *DENIED)),),
                    runner="refuse",
                    refuse=("tool/1/1/look_up",),
                ),
            ),
        ),
        "arguments-verbatim",
    ),
}


@pytest.mark.parametrize(("loop", "scenario", "broken"), OTHERWISE.values(), ids=OTHERWISE)
def test_a_loop_that_breaks_only_good_sense_breaks_no_must_where_another_reading_explains_the_rest(
    loop: str, scenario: Scenario, broken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = judged(loop, scenario, monkeypatch)
    assert (one.broken, one.level) == (broken, "should")


def test_nor_does_one_whose_events_alone_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """It counts from another number than the reference, which explains all but a verdict in an event."""
    seen = judged("batches", RESUMED, monkeypatch).observation
    *before, last = seen.invocations
    denied = [replace(event, verdict="deny") if event.kind == "tool_call" else event for event in last.events]
    assert "tool_call" in {event.kind for event in last.events}
    otherwise = replace(seen, invocations=(*before, replace(last, events=tuple(denied))))
    one = judge_one(profile_of("ag03"), RESUMED, otherwise)
    assert (one.broken, one.level) == ("events-carry-verdict", "should")


def judged(loop: str, scenario: Any, monkeypatch: pytest.MonkeyPatch) -> Judged:
    forget_import(monkeypatch)
    profile = profile_of("ag03")
    adapter = parse_target(str(ROOT / f"wrong/{loop}.py"), {}).load(profile.adapt)
    return judge_one(profile, scenario, profile.observe(adapter, scenario, 10))


OFFERED = {"turned": ((1, 0), True), "twice": ((0, 1, 0), False), "one": ((0,), False)}


@pytest.mark.parametrize(("places", "well"), OFFERED.values(), ids=OFFERED)
def test_definitions_are_sent_once_each_and_in_any_order(
    places: tuple[int, ...], monkeypatch: pytest.MonkeyPatch, *, well: bool
) -> None:
    forget_import(monkeypatch)
    profile, calls = profile_of("ag03"), (Call(id="a", name="search"), Call(id="b", name="fetch"))
    run = Invocation(messages=USER, turns=(Turn(calls=calls), Turn(text=("Yes.",))))
    scenario = Scenario(name="two", invocations=(run,))
    adapter = parse_target("reference", {"reference": REFERENCES["ag03"]}).load(profile.adapt)
    seen = profile.observe(adapter, scenario, 10)
    log = tuple(
        replace(it, tools=tuple(it.tools[place] for place in places)) if isinstance(it, ModelAsked) else it
        for it in seen.records
    )
    other = replace(seen, records=log)
    check = next(check for test in profile.tests for check in test.checks if check.id == "hand/tool-definitions")
    assert check.function(profile.evidence(scenario, other)).ok is well
    told = [one.requirement for one in oracle.differences(profile, scenario, other)]
    assert told == ([] if well else ["definitions-every-call"])
