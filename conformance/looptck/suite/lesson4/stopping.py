"""The tests of a run that is stopped: by the step ceiling, by a repeated call, by a fatal tool error."""

from __future__ import annotations

from typing import TYPE_CHECKING

from looptck.contract.lesson4 import OUTPUT_FATAL, Stop
from looptck.lesson4.evidence import Evidence, dispatched
from looptck.lesson4.scenario import Meter
from looptck.suite.lesson4 import rare_scenarios
from looptck.suite.lesson4.building import ROOMY, Builder, metered
from looptck.suite.model import Finding, Test, equal, one_of

if TYPE_CHECKING:
    from looptck.lesson4.scenario import Ask, Scenario
    from looptck.suite.labels import Labels


def runaway(labels: Labels) -> tuple[Scenario, ...]:
    """A model that only ever asks for tools, with other arguments each time; one that answers in its last step."""
    b = Builder(labels)
    return (
        b.scenario("runaway", *(b.turn(spent=b.drawn_spending()) for _ in range(7)), meter=metered(max_steps=4)),
        b.scenario("last-step", b.turn(), b.turn(), b.answer(), meter=metered(max_steps=3)),
        b.scenario("single-step", b.turn(), b.answer(), meter=metered(max_steps=1)),
        b.scenario("no-step", b.answer(), meter=metered(max_steps=0), refusable=True),
        b.scenario("failing-runaway", *(b.turn(b.ask("failed")) for _ in range(7)), meter=metered(max_steps=4)),
        b.scenario("half-metered-runaway", *(b.turn() for _ in range(100))).model_copy(
            update={"meter": Meter(max_total_tokens=100, repeat_limit=ROOMY)}
        ),
        b.scenario("unmetered-runaway", *(b.turn() for _ in range(100))).model_copy(update={"meter": None}),
    )


RUNAWAY = Test("test_step_budget_stops_a_runaway_agent", "Loop detection fires before the step budget", runaway)


@RUNAWAY.check("steps/stop", "step-ceiling", "runaway", "single-step", "failing-runaway")
def step_stop(e: Evidence) -> Finding:
    """The run ends by its step ceiling; it returns, it does not raise."""
    return equal(Stop.STEP_BUDGET.value, e.ending())


@RUNAWAY.check("steps/exactly", "step-ceiling", "runaway", "single-step", "failing-runaway")
def exactly(e: Evidence) -> Finding:
    """There are exactly as many steps and model calls as the ceiling allows."""
    steps = e.scenario.meter.max_steps if e.scenario.meter is not None else None
    return equal(
        {"steps": steps, "model calls": steps}, {"steps": e.run().step_count, "model calls": len(e.run().requests)}
    )


@RUNAWAY.check("steps/zero", "zero-steps", "no-step")
def zero_steps(e: Evidence) -> Finding:
    """A ceiling of zero steps ends the run before the first model call, or is refused when the loop is built."""
    ended = {"stop": e.ending(), "steps": e.run().step_count, "model calls": len(e.run().requests)}
    seen = ended if e.observation.refused is None else "refused"
    return one_of(seen, {"stop": Stop.STEP_BUDGET.value, "steps": 0, "model calls": 0}, "refused")


@RUNAWAY.check("steps/last-tools-run", "step-ceiling", "runaway")
def last_tools_run(e: Evidence) -> Finding:
    """The calls of the last step run too."""
    asks = [ask for reply in e.task().replies[:4] for ask in reply.asks]
    return equal(dispatched(asks), list(e.run().dispatched))


@RUNAWAY.check("steps/output", "step-output", "runaway", "single-step")
def step_output(e: Evidence) -> Finding:
    """The output is `Stopped: reached the 4-step limit without an answer.`, with the limit that was set."""
    steps = e.scenario.meter.max_steps if e.scenario.meter is not None else None
    return equal(f"Stopped: reached the {steps}-step limit without an answer.", e.run().output)


@RUNAWAY.check("steps/not-ok", "ok-only-answered", "runaway")
def step_not_ok(e: Evidence) -> Finding:
    """A run that its step ceiling ended is not ok."""
    return equal(expected=False, seen=e.run().ok)


