"""The tests of the meter: the token ceiling, the cost ceiling, which of several is named, and the run's span."""

from __future__ import annotations

from typing import TYPE_CHECKING

from looptck.contract.lesson4 import Stop
from looptck.lesson4.evidence import Evidence, dispatched
from looptck.suite.lesson4 import rare_scenarios
from looptck.suite.lesson4.building import Builder, metered
from looptck.suite.model import CheckFunction, Finding, Test, equal, one_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from looptck.lesson4.scenario import Scenario
    from looptck.suite.labels import Labels

DIGITS = 9
"""Costs are compared to so many decimal places: the order of additions is nobody's business."""


def _stopped_in_second_step(test: Test, name: str, stop: Stop, ceiling: str, stated: Mapping[str, str]) -> None:
    """The checks that both ceilings have: of the scenario in which the second step passes the one that is meant."""

    def check(what: str, requirement: str, function: CheckFunction) -> None:
        def worded(e: Evidence) -> Finding:
            return function(e)

        worded.__doc__ = stated[what]
        test.check(f"{name}/{what}", requirement, f"{name}-over")(worded)

    check("stop", ceiling, lambda e: equal(stop.value, e.ending()))
    check("not-ok", "ok-only-answered", lambda e: equal(expected=False, seen=e.run().ok))
    check("not-asked-again", ceiling, lambda e: equal(2, len(e.run().requests)))
    check("tools-ran", "ceilings-after-tools", _tools_ran)


def _tools_ran(e: Evidence) -> Finding:
    return equal(dispatched(list(e.scenario.asks())), list(e.run().dispatched))


def token_ceiling(labels: Labels) -> tuple[Scenario, ...]:
    """Spending that passes 100 tokens in the second step; an answer that passes them; spending that stays under."""
    b = Builder(labels)
    ceiling = metered(max_total_tokens=100)
    return (
        b.scenario("tokens-over", b.turn(spent=(40, 20)), b.turn(spent=(30, 30)), b.answer(), meter=ceiling),
        b.scenario("tokens-answer", b.answer((90, 40)), meter=ceiling),
        b.scenario("tokens-under", b.turn(spent=(40, 20)), b.turn(spent=(10, 10)), b.answer((5, 5)), meter=ceiling),
        b.scenario("tokens-free", b.turn(spent=(90, 60)), b.answer((130, 70))),
        *rare_scenarios.failing_spenders(labels),
    )


TOKENS = Test(
    "test_token_ceiling_stops_after_the_tools_ran", "Loop detection fires before the step budget", token_ceiling
)


_stopped_in_second_step(
    TOKENS,
    "tokens",
    Stop.TOKEN_BUDGET,
    "token-ceiling",
    {
        "stop": "Input and output of all calls together, 60 and then 120 against 100, "
        "end the run by its token ceiling.",
        "not-ok": "A run that its token ceiling ended is not ok.",
        "not-asked-again": "Past its token ceiling a run asks the model no more.",
        "tools-ran": "The ceiling is looked at after the tools of the step ran: the calls of both steps did.",
    },
)


@TOKENS.check("tokens/nothing-lost", "stopped-run-complete", "tokens-over")
def tokens_nothing_lost(e: Evidence) -> Finding:
    """The stopped run has the messages of both steps and their tokens."""
    spent = e.spent(2)
    expected = {"messages": e.conversation(2), "tokens": [spent.input_tokens, spent.output_tokens]}
    seen = e.run()
    return equal(expected, {"messages": e.lines(seen.messages), "tokens": [seen.input_tokens, seen.output_tokens]})


@TOKENS.check("tokens/answer-past", "answer-past-ceiling", "tokens-answer")
def tokens_answer(e: Evidence) -> Finding:
    """A reply without calls is the answer, also past the token ceiling."""
    seen = {"stop": e.ending(), "output": e.run().output}
    return equal({"stop": Stop.ANSWERED.value, "output": e.reply(0).text}, seen)


@TOKENS.check("tokens/under", "token-ceiling", "tokens-under", "tokens-free")
def tokens_under(e: Evidence) -> Finding:
    """A run that stays under its ceiling, or has none, is not stopped."""
    return equal(Stop.ANSWERED.value, e.ending())


def cost_ceiling(labels: Labels) -> tuple[Scenario, ...]:
    """Prices for input and output, a ceiling that both together pass, and prices nobody set."""
    b = Builder(labels)
    priced = {"price_per_1k_input": 2.0, "price_per_1k_output": 10.0}
    turns = (b.turn(spent=(1003, 101)), b.turn(spent=(1003, 202)), b.answer((100, 10)))
    counts = ((1000, 0), (0, 1000), (503, 251))
    return (
        b.scenario("cost-over", *turns, meter=metered(max_cost=6.5, **priced)),
        b.scenario("cost-under", *turns, meter=metered(max_cost=8.0, **priced), costs=counts),
        b.scenario("cost-answer", b.answer((5000, 500)), meter=metered(max_cost=6.5, **priced)),
        b.scenario("cost-unpriced", *turns, meter=metered(max_cost=0.5), costs=counts),
    )


