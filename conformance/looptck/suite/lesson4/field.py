"""What public bug threads of other loops told of, where a metered loop can have the bug (`looptck.suite.threads`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from looptck.contract.lesson4 import Stop
from looptck.lesson4.evidence import Evidence
from looptck.suite.lesson4.building import Builder, metered
from looptck.suite.model import Finding, Test, equal

if TYPE_CHECKING:
    from looptck.lesson4.scenario import Scenario
    from looptck.suite.labels import Labels


def scenarios(labels: Labels) -> tuple[Scenario, ...]:
    """A run that its ceiling cuts off; a model that asks on past one; a run of four model calls."""
    b = Builder(labels)
    cut_off = (b.turn(b.ask(), b.ask(), spent=b.drawn_spending()), b.turn(b.ask(), b.ask(), b.ask()))
    asking_on = (b.turn(spent=(5, 2)) for _ in range(9))
    four = (b.turn(*(b.ask() for _ in range(number)), spent=b.drawn_spending()) for number in (1, 2, 1))
    return (
        b.scenario("cut-off-by-ceiling", *cut_off, b.answer(), meter=metered(max_steps=2)),
        b.scenario(
            "asks-past-ceiling",
            b.turn(spent=(40, 20)),
            b.turn(spent=(30, 20)),
            *asking_on,
            b.answer(),
            meter=metered(max_total_tokens=100),
        ),
        b.scenario("four-model-calls", *four, b.answer(b.drawn_spending())),
    )


FIELD = Test("test_from_the_field", "-", scenarios)


@FIELD.check("field/partial-results-at-ceiling", "stopped-run-complete", "cut-off-by-ceiling")
def partial_results_at_ceiling(e: Evidence) -> Finding:
    """A run that its step ceiling cut off tells what was found so far: the messages, and the results of each step."""
    seen = e.run()
    results = [len(step.succeeded) for step in seen.steps]
    expected = {"stop": Stop.STEP_BUDGET.value, "messages": e.conversation(2), "results": [2, 3]}
    return equal(expected, {"stop": e.ending(), "messages": e.lines(seen.messages), "results": results})


@FIELD.check("field/limit-ends-run", "token-ceiling", "asks-past-ceiling")
def limit_ends_run(e: Evidence) -> Finding:
    """A model that goes on asking past a ceiling is not refused call by call: the ceiling ends the run, at once."""
    seen = {"stop": e.ending(), "model calls": len(e.run().requests)}
    return equal({"stop": Stop.TOKEN_BUDGET.value, "model calls": 2}, seen)


@FIELD.check("field/usage-of-every-call", "totals-summed", "four-model-calls")
def usage_of_every_call(e: Evidence) -> Finding:
    """The tokens of an answered run of four model calls are those of all four, not those of the last."""
    spent = e.spent(4)
    return equal([spent.input_tokens, spent.output_tokens], [e.run().input_tokens, e.run().output_tokens])