@RUNAWAY.check("steps/nothing-lost", "stopped-run-complete", "runaway")
def nothing_lost(e: Evidence) -> Finding:
    """A stopped run has its messages and its totals: all that happened and was spent."""
    spent = e.spent(4)
    expected = {"messages": e.conversation(4), "tokens": [spent.input_tokens, spent.output_tokens]}
    seen = e.run()
    return equal(expected, {"messages": e.lines(seen.messages), "tokens": [seen.input_tokens, seen.output_tokens]})


@RUNAWAY.check("steps/answer-in-last", "step-ceiling", "last-step")
def answer_in_last(e: Evidence) -> Finding:
    """A model that answers in its last step has answered."""
    return equal({"stop": Stop.ANSWERED.value, "steps": 3}, {"stop": e.ending(), "steps": e.run().step_count})


@RUNAWAY.check("steps/default", "step-default", "unmetered-runaway", "half-metered-runaway")
def step_default(e: Evidence) -> Finding:
    """An agent without a meter, or with one without a step ceiling, has a small one all the same: under 100 steps."""
    seen = {"stop": e.ending(), "under 100": len(e.run().requests) < len(e.task().replies)}
    return equal({"stop": Stop.STEP_BUDGET.value, "under 100": True}, seen)


def repeating(labels: Labels) -> tuple[Scenario, ...]:
    """One call for ever; in other key order; with arguments that are no JSON; between others; within one turn."""
    b = Builder(labels)
    same, other, refused, failing = b.ask(), b.ask(), b.ask("denied"), b.ask("failed")
    name, value = labels.tool(), labels.text()
    nested = ({"a": {"x": 1, "y": [2, 3]}, "b": value}, {"b": value, "a": {"y": [2, 3], "x": 1}})
    ordered = [b.ask(name=name, arguments=arguments) for arguments in nested]
    odd = [b.ask(name=name, arguments={}, opaque=value) for _ in range(3)]
    once, twice = metered(max_steps=10, repeat_limit=1), metered(max_steps=10, repeat_limit=2)
    return (
        b.scenario("stuck", *(b.turn(_again(b, same), spent=(5, 2)) for _ in range(10)), meter=twice),
        b.scenario("at-limit", b.turn(same), b.turn(_again(b, same)), b.answer(), meter=twice),
        b.scenario("key-order", b.turn(ordered[0]), b.turn(ordered[1]), b.answer(), meter=once),
        b.scenario("no-json", *(b.turn(ask) for ask in odd), b.answer(), meter=twice),
        b.scenario(
            "between-others",
            *(b.turn(_again(b, ask)) for ask in (same, other, same, other, same)),
            b.answer(),
            meter=twice,
        ),
        b.scenario("denied-stuck", *(b.turn(_again(b, refused)) for _ in range(5)), meter=twice),
        b.scenario("failed-stuck", *(b.turn(_again(b, failing)) for _ in range(5)), meter=twice),
        b.scenario("twice-in-one-turn", b.turn(same, _again(b, same)), b.answer(), meter=once),
        b.scenario("in-one-turn", b.turn(other), b.turn(b.ask(), _again(b, other), b.ask()), b.answer(), meter=once),
        _as_in_history(b, same).model_copy(update={"meter": once}),
    )


def _as_in_history(b: Builder, same: Ask) -> Scenario:
    """A call of the history, asked for once more."""
    run = b.task(b.turn(_again(b, same)), b.answer(), history=b.history(same))
    return b.scenario("in-history").model_copy(update={"runs": (run,)})


def _again(b: Builder, ask: Ask) -> Ask:
    """The same call under a new id."""
    return ask.model_copy(update={"id": b.labels.call_id()})


REPEATING = Test("test_repeated_identical_call_is_detected", "Loop detection fires before the step budget", repeating)


@REPEATING.check("repeat/stop", "repeated-call", "stuck", "between-others", "in-one-turn", "twice-in-one-turn")
def repeat_stop(e: Evidence) -> Finding:
    """A call that is asked for more often than the repeat limit ends the run, long before the step ceiling."""
    return equal(Stop.REPEATED_CALL.value, e.ending())


@REPEATING.check("repeat/third-step", "repeated-call", "stuck", "denied-stuck", "failed-stuck")
def third_step(e: Evidence) -> Finding:
    """With a limit of two the third identical call is found, also where the first two were denied or failed."""
    return equal({"steps": 3, "model calls": 3}, {"steps": e.run().step_count, "model calls": len(e.run().requests)})


