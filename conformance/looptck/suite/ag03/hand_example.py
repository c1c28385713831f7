"""TestHandExample: the loop itself (sections 2.1 and 3), by the worked example and by seeded twins of it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from looptck.contract.ag03 import Event
from looptck.observe import normal
from looptck.observe.rig import definition
from looptck.scenario import Call, Invocation, Options, Said, Scenario, Tokens, Turn
from looptck.suite.ag03 import odd_scenarios
from looptck.suite.evidence import Evidence, call_lines, tokens
from looptck.suite.model import Finding, JsonValue, Test, equal

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from looptck.contract.ag03 import ToolDefinition
    from looptck.observation import EventSeen
    from looptck.suite.labels import Labels

QUESTION = Said(content="What is the weather in Paris?")
WEATHER = Call(id="call_1", name="get_weather", arguments='{"city":"Paris"}', answer="sunny, 21 C")
HAND = (
    Turn(calls=(WEATHER,), usage=Tokens(input=10, output=5)),
    Turn(text=("It ", "is ", "sunny."), usage=Tokens(input=20, output=4)),
)


def scenarios(labels: Labels) -> tuple[Scenario, ...]:
    """The example of section 3, a twin with other values, and longer runs."""
    hand = Invocation(messages=(QUESTION,), turns=HAND)
    twin = Invocation(messages=(Said(content=labels.text()),), turns=_twin(labels))
    return (
        Scenario(name="hand", invocations=(hand,)),
        Scenario(name="hand-read", invocations=(hand.model_copy(update={"read": "all"}),)),
        Scenario(name="twin", invocations=(twin,)),
        Scenario(name="twin-read", invocations=(twin.model_copy(update={"read": "all"}),)),
        _three_turns(labels),
        Scenario(
            name="empty-reply",
            invocations=(Invocation(messages=(Said(content=labels.text()),), turns=(Turn(), Turn(text=("more",)))),),
        ),
        *odd_scenarios.scenarios(labels),
    )


def _twin(labels: Labels) -> tuple[Turn, Turn]:
    answer = f" {labels.text()}\n"  # white space around it is part of a result
    call = Call(id=labels.call_id(), name=labels.tool(), arguments=labels.arguments(), answer=answer)
    spent = [Tokens(input=labels.number(30, 90), output=labels.number(3, 29)) for _ in range(2)]
    return Turn(calls=(call,), usage=spent[0]), Turn(text=labels.pieces(), usage=spent[1])


def _three_turns(labels: Labels) -> Scenario:
    """Text beside calls, calls in interleaved fragments, an early usage, options: all at once, over three replies."""
    names = labels.tools(3)
    calls = [Call(id=labels.call_id(), name=name, arguments=labels.arguments(), answer=labels.text()) for name in names]
    spent = [Tokens(input=labels.number(30, 90), output=labels.number(3, 29)) for _ in range(3)]
    early = Tokens(input=labels.number(1, 20), output=0)
    return Scenario(
        name="three-turns",
        options=Options(call_options={"temperature": 0, "seed": labels.number(1, 999)}),
        invocations=(
            Invocation(
                messages=(Said(content=labels.text()),),
                turns=(
                    Turn(text=labels.pieces(), calls=(calls[0], calls[1]), fragments=3, usage=spent[0]),
                    Turn(calls=(calls[2],), early_usage=early, usage=spent[1]),
                    Turn(text=labels.pieces(), early_usage=early, usage=spent[2]),
                ),
            ),
        ),
    )


TEST = Test("TestHandExample", "3", scenarios)


@TEST.check("hand/answer", "loop-ends-without-calls", "hand", "twin", "three-turns")
def answer(e: Evidence) -> Finding:
    """The result is the first reply that proposes no call."""
    message = e.invocation().message
    return equal(e.shown([e.reply(-1)]), e.shown([message]) if message is not None else e.ending())


@TEST.check("hand/model-calls", "loop-repeats", "hand", "twin", "three-turns")
def model_calls(e: Evidence) -> Finding:
    """The model is asked once for each turn, and not again after its answer."""
    return equal(len(e.asked().turns), len(e.requests()))


@TEST.check("hand/tool-runs", "loop-runs-calls", "hand", "twin")
def tool_runs(e: Evidence) -> Finding:
    """The proposed call runs once, with the arguments that the model wrote."""
    return equal(call_lines(e.reply(0).tool_calls), call_lines([run.call for run in e.runs()]))


@TEST.check("hand/arguments-verbatim", "arguments-verbatim", "twin", "three-turns")
def arguments_verbatim(e: Evidence) -> Finding:
    """Arguments reach the tools, and the next model call, letter by letter as the model wrote them."""
    turns = e.asked().turns[:-1]
    written = {call.id: call.arguments for turn in turns for call in turn.calls}
    sent = {call.id: call.arguments for r in e.requests() for m in r.messages for call in m.tool_calls}
    expected = {"tools": written, "model": written}
    return equal(expected, {"tools": {run.call.id: run.call.arguments for run in e.runs()}, "model": sent})


@TEST.check("hand/fragments", "loop-runs-calls", "three-turns")
def fragments(e: Evidence) -> Finding:
    """Calls whose fragments arrive interleaved, with id and name last, run whole."""
    proposed = [*e.reply(0).tool_calls, *e.reply(1).tool_calls]
    return equal(sorted(call_lines(proposed)), sorted(call_lines([run.call for run in e.runs()])))


@TEST.check("hand/usage", "usage-is-summed", "hand", "twin")
def usage(e: Evidence) -> Finding:
    """Usage is the sum over both model calls."""
    return equal(tokens(e.spent(2)), tokens(e.invocation().usage))


@TEST.check("hand/usage-of-three", "usage-last-report-counts", "three-turns")
def usage_of_three(e: Evidence) -> Finding:
    """Usage is the sum over three model calls, of each call the total that was reported last."""
    return equal(tokens(e.spent(3)), tokens(e.invocation().usage))


@TEST.check("hand/transcript", "transcript-appends", "hand", "twin")
def transcript(e: Evidence) -> Finding:
    """The transcript is the question, the proposing turn, the tool message that answers its call, the answer."""
    return equal(e.shown(e.transcript(2)), e.shown(e.invocation().transcript))


@TEST.check("hand/second-request", "requests-carry-messages", "hand", "twin")
def second_request(e: Evidence) -> Finding:
    """The second model call sees the question, the proposing turn and the tool message."""
    seen = e.shown(e.requests()[1].messages) if len(e.requests()) > 1 else None
    return equal(e.shown(e.transcript(1)), seen)


@TEST.check("hand/every-request", "requests-carry-messages", "three-turns")
def every_request(e: Evidence) -> Finding:
    """Each model call sees everything before it and nothing else."""
    return equal([e.shown(e.transcript(n)) for n in range(3)], [e.shown(r.messages) for r in e.requests()])


@TEST.check("hand/text-beside-calls", "transcript-appends", "three-turns")
def text_beside_calls(e: Evidence) -> Finding:
    """Text that stands beside calls stays in the proposing turn."""
    return equal(e.shown(e.transcript(3)), e.shown(e.invocation().transcript))


@TEST.check("hand/empty-reply", "loop-ends-without-calls", "empty-reply")
def empty_reply(e: Evidence) -> Finding:
    """A reply without text and without calls is the answer: an empty one."""
    message = e.invocation().message
    seen = {"model calls": len(e.requests()), "answer": None if message is None else message.content}
    return equal({"model calls": 1, "answer": ""}, seen)


@TEST.check("hand/tool-definitions", "definitions-every-call", "hand", "three-turns")
def tool_definitions(e: Evidence) -> Finding:
    """Every model call is given the definitions of the tools, whole and each of them once, in whatever order."""
    known = map(definition, {call.name for call in e.scenario.calls()})
    expected = [_by_name(known)] * max(len(e.requests()), 1)
    return equal(expected, [_by_name(r.tools) for r in e.requests()])


def _by_name(tools: Iterable[ToolDefinition]) -> list[JsonValue]:
    return [asdict(tool) for tool in sorted(tools, key=lambda tool: tool.name)]


@TEST.check("hand/call-options", "options-every-call", "three-turns")
def call_options(e: Evidence) -> Finding:
    """Every model call is given the agent's call options."""
    expected = [e.scenario.options.call_options] * max(len(e.requests()), 1)
    return equal(expected, [dict(r.options) for r in e.requests()])


