"""What is said of runs whose script was at its end, and of runs that did not end with the scenario's own error.

A scenario that was shrunk may lack its last reply: the model fails there, which is a fault of neither loop nor kit.
"""

from __future__ import annotations

from typing import Any

import pytest
from tests.conformance.implementations_harness import ROOT, forget_import

from looptck.durability import LOST_TOOL, sweep
from looptck.lesson4.scenario import Ask, Reply, Task
from looptck.lesson4.scenario import Scenario as Metered
from looptck.oracle.judging import judge_one
from looptck.profile import profile_of
from looptck.scenario import Call, Invocation, Said, Scenario, Turn
from looptck.session import choose, judged, observe_all
from looptck.target import REFERENCES, parse_target

SHORT = "run 1 asked the model beyond the end of the scenario's script, where it fails as any model may"
LOOK = Call(id="call_1", name="look")
SEA = Scenario(name="sea", invocations=(Invocation(messages=(Said(),), turns=(Turn(calls=(LOOK,)),), runner="record"),))
METERED = Metered(name="sea", runs=(Task(task="go", replies=(Reply(asks=(Ask(id="c", name="look"),)),)),))
REFUSAL = "it ends with the runner's refusal, or an error that has it as its cause"


def observed(profile: str, scenario: Any, target: str = "reference") -> Any:
    known = profile_of(profile)
    adapter = parse_target(target, {"reference": REFERENCES[profile]}).load(known.adapt)
    return known.observe(adapter, scenario, 5.0)


@pytest.mark.parametrize(("profile", "scenario"), [("ag03", SEA), ("lesson4", METERED)])
def test_a_script_that_is_at_its_end_is_said_to_be(profile: str, scenario: Any) -> None:
    known, seen = profile_of(profile), observed(profile, scenario)
    assert known.remarks(known.evidence(scenario, seen)) == [SHORT]


def test_a_swept_run_that_ends_otherwise_is_told_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    forget_import(monkeypatch)
    swept = next(one for one in sweep(SEA) if LOST_TOOL in one.name)
    seen = observed("ag03", swept, str(ROOT / "wrong_resumed/shows_refused_writes.py"))
    difference = judge_one(profile_of("ag03"), swept, seen).difference
    assert difference is not None
    assert (difference.about, difference.expected) == ("sweep/unknown-ends-run", REFUSAL)
    assert difference.seen == "it goes on and asks the model beyond the end of the script"


def test_so_is_an_error_of_the_provider_that_becomes_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    forget_import(monkeypatch)
    target = parse_target(str(ROOT / "wrong/swallows_errors.py"), {})
    (test,) = observe_all(
        choose("ag03", "provider-error/ends-run", 7),
        lambda: target.load(profile_of("ag03").adapt),
        isolation="none",
    )
    (found,) = judged(test, {}).checks
    assert found.expected == "it ends with the provider's error, or an error that has it as its cause"
    assert found.seen == "it ends otherwise: answered"