@REPEATING.check("repeat/never-run", "repeat-before-dispatch", "stuck")
def never_run(e: Evidence) -> Finding:
    """The offending call is never dispatched: of three identical calls two ran."""
    asks = [ask for reply in e.task().replies[:2] for ask in reply.asks]
    return equal(dispatched(asks), list(e.run().dispatched))


@REPEATING.check("repeat/output", "repeat-output", "stuck")
def repeat_output(e: Evidence) -> Finding:
    """The output is `Stopped: repeated the same … call 3 times without progress.`, with the tool's name."""
    name = e.reply(0).asks[0].name
    return equal(f"Stopped: repeated the same {name} call 3 times without progress.", e.run().output)


@REPEATING.check("repeat/not-ok", "ok-only-answered", "stuck")
def repeat_not_ok(e: Evidence) -> Finding:
    """A run that a repeated call ended is not ok."""
    return equal(expected=False, seen=e.run().ok)


@REPEATING.check("repeat/lists", "repeat-lists", "stuck")
def repeat_lists(e: Evidence) -> Finding:
    """The offending call was requested, and is not in the trajectory."""
    name = e.reply(0).asks[0].name
    seen = e.run()
    return equal(
        {"requested": [name] * 3, "trajectory": [name] * 2},
        {"requested": seen.requested, "trajectory": seen.trajectory},
    )


@REPEATING.check("repeat/at-limit", "repeated-call", "at-limit")
def at_limit(e: Evidence) -> Finding:
    """A call that is asked for exactly as often as the limit allows is no repeat."""
    seen = {"stop": e.ending(), "ran": len(e.run().dispatched)}
    return equal({"stop": Stop.ANSWERED.value, "ran": 2}, seen)


@REPEATING.check("repeat/key-order", "repeat-canonical", "key-order")
def key_order(e: Evidence) -> Finding:
    """The order of the arguments' keys makes no other call."""
    return equal(Stop.REPEATED_CALL.value, e.ending())


@REPEATING.check("repeat/no-json", "repeat-no-json", "no-json")
def no_json(e: Evidence) -> Finding:
    """Arguments that are no JSON are tolerated, and equal ones are the same call."""
    return equal(Stop.REPEATED_CALL.value, e.ending())


@REPEATING.check("repeat/whole-run", "repeat-whole-run", "between-others")
def whole_run(e: Evidence) -> Finding:
    """Repeats are counted over the whole run, not one after the other: the third of A, B, A, B, A is found."""
    return equal(5, len(e.run().requests))


@REPEATING.check("repeat/in-history", "runs-share-nothing", "in-history")
def in_history(e: Evidence) -> Finding:
    """Repeats are counted from nothing: a call that the history tells of was made in an earlier run."""
    expected = {"stop": Stop.ANSWERED.value, "ran": dispatched(list(e.scenario.asks()))}
    return equal(expected, {"stop": e.ending(), "ran": list(e.run().dispatched)})


@REPEATING.check("repeat/in-one-turn", "repeat-before-dispatch", "in-one-turn")
def in_one_turn(e: Evidence) -> Finding:
    """In a turn with a repeated call neither that nor the calls after it run; whether the one before it did is open."""
    first, before, _, _ = e.scenario.asks()
    return one_of(list(e.run().dispatched), dispatched([first]), dispatched([first, before]))


@REPEATING.check("repeat/nothing-lost", "stopped-run-complete", "stuck")
def repeat_nothing_lost(e: Evidence) -> Finding:
    """The stopped run has the messages of what ran and the tokens of all three turns; the refused turn is open."""
    spent, ran = e.spent(3), e.conversation(2)
    seen = e.run()
    return equal(
        {"messages": ran, "tokens": [spent.input_tokens, spent.output_tokens]},
        {"messages": e.lines(seen.messages)[: len(ran)], "tokens": [seen.input_tokens, seen.output_tokens]},
    )


def differing(labels: Labels) -> tuple[Scenario, ...]:
    """Three calls of one tool with other arguments; the same arguments to three tools."""
    b = Builder(labels)
    name = labels.tool()
    once = metered(repeat_limit=1)
    other_tools = [b.ask(name=tool, arguments={"q": "same"}) for tool in labels.tools(3)]
    return (
        b.scenario("other-arguments", *(b.turn(b.ask(name=name)) for _ in range(3)), b.answer(), meter=once),
        b.scenario(
            "other-opaque",
            *(b.turn(b.ask(name=name, arguments={}, opaque=labels.text())) for _ in range(2)),
            b.answer(),
            meter=once,
        ),
        b.scenario(
            "other-types", *(b.turn(b.ask(name=name, arguments={"n": n})) for n in (1, "1")), b.answer(), meter=once
        ),
        b.scenario("other-tools", *(b.turn(ask) for ask in other_tools), b.answer(), meter=once),
        *rare_scenarios.near_repeats(labels),
    )


