"""The oracle of lesson4: correct loops do what it predicts, of whatever style, and no mutant of the reference does."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from tests.conformance.implementations_harness import ROOT, Implementations, forget_import
from tests.conformance.oracle.beside import SEED, Levels, differing, predicted
from tests.conformance.oracle.killing import levels_where_killed

from looptck import oracle
from looptck.contract.lesson4 import Stop
from looptck.fuzz.lesson4 import scenarios
from looptck.lesson4.scenario import Ask, Meter, Reply, Scenario, Task
from looptck.profile import profile_of
from looptck.scenario import Tokens
from looptck.suite.labels import Labels
from looptck.target import REFERENCES, parse_target

if TYPE_CHECKING:
    from tests.lean import Lean

    from looptck.lesson4.observation import Observation

CORRECT = ["reference", *map(str, Implementations("lesson4", ROOT / "lesson4").correct)]
each_correct = pytest.mark.parametrize("target", CORRECT, ids=lambda target: target.rpartition("/")[2])
DRAWN, MANY = 60, 400
NOT_SEEN: set[str] = set()
"""Mutants that no scenario of the suite shows to the oracle, or only below the level of the check that kills them."""


def test_every_scenario_of_the_suite_can_be_predicted() -> None:
    tests = profile_of("lesson4").tests
    assert len(predicted("lesson4")) == sum(len(test.build(Labels(SEED, test.name))) for test in tests)


@each_correct
def test_a_correct_loop_does_in_the_suite_what_is_predicted(target: str, lean: Lean) -> None:
    assert lean(differing, "lesson4", target) == {}


@pytest.fixture(scope="module")
def levels(lean: Lean) -> Levels:
    return lean(levels_where_killed, "lesson4")


def test_no_mutant_does_and_what_it_breaks_is_as_grave_as_what_its_killer_checks(levels: Levels) -> None:
    assert levels
    missed = {mutant for mutant, (broken, wanted) in levels.items() if not broken or wanted == "must" not in broken}
    assert missed == NOT_SEEN


def test_what_only_good_sense_asks_for_breaks_nothing_that_the_lesson_states(levels: Levels) -> None:
    sensible = {mutant for mutant, (_, wanted) in levels.items() if wanted == "should"}
    grave = {mutant for mutant in sensible if "must" in levels[mutant][0]}
    assert grave == {"l94"}, "which tells no reason of a fatal error either"


@each_correct
def test_a_correct_loop_does_what_is_predicted_of_drawn_scenarios(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    forget_import(monkeypatch)
    profile = profile_of("lesson4")
    adapter = parse_target(target, {"reference": REFERENCES["lesson4"]}).load(profile.adapt)

    @seed(SEED)
    @settings(max_examples=DRAWN, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(scenarios())
    def each(scenario: Scenario) -> None:
        assert oracle.unpredicted(profile, scenario) is None
        assert oracle.differences(profile, scenario, profile.observe(adapter, scenario, 10)) == ()

    each()


def test_drawn_scenarios_end_in_every_way() -> None:
    profile, ends = profile_of("lesson4"), set[str]()
    adapter = parse_target("reference", {"reference": REFERENCES["lesson4"]}).load(profile.adapt)

    @seed(SEED)
    @settings(max_examples=MANY, deadline=None, database=None, phases=[Phase.generate])
    @given(scenarios())
    def each(scenario: Scenario) -> None:
        ends.update(run.stop for run in profile.observe(adapter, scenario, 10).runs)

    each()
    where_the_model_raises = ""
    assert ends == {where_the_model_raises, *(stop.value for stop in Stop if stop is not Stop.NO_PROGRESS)}


def asking(*asks: Ask, **more: Any) -> Scenario:
    return Scenario(name="asking", runs=(Task(task="go", replies=(Reply(asks=asks), Reply(text="done"))),), **more)


def test_a_ceiling_that_nobody_set_may_be_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    # The reference has none: what it does is as predicted, and so is a run that a default ends at its second step.
    forget_import(monkeypatch)
    profile = profile_of("lesson4")
    adapter = parse_target("reference", {"reference": REFERENCES["lesson4"]}).load(profile.adapt)
    replies = tuple(
        Reply(asks=(Ask(id=f"call_{n}", name="search", arguments={"n": n}),), usage=Tokens(input=3000, output=200))
        for n in range(3)
    )
    scenario = Scenario(name="default", runs=(Task(task="go", replies=(*replies, Reply(text="done"))),))
    capped = scenario.model_copy(update={"meter": Meter(max_total_tokens=6000)})
    assert oracle.differences(profile, scenario, profile.observe(adapter, scenario, 10)) == ()
    assert oracle.differences(profile, scenario, profile.observe(adapter, capped, 10)) == ()


# what a ceiling of zero means

AGAIN = tuple(Reply(asks=(Ask(id=f"call_{n}", name="search"),), usage=Tokens(input=300, output=200)) for n in range(5))
STUCK = Scenario(name="stuck", refusable=True, runs=(Task(task="go", replies=(*AGAIN, Reply(text="done"))),) * 2)
PRICED = Meter(max_steps=9, price_per_1k_input=1.0, price_per_1k_output=1.0, repeat_limit=99)
ZEROS = {
    "repeat_limit": (0, 1, 2, 3, 99),
    "max_total_tokens": (0, 1, 700, 1000, 5000),
    "max_cost": (0, 0.01, 0.7, 1, 5),
}
CEILINGS = [pytest.param(name, read, id=f"{name}-{read}") for name, numbers in ZEROS.items() for read in numbers]


def under(scenario: Scenario, monkeypatch: pytest.MonkeyPatch, **ceilings: float) -> Observation:
    """What the reference does with these ceilings, whatever those of the scenario are."""
    forget_import(monkeypatch)
    profile = profile_of("lesson4")
    adapter = parse_target("reference", {"reference": REFERENCES["lesson4"]}).load(profile.adapt)
    seen: Observation = profile.observe(adapter, metered(scenario, **ceilings), 10)
    return seen


def metered(scenario: Scenario, **ceilings: float) -> Scenario:
    return scenario.model_copy(update={"meter": PRICED.model_copy(update=ceilings)})


@pytest.mark.parametrize(("ceiling", "read"), CEILINGS)
def test_a_ceiling_of_zero_may_be_any_number(ceiling: str, read: float, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = under(STUCK, monkeypatch, **{ceiling: read})
    assert oracle.differences(profile_of("lesson4"), metered(STUCK, **{ceiling: 0}), seen) == ()


@pytest.mark.parametrize(
    ("ceiling", "number", "read", "broken"),
    [
        ("repeat_limit", 1, 3, "repeated-call"),
        ("max_total_tokens", 600, 1200, "token-ceiling"),
        ("max_cost", 0.6, 1.2, "cost-ceiling"),
    ],
)
def test_another_ceiling_is_that_number(
    ceiling: str, number: float, read: float, broken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = under(STUCK, monkeypatch, **{ceiling: read})
    told = oracle.differences(profile_of("lesson4"), metered(STUCK, **{ceiling: number}), seen)
    assert [one.requirement for one in told] == [broken]


@pytest.mark.parametrize(
    ("ceiling", "numbers"), [("repeat_limit", (1, 3)), ("max_total_tokens", (700, 1200)), ("max_cost", (0.7, 1.2))]
)
def test_a_ceiling_of_zero_is_one_number_throughout(
    ceiling: str, numbers: tuple[float, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = (under(STUCK, monkeypatch, **{ceiling: number}) for number in numbers)
    mixed = replace(one, runs=(one.runs[0], other.runs[1]))
    assert oracle.differences(profile_of("lesson4"), metered(STUCK, **{ceiling: 0}), mixed) != ()


SAME = Ask(id="1", name="search")
UNPREDICTED = {
    "negative": (asking(SAME, meter=Meter(max_steps=-1)), "below zero"),
    "zero": (asking(SAME, meter=Meter(max_total_tokens=0)), "refusable"),
    "two outcomes": (asking(SAME, SAME.model_copy(update={"outcome": "failed"})), "asked for twice"),
    "no id": (asking(Ask(id="", name="search")), "has no id"),
    "half known": (asking(SAME, Ask(id="2", name="search", outcome="unknown")), "unknown"),
}


@pytest.mark.parametrize(("scenario", "why"), UNPREDICTED.values(), ids=UNPREDICTED)
def test_what_nothing_fixes_is_not_predicted(scenario: Scenario, why: str) -> None:
    assert why in (oracle.unpredicted(profile_of("lesson4"), scenario) or "")


SHARED = tuple(Ask(id="1", name=name, answer=f"of {name}") for name in ("search", "fetch"))
TWICE = (*SHARED, SHARED[0], Ask(id="1", name="search", arguments={"q": "b"}, answer="of search"))


@pytest.mark.parametrize("asks", [SHARED, TWICE], ids=["two tools", "twice"])
@each_correct
def test_calls_that_share_an_id_are_predicted_as_any_others(
    target: str, asks: tuple[Ask, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    forget_import(monkeypatch)
    profile = profile_of("lesson4")
    adapter = parse_target(target, {"reference": REFERENCES["lesson4"]}).load(profile.adapt)
    for limit in (1, 2, 3):
        scenario = asking(*asks, meter=Meter(max_steps=5, repeat_limit=limit))
        assert oracle.unpredicted(profile, scenario) is None
        assert oracle.differences(profile, scenario, profile.observe(adapter, scenario, 10)) == ()


def test_whoever_keeps_results_by_id_breaks_good_sense_and_no_must(monkeypatch: pytest.MonkeyPatch) -> None:
    forget_import(monkeypatch)
    profile = profile_of("lesson4")
    adapter = parse_target(str(ROOT / "lesson4/wrong/results_by_id.py"), {}).load(profile.adapt)
    shared, first = asking(*SHARED), asking(SAME)
    told = [one.requirement for one in oracle.differences(profile, shared, profile.observe(adapter, shared, 10))]
    assert told == ["duplicate-ids"]
    assert oracle.differences(profile, first, profile.observe(adapter, first, 10)) == ()


def test_what_comes_before_calls_that_share_an_id_is_judged_as_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    forget_import(monkeypatch)
    profile = profile_of("lesson4")
    adapter = parse_target(str(ROOT / "lesson4/wrong/results_by_name.py"), {}).load(profile.adapt)
    one_tool = Reply(asks=(Ask(id="1", name="search"), Ask(id="2", name="search", arguments={"q": "b"})))
    scenario = Scenario(name="later", runs=(Task(task="go", replies=(one_tool, Reply(asks=SHARED), Reply())),))
    (told,) = oracle.differences(profile, scenario, profile.observe(adapter, scenario, 10))
    assert told.requirement == "results-appended"


def test_a_loop_with_one_mistake_at_its_end_is_not_blamed_for_where_its_default_ends_it(lean: Lean) -> None:
    (wrong,) = (file for file in Implementations("lesson4", ROOT / "lesson4").wrong if file.stem == "stop_is_text")
    found = lean(differing, "lesson4", str(wrong))
    assert found["unmetered-runaway"] == ["stop-is-text"]


def test_a_span_may_carry_anything_as_its_reason() -> None:
    profile, scenario = profile_of("lesson4"), asking(SAME, tracer=True)
    adapter = parse_target("reference", {"reference": REFERENCES["lesson4"]}).load(profile.adapt)
    seen = profile.observe(adapter, scenario, 10)
    odd = replace(seen, spans=(replace(seen.spans[0], attributes={"stop": ["answered"], "steps": 2}),))
    assert [one.requirement for one in oracle.differences(profile, scenario, odd)] == ["span-stop"]


@pytest.mark.parametrize(("more", "told"), [(1, ["1 model call"]), (2, ["2 model calls"])])
def test_what_comes_behind_the_end_is_counted_in_good_english(more: int, told: list[str]) -> None:
    profile, scenario = profile_of("lesson4"), asking(SAME)
    adapter = parse_target("reference", {"reference": REFERENCES["lesson4"]}).load(profile.adapt)
    seen = profile.observe(adapter, scenario, 10)
    (run,) = seen.runs
    asked = replace(seen, runs=(replace(run, requests=(*run.requests, *run.requests[:1] * more)),))
    (difference,) = oracle.differences(profile, scenario, asked)
    assert (difference.expected, difference.seen) == ([], told)
    late = replace(seen, runs=(replace(run, dispatched=(*run.dispatched, "late")),))
    assert "model call" not in str(oracle.differences(profile, scenario, late))


OFFERED = {
    "turned": (("fetch", "search"), True),
    "twice": (("search", "fetch", "search"), False),
    "one": (("search",), False),
}


@pytest.mark.parametrize(("tools", "well"), OFFERED.values(), ids=OFFERED)
def test_tools_are_sent_once_each_and_in_any_order(
    tools: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, *, well: bool
) -> None:
    forget_import(monkeypatch)
    profile, scenario = profile_of("lesson4"), asking(SAME, Ask(id="2", name="fetch"))
    adapter = parse_target("reference", {"reference": REFERENCES["lesson4"]}).load(profile.adapt)
    seen = profile.observe(adapter, scenario, 10)
    asked = tuple(replace(request, tools=tools) for request in seen.runs[0].requests)
    other = replace(seen, runs=(replace(seen.runs[0], requests=asked),))
    told = [one.requirement for one in oracle.differences(profile, scenario, other)]
    assert told == ([] if well else ["tools-every-call"])


@pytest.mark.parametrize(("earlier", "broken"), [("search", "runs-share-nothing"), ("fetch", "repeat-identity")])
def test_a_call_of_the_history_that_counts_is_told_as_that(
    earlier: str, broken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = ({"role": "assistant", "content": "", "tool_calls": [{"id": "0", "name": earlier, "arguments": {}}]},)
    scenario = Scenario(name="past", runs=(Task(task="go", history=history, replies=(Reply(asks=(SAME,)), Reply())),))
    seen = under(scenario, monkeypatch, repeat_limit=0)
    told = oracle.differences(profile_of("lesson4"), metered(scenario, repeat_limit=1), seen)
    assert [one.requirement for one in told] == [broken]
