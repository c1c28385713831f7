"""The tests of a run that is answered: one tool, several, none; what the model is sent; what the run then tells."""

from __future__ import annotations

from typing import TYPE_CHECKING

from looptck.contract.lesson4 import Stop
from looptck.lesson4.evidence import Evidence, answer, dispatched
from looptck.lesson4.observe import never_asked
from looptck.suite.lesson4 import rare_scenarios
from looptck.suite.lesson4.building import Builder, Outcome, metered
from looptck.suite.model import Finding, Test, equal

if TYPE_CHECKING:
    from looptck.lesson4.scenario import Ask, Scenario
    from looptck.suite.labels import Labels


LIKE_A_STOP = "Stopped: reached the 4-step limit without an answer."
"""An answer that reads like the output of a stopped run."""


def single(labels: Labels) -> tuple[Scenario, ...]:
    """One tool and then an answer; an answer at once; an agent without tools; options of a model call."""
    b = Builder(labels)
    return (
        b.scenario(
            "single",
            b.turn(spent=b.drawn_spending(), text=labels.text()),
            b.answer(b.drawn_spending()),
            system=labels.text(),
        ),
        b.scenario("at-once", b.answer()),
        b.scenario("toolless", b.answer(), tools=False),
        b.scenario("wordless", b.turn(), b.answer().model_copy(update={"text": ""})),
        b.scenario("like-a-stop", b.turn(), b.answer().model_copy(update={"text": LIKE_A_STOP})),
        b.scenario("unmetered", b.turn(), b.answer()).model_copy(update={"meter": None}),
        b.scenario(
            "options",
            b.turn(),
            b.answer(),
            max_output_tokens=labels.number(50, 900),
            temperature=labels.number(1, 9) / 8,
        ),
        b.scenario("options-zero", b.turn(), b.answer(), max_output_tokens=labels.number(50, 900), temperature=0.0),
        rare_scenarios.spaced_answer(labels),
    )


SINGLE = Test("test_single_tool_then_answer", "Walking Agent.run", single)


@SINGLE.check("single/answered", "answer-without-calls", "single", "at-once", "toolless", "wordless", "unmetered")
def answered(e: Evidence) -> Finding:
    """A reply that asks for no tool ends the run: it is answered, and the output is that reply's text."""
    seen = {"stop": e.ending(), "output": e.run().output}
    return equal({"stop": Stop.ANSWERED.value, "output": e.reply(-1).text}, seen)


@SINGLE.check("single/model-calls", "answer-without-calls", "single", "at-once", "wordless")
def model_calls(e: Evidence) -> Finding:
    """The model is asked once for each step, and not again after its answer."""
    return equal(len(e.task().replies), len(e.run().requests))


@SINGLE.check("single/dispatched", "calls-dispatched", "single")
def dispatched_once(e: Evidence) -> Finding:
    """The call goes to the registry once, as the model wrote it."""
    return equal(dispatched(e.reply(0).asks), list(e.run().dispatched))


@SINGLE.check("single/result-appended", "results-appended", "single")
def result_appended(e: Evidence) -> Finding:
    """The next model call ends with a tool message, matched to the call by id, that carries the result."""
    requests = e.run().requests
    last = e.lines(requests[1].messages)[-1:] if len(requests) > 1 else None
    return equal([answer(e.reply(0).asks[0])], last)


@SINGLE.check("single/messages", "messages-grow", "single")
def messages(e: Evidence) -> Finding:
    """The run's messages are the system prompt, the task, the asking turn, the tool message, the answer."""
    return equal(e.conversation(2), e.lines(e.run().messages))


@SINGLE.check("single/ok", "ok-only-answered", "single", "at-once", "like-a-stop", "wordless")
def ok(e: Evidence) -> Finding:
    """An answered run is ok."""
    return equal(expected=True, seen=e.run().ok)