DIFFERING = Test(
    "test_differing_arguments_are_not_treated_as_repeats", "Loop detection fires before the step budget", differing
)


@DIFFERING.check("differing/arguments", "repeat-identity", "other-arguments")
def arguments(e: Evidence) -> Finding:
    """Calls of one tool with other arguments are progress: with a repeat limit of one, three of them are answered."""
    return equal({"stop": Stop.ANSWERED.value, "ran": 3}, {"stop": e.ending(), "ran": len(e.run().dispatched)})


@DIFFERING.check("differing/types", "repeat-identity", "other-types", "other-opaque")
def other_types(e: Evidence) -> Finding:
    """A number and its text are different arguments, and so are values that are no JSON and have other texts."""
    seen = {"stop": e.ending(), "ran": len(e.run().dispatched)}
    return equal({"stop": Stop.ANSWERED.value, "ran": 2}, seen)


@DIFFERING.check("differing/tools", "repeat-identity", "other-tools")
def other_tools(e: Evidence) -> Finding:
    """The same arguments to another tool are another call."""
    return equal({"stop": Stop.ANSWERED.value, "ran": 3}, {"stop": e.ending(), "ran": len(e.run().dispatched)})


def fatal(labels: Labels) -> tuple[Scenario, ...]:
    """A turn whose second call fails for good."""
    b = Builder(labels)
    names = labels.tools(3)
    asks = [b.ask(name=names[0]), b.ask("fatal", name=names[1]), b.ask(name=names[2])]
    return (b.scenario("fatal", b.turn(*asks, spent=b.drawn_spending()), b.answer()),)


FATAL = Test("test_fatal_tool_error_aborts_instead_of_looping", "Walking Agent.run", fatal)


@FATAL.check("fatal/stop", "fatal-ends-run", "fatal")
def fatal_stop(e: Evidence) -> Finding:
    """A fatal tool error ends the run by name; it does not come out of run()."""
    return equal(Stop.TOOL_FATAL.value, e.ending())


@FATAL.check("fatal/not-ok", "ok-only-answered", "fatal")
def fatal_not_ok(e: Evidence) -> Finding:
    """A run that a fatal tool error ended is not ok."""
    return equal(expected=False, seen=e.run().ok)


@FATAL.check("fatal/model-calls", "fatal-ends-run", "fatal")
def fatal_model_calls(e: Evidence) -> Finding:
    """The model was asked once, and never learns of it."""
    return equal(1, len(e.run().requests))


@FATAL.check("fatal/at-once", "fatal-ends-run", "fatal")
def at_once(e: Evidence) -> Finding:
    """The calls behind the fatal one are not dispatched."""
    return equal(dispatched(e.reply(0).asks[:2]), list(e.run().dispatched))


@FATAL.check("fatal/output", "fatal-output", "fatal")
def fatal_output(e: Evidence) -> Finding:
    """The output is the sentence for it."""
    return equal(OUTPUT_FATAL, e.run().output)


@FATAL.check("fatal/lists", "fatal-lists", "fatal")
def fatal_lists(e: Evidence) -> Finding:
    """The fatal call was requested and is never in the trajectory; what ran before it is."""
    names = [ask.name for ask in e.reply(0).asks]
    return equal(
        {"requested": names, "trajectory": names[:1]},
        {"requested": e.run().requested, "trajectory": e.run().trajectory},
    )


@FATAL.check("fatal/totals", "stopped-run-complete", "fatal")
def fatal_totals(e: Evidence) -> Finding:
    """What the fatal turn cost is in the totals."""
    spent = e.spent(1)
    return equal([spent.input_tokens, spent.output_tokens], [e.run().input_tokens, e.run().output_tokens])


@FATAL.check("fatal/nothing-lost", "stopped-run-complete", "fatal")
def fatal_nothing_lost(e: Evidence) -> Finding:
    """The run has the asking turn, and the answer to the call that ran before the fatal one."""
    kept = e.conversation(1)[:-2]
    return equal(kept, e.lines(e.run().messages)[: len(kept)])
