"""Readings are explored without a gap, and what the oracle names stands in the records."""

from __future__ import annotations

import ast
import re
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.conformance.implementations_harness import ROOT, forget_import

from looptck import session
from looptck.oracle import readings
from looptck.oracle.judging import judge_one
from looptck.oracle.readings import Readings, TooOpenError, under_all_readings
from looptck.oracle.scenarios import AS_PREDICTED, chosen
from looptck.profile import profile_of
from looptck.requirements import requirements
from looptck.scenario import Call, Invocation, Said, Scenario, Turn
from looptck.target import REFERENCES, parse_target

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MODULES = {
    "ag03": ("ag03", "beside_ag03", "difference", "endings", "events", "rounds", "spans", "turns"),
    "lesson4": ("lesson4", "asked", "beside_lesson4", "returned"),
}
"""By profile, the modules that name records of it."""
NOT_IDS = {"scripted-model"}
"""What looks like the id of a record and is the name of something else."""
of_a_profile = pytest.mark.parametrize("profile", MODULES)

# every reading


def of_two(readings: Readings) -> tuple[int, str]:
    first = readings.of("first", 1, 2)
    return first, readings.of("second", "x", "y", "z") if first == 1 else ""


def test_every_combination_comes_once_and_that_of_the_reference_first() -> None:
    assert list(under_all_readings(of_two)) == [(1, "x"), (1, "y"), (1, "z"), (2, "")]


def test_where_nothing_is_open_there_is_one_way() -> None:
    assert list(under_all_readings(lambda _: "so")) == ["so"]


def test_a_record_that_is_asked_about_again_is_read_as_before() -> None:
    assert list(under_all_readings(lambda it: (it.of("a", 1, 2), it.of("b", 3, 4), it.of("a", 1, 2)))) == [
        (1, 3, 1),
        (1, 4, 1),
        (2, 3, 2),
        (2, 4, 2),
    ]


def test_what_was_chosen_is_told() -> None:
    taken = Readings((1,))
    of_two(taken)
    assert taken.chosen == {"first": 2}


def explored(make: Callable[[Readings], Any]) -> tuple[list[Any], bool]:
    """What is made under the readings that are followed, and whether there were more."""
    found = []
    try:
        for one in under_all_readings(make):
            found.append(one)  # noqa: PERF402 - it may raise on the way
    except TooOpenError:
        return found, True
    return found, False


@pytest.mark.parametrize(("questions", "more"), [(12, False), (13, True)])
def test_where_there_are_too_many_the_way_ends_and_says_so(questions: int, *, more: bool) -> None:
    many, open_ = explored(lambda it: tuple(it.of(str(place), 0, 1) for place in range(questions)))
    assert len(many) == len(set(many)) == readings.MOST
    assert open_ is more


# more readings than are followed

RAISES = Call(id="a", name="look_up", verdict="raise", reason="no policy")
OPEN = Scenario(
    name="open",
    gate=True,
    invocations=(Invocation(messages=(Said(content="go"),), turns=(Turn(calls=(RAISES,)), Turn(text=("Yes.",)))),),
)
"""A gate that raises ends the run, or denies the call: two readings."""


@pytest.mark.parametrize(("loop", "fits_one_of"), [("other_readings", 2), ("reference", 1)])
def test_a_run_that_none_of_the_first_readings_explains_is_open_and_no_mistake(
    loop: str, fits_one_of: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    forget_import(monkeypatch)
    profile, file = profile_of("ag03"), loop if loop == "reference" else str(ROOT / f"correct/{loop}.py")
    adapter = parse_target(file, {"reference": REFERENCES["ag03"]}).load(profile.adapt)
    seen = profile.observe(adapter, OPEN, 10)
    assert not judge_one(profile, OPEN, seen).differs
    monkeypatch.setattr(readings, "MOST", 1)
    judged = judge_one(profile, OPEN, seen)
    assert (judged.broken, judged.level) == (("open", "incomplete") if fits_one_of > 1 else ("", "must"))


def test_its_check_is_incomplete(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readings, "MOST", 1)
    forget_import(monkeypatch)
    profile = profile_of("ag03")
    adapter = parse_target(str(ROOT / "correct/other_readings.py"), {}).load(profile.adapt)
    test = chosen(profile, {"scenario/open": OPEN})
    test.observed["open"] = (OPEN, profile.observe(adapter, OPEN, 10))
    (check,) = session.judged(test, {}).checks
    assert check.verdict == "incomplete"
    assert check.message == "what is left open allows more than 1 runs, and this is none of the first 1"


# what is named


def tree(module: str) -> ast.AST:
    file = import_module(f"looptck.oracle.{module}").__file__
    assert file is not None
    return ast.parse(Path(file).read_text(encoding="utf-8"))


def words(node: ast.AST) -> Iterator[str]:
    """The texts of an expression, also the constant parts of one that is put together."""
    yield from (part.value for part in ast.walk(node) if isinstance(part, ast.Constant) and isinstance(part.value, str))


def calls(module: str, *names: str) -> Iterator[ast.Call]:
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in names:
                yield node


@of_a_profile
def test_each_reading_belongs_to_a_record(profile: str) -> None:
    asked = [next(words(call.args[0]), "") for module in MODULES[profile] for call in calls(module, "of") if call.args]
    told = [text for text in asked if text]
    assert len(told) > 3
    for text in told:
        assert text.split()[0] in requirements(profile), text


@of_a_profile
def test_each_requirement_that_the_oracle_names_is_a_record(profile: str) -> None:
    slug = re.compile(r"[a-z]+(-[a-z0-9]+)+")
    named = {text for module in MODULES[profile] for text in words(tree(module)) if slug.fullmatch(text)}
    assert len(named) > 20
    assert named - NOT_IDS - set(requirements(profile)) == set()


@of_a_profile
def test_each_difference_is_told_of_a_record_also_one_of_a_single_word(profile: str) -> None:
    for module in MODULES[profile]:
        for call in calls(module, "Difference", "doubt"):
            if isinstance(call.args[0], ast.Constant):
                assert call.args[0].value in requirements(profile)


@of_a_profile
def test_there_is_a_record_for_a_scenario_of_the_users_own(profile: str) -> None:
    assert requirements(profile)[AS_PREDICTED].unchecked