@SINGLE.check("single/stop-is-text", "stop-is-text", "single")
def stop_is_text(e: Evidence) -> Finding:
    """The stop reason is a string, so that it logs and serialises as it is, and has its value."""
    return equal(expected=True, seen=e.run().stop_is_text)


@SINGLE.check("single/steps", "steps-recorded", "single")
def steps(e: Evidence) -> Finding:
    """There is a step for each model call, numbered from 0, and step_count counts them."""
    seen = {"indices": [step.index for step in e.run().steps], "count": e.run().step_count}
    return equal({"indices": [0, 1], "count": 2}, seen)


@SINGLE.check("single/totals", "totals-summed", "single")
def totals(e: Evidence) -> Finding:
    """Input and output tokens are the sums over both model calls."""
    spent = e.spent(2)
    return equal([spent.input_tokens, spent.output_tokens], [e.run().input_tokens, e.run().output_tokens])


@SINGLE.check("request/no-tools", "none-for-no-tools", "toolless")
def no_tools(e: Evidence) -> Finding:
    """Without tools the request has none at all: None, not an empty list."""
    return equal([None], [request.tools for request in e.run().requests])


@SINGLE.check("request/tools", "tools-every-call", "options")
def tools(e: Evidence) -> Finding:
    """Every model call is given the tools."""
    names = [ask.name for ask in e.scenario.asks()]
    return equal([names, names], [request.tools for request in e.run().requests])


@SINGLE.check("request/options", "options-every-call", "options", "options-zero")
def options(e: Evidence) -> Finding:
    """Every model call is given the agent's output limit and temperature."""
    wanted = [e.scenario.max_output_tokens, e.scenario.temperature]
    return equal([wanted, wanted], [[request.max_output_tokens, request.temperature] for request in e.run().requests])


def context(labels: Labels) -> tuple[Scenario, ...]:
    """Two tools, then an answer, with nothing before the task; and with a history."""
    b = Builder(labels)
    history = b.history(b.ask())
    replies = (b.turn(spent=b.drawn_spending()), b.turn(spent=b.drawn_spending()), b.answer(b.drawn_spending()))
    regrown = b.scenario("regrown", *replies)
    past = regrown.model_copy(
        update={"name": "past", "system": labels.text(), "runs": (b.task(*replies, history=history),)}
    )
    return regrown, past, past.model_copy(update={"name": "past-unprompted", "system": None})


CONTEXT = Test("test_context_regrows_every_iteration", "Context regrows every iteration", context)


@CONTEXT.check("context/grows", "messages-grow", "regrown")
def grows(e: Evidence) -> Finding:
    """With one call a turn the model is sent one message, then three, then five."""
    return equal([1, 3, 5], [len(request.messages) for request in e.run().requests])


@CONTEXT.check("context/resent", "messages-grow", "regrown", "past")
def resent(e: Evidence) -> Finding:
    """Each model call is sent everything before it."""
    return equal([e.conversation(n) for n in range(3)], [e.lines(request.messages) for request in e.run().requests])


@CONTEXT.check("context/input-tokens", "totals-summed", "regrown")
def input_tokens(e: Evidence) -> Finding:
    """The input tokens of the run are the sum over its three calls, and so are the output tokens."""
    spent = e.spent(3)
    return equal([spent.input_tokens, spent.output_tokens], [e.run().input_tokens, e.run().output_tokens])


@CONTEXT.check("history/between", "history-between", "past", "past-unprompted")
def history_between(e: Evidence) -> Finding:
    """The first model call is sent the system prompt where there is one, then the history, then the task."""
    seen = e.run().requests
    return equal(e.opening(), e.lines(seen[0].messages) if seen else e.ending())


@CONTEXT.check("history/untouched", "history-untouched", "past")
def history_untouched(e: Evidence) -> Finding:
    """The caller's history is as it was."""
    seen = {"ran": bool(e.run().requests), "untouched": e.run().history_untouched}
    return equal({"ran": True, "untouched": True}, seen)