@TEST.check("hand/events", "events-in-order", "hand-read", "twin-read")
def events(e: Evidence) -> Finding:
    """The events are: usage, the tool call, its result, each piece of text, usage, done."""
    first, second = e.asked().turns
    expected = [
        Event("usage", 1, usage=e.spent(1)),
        Event("tool_call", 1, call=first.calls[0].call()),
        Event("tool_result", 1, call=first.calls[0].call(), result=first.calls[0].result()),
        *(Event("text", 2, text=piece) for piece in second.text),
        Event("usage", 2, usage=second.usage.usage() if second.usage else None),
        Event("done", 2),
    ]
    return equal([_shown(normal.event(event)) for event in expected], [_shown(s) for s in e.invocation().events])


@TEST.check("hand/event-iters", "events-carry-iter", "hand-read", "twin-read")
def event_iters(e: Evidence) -> Finding:
    """Each event carries the number of its iteration, counted from 1; which events there are is asked elsewhere."""
    seen = [event for event in e.invocation().events if event.kind != "done"]
    expected = [f"{event.kind} {_iteration(seen, place)}" for place, event in enumerate(seen)]
    return equal(expected or ["events"], [f"{event.kind} {event.iter}" for event in seen])


def _iteration(events: Sequence[EventSeen], place: int) -> int:
    """The iteration of an event in a run of one call and an answer: as it says where nothing around it says more.

    How often a loop tells the usage is asked elsewhere: behind text it is that of the second reply, before anything of
    the call that of the first.
    """
    event = events[place]
    known = {"tool_call": 1, "tool_result": 1, "text": 2}
    if event.kind != "usage":
        return known.get(event.kind, event.iter)
    low = 2 if any(other.kind == "text" for other in events[:place]) else 1
    high = 1 if any(other.kind in {"tool_call", "tool_result"} for other in events[place:]) else 2
    return min(max(event.iter, low), high)


@TEST.check("hand/input-untouched", "input-untouched", "hand", "twin")
def input_untouched(e: Evidence) -> Finding:
    """The list of messages that the caller passed is as it was."""
    return equal(expected=True, seen=e.invocation().input_untouched)


def _shown(event: EventSeen) -> str:
    """What an event says, without what the specification leaves open."""
    if event.kind == "text":
        return f"text {event.text!r}"
    if event.kind == "usage":
        return f"usage {tokens(event.usage)}"
    if event.kind == "tool_call":
        return f"tool_call {call_lines([event.call])[0] if event.call else None}"
    if event.kind == "tool_result":
        return (
            f"tool_result {event.call.id if event.call else None}: {event.result.content if event.result else None!r}"
        )
    return event.kind