COST = Test("test_cost_ceiling_counts_both_prices", "Loop detection fires before the step budget", cost_ceiling)


_stopped_in_second_step(
    COST,
    "cost",
    Stop.COST_BUDGET,
    "cost-ceiling",
    {
        "stop": "4.012 for input and 3.03 for output against 6.5 end the run by its cost ceiling; neither alone would.",
        "not-ok": "A run that its cost ceiling ended is not ok.",
        "not-asked-again": "Past its cost ceiling a run asks the model no more.",
        "tools-ran": "The tools of the step that passes the ceiling ran.",
    },
)


@COST.check("cost/nothing-lost", "stopped-run-complete", "cost-over")
def cost_nothing_lost(e: Evidence) -> Finding:
    """The stopped run has the messages of both steps."""
    return equal(e.conversation(2), e.lines(e.run().messages))


@COST.check("cost/under", "cost-ceiling", "cost-under")
def cost_under(e: Evidence) -> Finding:
    """A run that stays under its cost ceiling is not stopped: prices are per 1,000 tokens."""
    return equal(Stop.ANSWERED.value, e.ending())


@COST.check("cost/answer-past", "answer-past-ceiling", "cost-answer")
def cost_answer(e: Evidence) -> Finding:
    """A reply without calls is the answer, also past the cost ceiling."""
    return equal(Stop.ANSWERED.value, e.ending())


@COST.check("cost/of-run", "run-cost", "cost-over", "cost-under", "cost-answer")
def cost_of_run(e: Evidence) -> Finding:
    """The run's cost is that of its tokens: input at the one price and output at the other."""
    replies = 2 if e.scenario.name == "cost-over" else len(e.task().replies)
    spent = e.spent(replies)
    expected = spent.input_tokens * 2.0 / 1000 + spent.output_tokens * 10.0 / 1000
    return equal(round(expected, DIGITS), round(e.run().cost, DIGITS))


@COST.check("cost/cost-of", "cost-of", "cost-under")
def cost_of_tokens(e: Evidence) -> Finding:
    """What cost_of() gives is tokens by price per 1,000: 2.0 and 10.0 for a thousand of each, 3.516 for 503 and 251."""
    return equal([2.0, 10.0, 3.516], [round(cost, DIGITS) for cost in e.observation.costs])


@COST.check("cost/unpriced", "prices-default-zero", "cost-unpriced")
def unpriced(e: Evidence) -> Finding:
    """Prices nobody set are zero: nothing costs anything, and no cost ceiling is passed."""
    expected = {"costs": [0.0, 0.0, 0.0], "cost": 0.0, "stop": Stop.ANSWERED.value}
    return equal(expected, {"costs": list(e.observation.costs), "cost": e.run().cost, "stop": e.ending()})


def together(labels: Labels) -> tuple[Scenario, ...]:
    """Several reasons to stop in one step."""
    b = Builder(labels)
    same = b.ask()
    again = same.model_copy(update={"id": labels.call_id()})
    over = (90, 40)
    tight = metered(max_total_tokens=100, repeat_limit=1)
    both = metered(max_total_tokens=100, max_cost=0.1, price_per_1k_input=2.0, price_per_1k_output=2.0)
    return (
        b.scenario("repeat-and-tokens", b.turn(same), b.turn(again, spent=over), b.answer(), meter=tight),
        b.scenario("repeat-in-last-step", b.turn(same), b.turn(again), meter=metered(max_steps=2, repeat_limit=1)),
        b.scenario("fatal-in-last-step", b.turn(), b.turn(b.ask("fatal")), meter=metered(max_steps=2)),
        b.scenario("repeat-and-fatal", b.turn(same), b.turn(again, b.ask("fatal")), b.answer(), meter=tight),
        b.scenario("fatal-and-tokens", b.turn(b.ask("fatal"), spent=over), b.answer(), meter=tight),
        b.scenario("tokens-and-cost", b.turn(spent=over), b.answer(), meter=both),
        b.scenario(
            "tokens-in-last-step", b.turn(spent=over), b.answer(), meter=metered(max_steps=1, max_total_tokens=100)
        ),
        b.scenario(
            "tokens-before-last", b.turn(spent=over), b.turn(), meter=metered(max_steps=2, max_total_tokens=100)
        ),
        *rare_scenarios.one_ceiling_of_two(labels),
    )


TOGETHER = Test("test_which_ceiling_wins", "The loop, in full", together)


@TOGETHER.check("which/repeat-first", "stop-precedence", "repeat-and-tokens")
def repeat_first(e: Evidence) -> Finding:
    """A repeated call is found before dispatch, so before the tokens of its step are looked at."""
    return equal(Stop.REPEATED_CALL.value, e.ending())


