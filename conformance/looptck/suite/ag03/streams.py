"""TestEventsOptional: events may stay unread; runs are independent; a run can be cancelled (section 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from looptck.scenario import Call, Invocation, Options, Said, Scenario, Tokens, Turn
from looptck.suite.evidence import Evidence, tokens
from looptck.suite.model import Finding, Test, equal, one_of
from looptck_fakes import ModelAsked

if TYPE_CHECKING:
    from looptck.suite.labels import Labels

MANY, SOME = 2_000, 300


def scenarios(labels: Labels) -> tuple[Scenario, ...]:
    """2,000 events unread, abandoned and read; two runs at once and one after the other; cancelled runs."""
    text = tuple(f"{number} " for number in range(MANY))
    long = Invocation(messages=(Said(content=labels.text()),), turns=(Turn(text=text, usage=_spent(labels)),))
    some = long.model_copy(update={"turns": (Turn(text=text[:SOME], usage=_spent(labels)),)})
    tools = _tool_run(labels)
    held = tools.model_copy(update={"turns": (tools.turns[0].model_copy(update={"hold": True}), *tools.turns[1:])})
    return (
        Scenario(name="unread", invocations=(long,)),
        Scenario(name="abandoned", invocations=(some.model_copy(update={"read": 1}),)),
        Scenario(name="abandoned-tools", invocations=(tools.model_copy(update={"read": 1}),)),
        Scenario(name="read", invocations=(some.model_copy(update={"read": "all"}),)),
        Scenario(
            name="failing-read",
            options=Options(max_iter=1),
            invocations=(tools.model_copy(update={"read": "all"}),),
        ),
        Scenario(
            name="at-once",
            invocations=(
                tools.model_copy(update={"read": "all"}),
                _tool_run(labels).model_copy(update={"read": "all", "alongside": True}),
            ),
        ),
        Scenario(
            name="one-after-other",
            invocations=(tools, _tool_run(labels).model_copy(update={"reuse_agent": True})),
        ),
        Scenario(name="asked-twice", invocations=(tools.model_copy(update={"result_twice": True}),)),
        Scenario(name="cancelled-in-tools", invocations=(tools.model_copy(update={"cancel": "tools"}),)),
        Scenario(name="cancelled-in-reply", invocations=(held.model_copy(update={"cancel": "stream"}),)),
    )


def _tool_run(labels: Labels) -> Invocation:
    calls = tuple(
        Call(id=labels.call_id(), name=name, arguments=labels.arguments(), answer=labels.text())
        for name in labels.tools(3)
    )
    return Invocation(
        messages=(Said(content=labels.text()),),
        turns=(
            Turn(text=labels.pieces(), calls=calls, usage=_spent(labels)),
            Turn(text=labels.pieces(), usage=_spent(labels)),
        ),
    )


def _spent(labels: Labels) -> Tokens:
    return Tokens(input=labels.number(30, 90), output=labels.number(3, 29))


TEST = Test("TestEventsOptional", "4", scenarios)


@TEST.check("events/unread", "events-optional", "unread")
def unread(e: Evidence) -> Finding:
    """The result of a run of 2,000 events arrives although nobody reads them."""
    return equal({"answer": len(e.reply(0).content)}, _answer(e))


@TEST.check("events/abandoned", "events-optional", "abandoned", "abandoned-tools")
def abandoned(e: Evidence) -> Finding:
    """The result arrives after the iterator of the events was left behind its first one."""
    return equal({"read": 1, "answer": len(e.reply(-1).content)}, {"read": len(e.invocation().events)} | _answer(e))


def _answer(e: Evidence) -> dict[str, object]:
    message = e.invocation().message
    return {"answer": len(message.content) if message is not None else e.ending()}


@TEST.check("events/complete", "events-in-order", "read")
def complete(e: Evidence) -> Finding:
    """Whoever reads gets every piece of the text, in order."""
    seen = [event.text for event in e.events("text")]
    wanted = list(e.asked().turns[0].text)
    same = next((n for n, (a, b) in enumerate(zip(wanted, seen, strict=False)) if a != b), min(len(wanted), len(seen)))
    return equal({"pieces": SOME, "same up to": SOME}, {"pieces": len(seen), "same up to": same})


@TEST.check("events/every-call", "events-in-order", "failing-read")
def every_call(e: Evidence) -> Finding:
    """Each call of a turn has its tool_call event and then its tool_result, both behind the usage of its model call."""
    calls = e.asked().turns[0].calls
    expected = {call.id: ["usage", "tool_call", f"tool_result {call.answer}"] for call in calls}
    seen: dict[str, list[str]] = {call.id: [] for call in calls}
    first_usage = next(iter(e.events("usage")), None)
    for event in e.invocation().events:
        if event is first_usage:
            for shown in seen.values():
                shown.append("usage")
        elif event.call is not None and event.call.id in seen:
            text = f" {event.result.content}" if event.result is not None else ""
            seen[event.call.id].append(event.kind + text)
    return equal(expected, seen)


@TEST.check("events/closed", "events-closed", "read", "failing-read")
def closed(e: Evidence) -> Finding:
    """The events end when the run does, with an answer or with an error."""
    return equal({"events ended": True}, {"events ended": e.invocation().events_ended})


@TEST.check("events/result-after-reading", "result-whoever-reads", "read", "failing-read")
def result_after_reading(e: Evidence) -> Finding:
    """Whoever has read the events gets the result of the run as well."""
    if e.scenario.name == "read":
        return equal("answered", e.ending())
    return one_of(e.ending(), "max_iter", "answered")  # a cap that is counted wrongly is judged elsewhere


def _whole_run(e: Evidence, place: int) -> dict[str, object]:
    seen = e.invocation(place)
    return {
        "answer": e.shown([seen.message]) if seen.message is not None else e.ending(place),
        "transcript": e.shown(seen.transcript),
        "usage": tokens(seen.usage),
    }


def _right_run(e: Evidence, place: int) -> dict[str, object]:
    return {
        "answer": e.shown([e.reply(-1, place)]),
        "transcript": e.shown(e.transcript(2, place)),
        "usage": tokens(e.spent(2, place)),
    }


@TEST.check("runs/at-once", "runs-independent", "at-once")
def at_once(e: Evidence) -> Finding:
    """Two runs of one agent at once have their own answer, transcript and usage."""
    return equal([_right_run(e, place) for place in (0, 1)], [_whole_run(e, place) for place in (0, 1)])


@TEST.check("runs/events-apart", "runs-independent", "at-once")
def events_apart(e: Evidence) -> Finding:
    """Each of two runs at once has only its own events."""
    expected = [[piece for turn in e.asked(place).turns for piece in turn.text] for place in (0, 1)]
    return equal(expected, [[event.text for event in e.events("text", place)] for place in (0, 1)])


@TEST.check("runs/one-after-other", "runs-start-fresh", "one-after-other")
def one_after_other(e: Evidence) -> Finding:
    """The next run of an agent starts with its input alone and with no usage."""
    return equal([_right_run(e, place) for place in (0, 1)], [_whole_run(e, place) for place in (0, 1)])


@TEST.check("runs/result-twice", "result-repeatable", "asked-twice")
def result_twice(e: Evidence) -> Finding:
    """The result may be awaited again and is the same."""
    return equal("same", e.invocation().again)


CANCELLED = ("cancelled-in-tools", "cancelled-in-reply")


@TEST.check("cancel/ends-run", "cancel-ends-run", *CANCELLED)
def ends_run(e: Evidence) -> Finding:
    """Cancelling whoever awaits the result ends the run: the model is not asked again."""
    seen = {"ended": e.ending(), "model calls": len(e.requests())}
    return equal({"ended": "cancelled", "model calls": 1}, seen)


@TEST.check("cancel/no-tool-left", "cancel-no-tool-left", "cancelled-in-tools")
def no_tool_left(e: Evidence) -> Finding:
    """When the cancelled run has ended no tool of it is running any more."""
    seen = {"tools ran": bool(e.runs()), "left": e.invocation().in_flight_at_end}
    return equal({"tools ran": True, "left": 0}, seen)


@TEST.check("cancel/no-task-left", "no-task-left", *CANCELLED, "abandoned", "at-once")
def no_task_left(e: Evidence) -> Finding:
    """No task of the loop outlives its run."""
    asked = any(isinstance(record, ModelAsked) for record in e.observation.records)
    return equal({"ran": True, "left": []}, {"ran": asked, "left": list(e.observation.leftovers)})


@TEST.check("cancel/no-open-call", "cancel-no-open-call", *CANCELLED)
def no_open_call(e: Evidence) -> Finding:
    """The transcript of a cancelled run has no call without an answer: it can be sent to a model as it is."""
    seen = e.invocation().transcript
    if seen is None:
        return equal("a transcript", None)
    answered = {message.tool_call_id for message in seen if message.role == "tool"}
    open_calls = [call.id for message in seen for call in message.tool_calls if call.id not in answered]
    return one_of({"input kept": bool(seen), "open": open_calls}, {"input kept": True, "open": []})