@CONTEXT.check("history/not-of-run", "trajectory", "past")
def not_of_run(e: Evidence) -> Finding:
    """What the history tells of tools belongs to an earlier run: the lists are of this one."""
    names = [ask.name for ask in e.scenario.asks()]
    seen = {"requested": e.run().requested, "trajectory": e.run().trajectory}
    return equal({"requested": names, "trajectory": names}, seen)


def lists(labels: Labels) -> tuple[Scenario, ...]:
    """A turn whose calls have every outcome but a fatal one; a blocked injection."""
    b = Builder(labels)
    names = labels.tools(4)
    outcomes: tuple[Outcome, ...] = ("failed", "ok", "denied", "unknown")
    mixed = [b.ask(outcome, name=name) for outcome, name in zip(outcomes, names, strict=True)]
    return (
        b.scenario("mixed", b.turn(*mixed), b.turn(b.ask(name=names[0])), b.answer()),
        b.scenario("injected", b.turn(_like_an_error(b)), b.turn(b.ask("denied", name=names[1])), b.answer()),
        b.scenario("insisting", *(b.turn(b.ask("denied", name=names[0])) for _ in range(2)), b.answer()),
        b.scenario("same-tool", b.turn(*_of_one_tool(b)), b.answer()),
        rare_scenarios.odd_results(labels),
        rare_scenarios.shared_ids(labels),
    )


def _like_an_error(b: Builder) -> Ask:
    """A call that is answered well, with a text that reads like a failure."""
    return b.ask().model_copy(update={"answer": "error: no such word in this log"})


def _of_one_tool(b: Builder) -> list[Ask]:
    """Three calls of one tool, two of them the same."""
    first = b.ask()
    return [first, b.ask(name=first.name), first.model_copy(update={"id": b.labels.call_id()})]


LISTS = Test("test_requested_is_not_executed", "The Step record, and requested versus executed", lists)


def _names(asks: list[Ask], *outcomes: str) -> list[str]:
    return [ask.name for ask in asks if not outcomes or ask.outcome in outcomes]


@LISTS.check("lists/results-appended", "results-appended", "mixed", "same-tool")
def every_result(e: Evidence) -> Finding:
    """The result of every call is appended, of failed, denied and unknown ones too, in call order."""
    requests = e.run().requests
    return equal(e.conversation(1), e.lines(requests[1].messages) if len(requests) > 1 else e.ending())


@LISTS.check("lists/dispatched", "calls-dispatched", "mixed", "injected", "same-tool")
def every_call(e: Evidence) -> Finding:
    """Every call goes to the registry, in call order: it is the registry that denies."""
    return equal(dispatched(list(e.scenario.asks())), list(e.run().dispatched))


@LISTS.check("lists/goes-on", "failures-go-on", "mixed")
def goes_on(e: Evidence) -> Finding:
    """Failed, denied and unknown calls do not end the run."""
    seen = {"stop": e.ending(), "model calls": len(e.run().requests)}
    return equal({"stop": Stop.ANSWERED.value, "model calls": 3}, seen)


@LISTS.check("lists/requested", "requested-tools", "mixed", "injected", "insisting")
def requested(e: Evidence) -> Finding:
    """requested_tools() lists what the model asked for, in order, blocked calls among it."""
    return equal(_names(list(e.scenario.asks())), list(e.run().requested))


@LISTS.check("lists/trajectory", "trajectory", "mixed", "injected", "same-tool")
def ran_well(e: Evidence) -> Finding:
    """The list of trajectory() is what ran and came back well, and nothing else."""
    return equal(_names(list(e.scenario.asks()), "ok"), list(e.run().trajectory))


@LISTS.check("lists/blocked", "blocked-tools", "mixed", "injected", "insisting")
def blocked(e: Evidence) -> Finding:
    """blocked_tools() lists what was asked for and denied, unknown or failed."""
    return equal(_names(list(e.scenario.asks()), "failed", "denied", "unknown"), list(e.run().blocked))