@TOGETHER.check("which/repeat-before-steps", "stop-precedence", "repeat-in-last-step")
def repeat_before_steps(e: Evidence) -> Finding:
    """A repeated call in the last allowed step is named, not the step ceiling."""
    return equal(Stop.REPEATED_CALL.value, e.ending())


@TOGETHER.check("which/repeat-before-fatal", "stop-precedence", "repeat-and-fatal")
def repeat_before_fatal(e: Evidence) -> Finding:
    """A repeated call in front of a fatal one in its turn is named, and the fatal one never runs."""
    expected = {"stop": Stop.REPEATED_CALL.value, "ran": dispatched(e.reply(0).asks)}
    return equal(expected, {"stop": e.ending(), "ran": list(e.run().dispatched)})


@TOGETHER.check("which/fatal-first", "stop-precedence", "fatal-and-tokens", "fatal-in-last-step")
def fatal_first(e: Evidence) -> Finding:
    """A fatal tool error ends the run before the ceilings of tokens and steps are looked at."""
    return equal(Stop.TOOL_FATAL.value, e.ending())


@TOGETHER.check("which/tokens-or-cost", "ceilings-together", "tokens-and-cost")
def tokens_or_cost(e: Evidence) -> Finding:
    """Token and cost ceiling passed in one step: either is named, and the run ends there."""
    token = {"stop": Stop.TOKEN_BUDGET.value, "model calls": 1}
    seen = {"stop": e.ending(), "model calls": len(e.run().requests)}
    return one_of(seen, token, token | {"stop": Stop.COST_BUDGET.value})


@TOGETHER.check("which/tokens-or-step", "ceilings-together", "tokens-in-last-step")
def tokens_or_step(e: Evidence) -> Finding:
    """The token ceiling passed in the last allowed step: either is named."""
    token = {"stop": Stop.TOKEN_BUDGET.value, "model calls": 1}
    seen = {"stop": e.ending(), "model calls": len(e.run().requests)}
    return one_of(seen, token, token | {"stop": Stop.STEP_BUDGET.value})


@TOGETHER.check("which/tokens-before-steps", "stop-precedence", "tokens-before-last")
def tokens_before_steps(e: Evidence) -> Finding:
    """Token and cost ceilings are looked at in every step, before the step ceiling is reached."""
    seen = {"stop": e.ending(), "model calls": len(e.run().requests)}
    return equal({"stop": Stop.TOKEN_BUDGET.value, "model calls": 1}, seen)


def traced(labels: Labels) -> tuple[Scenario, ...]:
    """A traced run that is answered, and one for each way to be stopped."""
    b = Builder(labels)
    same = b.ask()
    again = same.model_copy(update={"id": labels.call_id()})
    return (
        b.scenario("traced-answer", b.turn(), b.answer(), tracer=True),
        b.scenario("traced-steps", b.turn(), b.turn(), meter=metered(max_steps=1), tracer=True),
        b.scenario("traced-repeat", b.turn(same), b.turn(again), meter=metered(repeat_limit=1), tracer=True),
        b.scenario("traced-raising", b.turn(), b.answer().model_copy(update={"error": labels.text()}), tracer=True),
        b.scenario("traced-fatal", b.turn(b.ask("fatal")), b.answer(), tracer=True),
        b.scenario(
            "traced-tokens", b.turn(spent=(90, 40)), b.answer(), meter=metered(max_total_tokens=100), tracer=True
        ),
    )


TRACED = Test("test_run_span_carries_stop", "Walking Agent.run", traced)
STOPS = {
    "traced-answer": Stop.ANSWERED,
    "traced-steps": Stop.STEP_BUDGET,
    "traced-repeat": Stop.REPEATED_CALL,
    "traced-fatal": Stop.TOOL_FATAL,
    "traced-tokens": Stop.TOKEN_BUDGET,
}


@TRACED.check("span/stop-value", "span-stop", "traced-answer", "traced-fatal")
def stop_value(e: Evidence) -> Finding:
    """The run's span carries the value of its stop reason, as plain text."""
    return equal([STOPS[e.scenario.name].value], _stops(e))


@TRACED.check("span/every-stop", "span-every-stop", "traced-steps", "traced-repeat", "traced-tokens")
def every_stop(e: Evidence) -> Finding:
    """The run's span carries the stop reason however the run ended."""
    return equal([STOPS[e.scenario.name].value], _stops(e))


@TRACED.check("span/steps", "span-steps", "traced-answer")
def span_steps(e: Evidence) -> Finding:
    """The span of an answered run carries the number of its steps."""
    return equal([2], [span.attributes["steps"] for span in e.observation.spans if "steps" in span.attributes])


@TRACED.check("span/ended", "span-ended", *STOPS, "traced-raising")
def span_ended(e: Evidence) -> Finding:
    """Every span has ended when the run has."""
    spans = e.observation.spans
    return equal({"spans": True, "open": []}, {"spans": bool(spans), "open": [s.name for s in spans if not s.ended]})


def _stops(e: Evidence) -> list[object]:
    return [span.attributes["stop"] for span in e.observation.spans if "stop" in span.attributes]