@LISTS.check("lists/of-steps", "steps-recorded", "mixed")
def of_steps(e: Evidence) -> Finding:
    """Each step has its own three lists."""
    expected = [
        [
            _names(list(reply.asks)),
            _names(list(reply.asks), "ok"),
            _names(list(reply.asks), "failed", "denied", "unknown"),
        ]
        for reply in e.task().replies
    ]
    return equal(expected, [[step.requested, step.succeeded, step.blocked] for step in e.run().steps])


@LISTS.check("lists/step-records", "steps-recorded", "mixed")
def step_records(e: Evidence) -> Finding:
    """Each step has its reply and the results of its calls, in call order."""
    expected = [[reply.text, [ask.id for ask in reply.asks]] for reply in e.task().replies]
    seen = [[step.text, [result.split(" ", 1)[0] for result in step.results]] for step in e.run().steps]
    return equal(expected, seen)


@LISTS.check("lists/did-it-happen", "trajectory", "injected")
def did_it_happen(e: Evidence) -> Finding:
    """used_tool() is true of a tool that ran, and false of one that was blocked or never asked for."""
    ran, denied = (ask.name for ask in e.scenario.asks())
    never = dict.fromkeys(never_asked([ran, denied]), False)
    return equal({ran: True, denied: False} | never, e.run().used_tool)


@LISTS.check("lists/did-it-try", "requested-tools", "injected")
def did_it_try(e: Evidence) -> Finding:
    """requested_tool() is true of both, for a blocked attempt is an attempt, and of nothing else."""
    ran, denied = (ask.name for ask in e.scenario.asks())
    never = dict.fromkeys(never_asked([ran, denied]), False)
    return equal({ran: True, denied: True} | never, e.run().requested_tool)


def runs(labels: Labels) -> tuple[Scenario, ...]:
    """Two runs of one agent, each of which comes near its ceilings; a model that raises."""
    b = Builder(labels)
    same = b.ask()
    meter = metered(max_steps=3, repeat_limit=2, max_total_tokens=100)
    replies = (b.turn(same, spent=(20, 10)), b.turn(same, spent=(20, 10)), b.answer((10, 5)))
    return (
        b.scenario("two-runs", meter=meter).model_copy(update={"runs": (b.task(*replies), b.task(*replies))}),
        b.scenario("raising", b.turn(), b.answer().model_copy(update={"error": labels.text()})),
    )


RUNS = Test("test_runs_of_one_agent_share_nothing", "Walking Agent.run", runs)


@RUNS.check("runs/answered-both", "runs-share-nothing", "two-runs")
def answered_both(e: Evidence) -> Finding:
    """Steps, tokens and repeated calls are counted anew for each run."""
    return equal([Stop.ANSWERED.value] * 2, [e.ending(0), e.ending(1)])


@RUNS.check("runs/own-messages", "runs-share-nothing", "two-runs")
def own_messages(e: Evidence) -> Finding:
    """Each run has its own messages and totals."""
    expected = [[e.conversation(3, place), e.spent(3, place).total] for place in (0, 1)]
    seen = [[e.lines(e.run(n).messages), e.run(n).input_tokens + e.run(n).output_tokens] for n in (0, 1)]
    return equal(expected, seen)


@RUNS.check("runs/kept", "runs-share-nothing", "two-runs")
def kept(e: Evidence) -> Finding:
    """A finished run stays as it was while the agent makes the next one."""
    return equal([True, True], [e.run(place).kept for place in (0, 1)])


@RUNS.check("model-error/no-answer", "model-error", "raising")
def no_answer(e: Evidence) -> Finding:
    """A model that raises is never an answer: the error comes out, or the run stops for another reason."""
    seen = e.run()
    came_out = seen.status == "raised"
    other = seen.status == "returned" and seen.stop != Stop.ANSWERED.value and seen.ok is False
    return equal({"asked": True, "no answer": True}, {"asked": len(seen.requests) > 1, "no answer": came_out or other})
