"""TestStepRunnerNames: what the step runner is asked to run, and a run replayed from its journal (2.6)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from looptck.contract.ag03 import llm_step, tool_step
from looptck.scenario import Call, Invocation, Said, Scenario, Tokens, Turn
from looptck.suite.evidence import Evidence, tokens
from looptck.suite.model import Finding, Test, equal, one_of

if TYPE_CHECKING:
    from looptck.suite.labels import Labels


def scenarios(labels: Labels) -> tuple[Scenario, ...]:
    """A run of three turns, the same replayed, a denied call first in its turn, resumed turns, an answered input."""
    tool = labels.tool()
    turns = (
        _turn(labels, _call(labels, tool), _call(labels, tool), _call(labels)),
        _turn(labels, _call(labels)),
        Turn(text=labels.pieces(), usage=Tokens(input=labels.number(5, 50), output=labels.number(1, 9))),
    )
    question = Said(content=labels.text())
    recorded = Invocation(messages=(question,), turns=turns, runner="record")
    denied = _call(labels).model_copy(update={"verdict": "deny", "reason": labels.text()})
    waiting = _call(labels).model_copy(update={"verdict": "need_approval", "marker": labels.marker()})
    answer = Turn(text=labels.pieces())
    denied_first = recorded.model_copy(update={"turns": (_turn(labels, denied, _call(labels)), answer)})
    resumed = Invocation(continues=0, approvals=(waiting.marker,), turns=(answer,), runner="record")
    return (
        Scenario(name="recorded", invocations=(recorded,)),
        Scenario(name="replayed", invocations=(recorded, recorded.model_copy(update={"runner": "replay"}))),
        Scenario(name="denied-first", gate=True, invocations=(denied_first,)),
        Scenario(
            name="resumed-same-tool",
            gate=True,
            invocations=(
                recorded.model_copy(update={"turns": (_turn(labels, waiting),)}),
                resumed.model_copy(update={"turns": (_turn(labels, _call(labels, waiting.name)), answer)}),
            ),
        ),
        Scenario(
            name="resumed",
            gate=True,
            invocations=(
                recorded.model_copy(update={"turns": (turns[1], _turn(labels, waiting, _call(labels)))}),
                resumed.model_copy(update={"read": "all"}),
            ),
        ),
        Scenario(name="answered-input", invocations=(_after_answered_turns(labels),)),
    )


def _after_answered_turns(labels: Labels) -> Invocation:
    """A run whose input ends with two turns that are answered."""
    earlier = [_call(labels), _call(labels)]
    said = [Said(content=labels.text())]
    for call in earlier:
        said += [Said(role="assistant", calls=(call,)), Said(role="tool", content=call.answer, tool_call_id=call.id)]
    turns = (_turn(labels, _call(labels)), Turn(text=labels.pieces()))
    return Invocation(messages=tuple(said), turns=turns, runner="record")


def _call(labels: Labels, name: str = "") -> Call:
    return Call(id=labels.call_id(), name=name or labels.tool(), arguments=labels.arguments(), answer=labels.text())


def _turn(labels: Labels, *calls: Call) -> Turn:
    return Turn(calls=calls, usage=Tokens(input=labels.number(5, 50), output=labels.number(1, 9)))


TEST = Test("TestStepRunnerNames", "2.6", scenarios)


@TEST.check("steps/names", "step-names", "recorded")
def names(e: Evidence) -> Finding:
    """Model calls run as llm/<iter>, tool calls as tool/<iter>/<i>/<name>, both iter and turns in order."""
    expected = []
    for number, turn in enumerate(e.asked().turns, start=1):
        expected.append([llm_step(number)])
        expected.append(sorted(tool_step(number, index, call.name) for index, call in enumerate(turn.calls)))
    seen, rest = [], [step.name for step in e.steps()]
    for group in expected:  # the calls of one turn may start in any order
        seen.append(sorted(rest[: len(group)]))
        rest = rest[len(group) :]
    return equal(expected, seen + ([rest] if rest else []))


@TEST.check("steps/kinds", "step-kinds", "recorded")
def kinds(e: Evidence) -> Finding:
    """The kind of a model step is llm, that of a tool step tool."""
    wrong = [f"{step.name} is of kind {step.kind}" for step in e.steps() if step.name.split("/")[0] != step.kind]
    return equal({"steps": True, "wrong": []}, {"steps": bool(e.steps()), "wrong": wrong})


@TEST.check("steps/distinct", "step-names-distinct", "recorded", "resumed")
def distinct(e: Evidence) -> Finding:
    """No two steps of a run share a name, also not those of two calls of one tool."""
    place = len(e.scenario.invocations) - 1
    seen = [step.name for step in e.steps(place)]
    twice = sorted({name for name in seen if seen.count(name) > 1})
    return equal({"steps": True, "twice": []}, {"steps": bool(seen), "twice": twice})


@TEST.check("steps/model-inside", "every-call-a-step", "recorded")
def model_inside(e: Evidence) -> Finding:
    """Every model call happens inside an llm step."""
    expected = {"model calls": 3, "outside": []}
    return equal(expected, {"model calls": len(e.requests()), "outside": e.outside_steps("llm")})


@TEST.check("steps/tools-inside", "every-call-a-step", "recorded")
def tools_inside(e: Evidence) -> Finding:
    """Every tool call happens inside a tool step."""
    return equal({"tool runs": 4, "outside": []}, {"tool runs": len(e.runs()), "outside": e.outside_steps("tool")})


@TEST.check("steps/index-after-denial", "step-index-in-turn", "denied-first")
def index_after_denial(e: Evidence) -> Finding:
    """The index is the call's place in its turn, also behind a denied call. A denial may be a step or not."""
    denied, allowed = e.asked().turns[0].calls
    ran, denial = tool_step(1, 1, allowed.name), tool_step(1, 0, denied.name)
    return one_of(sorted(_tool_steps(e)), [ran], sorted([ran, denial]))


@TEST.check("steps/resumed-number", "resumed-turn-number", "resumed")
def resumed_number(e: Evidence) -> Finding:
    """A resumed turn is numbered 1, 0, or by its place in the transcript, and the next model call that or one more."""
    waiting = e.asked(0).turns[1].calls
    seen: dict[str, list[str]] = {"tools": [], "model": []}
    for step in e.steps(1):
        seen["tools" if step.name.startswith("tool/") else "model"].append(step.name)
    choices = [
        {
            "tools": [tool_step(number, index, call.name) for index, call in enumerate(waiting)],
            "model": [llm_step(number + more)],
        }
        for number in (1, 0, 2)
        for more in (1, 0)
    ]
    return one_of({"tools": sorted(seen["tools"], key=_index), "model": seen["model"]}, choices[0], *choices[1:])


@TEST.check("steps/resumed-first", "resumed-turn-number", "resumed-same-tool")
def resumed_first(e: Evidence) -> Finding:
    """A resumed turn that is the first of its transcript is numbered 1 or 0."""
    waiting = e.asked(0).turns[0].calls[0]
    return one_of(_tool_steps(e, 1)[:1], [tool_step(1, 0, waiting.name)], [tool_step(0, 0, waiting.name)])


@TEST.check("steps/answered-input", "iterations-behind-answered-turns", "answered-input")
def answered_input(e: Evidence) -> Finding:
    """Behind an input whose turns are answered, iterations count from one, or by their place in the transcript."""
    name = e.asked().turns[0].calls[0].name
    counted = [[llm_step(first), tool_step(first, 0, name), llm_step(first + 1)] for first in (1, 3)]
    return one_of([step.name for step in e.steps()], *counted)


def _tool_steps(e: Evidence, place: int = 0) -> list[str]:
    """The names that say they are of a tool; of which kind they are is judged elsewhere."""
    return [step.name for step in e.steps(place) if step.name.startswith("tool/")]


def _index(name: str) -> str:
    return name.split("/", 2)[-1]


@TEST.check("steps/resumed-index", "step-index-in-turn", "resumed")
def resumed_index(e: Evidence) -> Finding:
    """The steps of a resumed turn are tool/<some number>/<i>/<name>, with each call's place in the turn."""
    expected = [f"{index}/{call.name}" for index, call in enumerate(e.asked(0).turns[1].calls)]
    return equal(expected, sorted(_index(name) for name in _tool_steps(e, 1)))


@TEST.check("steps/resumed-distinct", "resumed-steps-distinct", "resumed-same-tool")
def resumed_distinct(e: Evidence) -> Finding:
    """No step of a resumed turn shares its name with a step of the turns that follow it."""
    seen = [step.name for step in e.steps(1)]
    twice = sorted({name for name in seen if seen.count(name) > 1})
    return equal({"steps": True, "twice": []}, {"steps": bool(seen), "twice": twice})


@TEST.check("steps/resumed-consistent", "resumed-number-everywhere", "resumed")
def resumed_consistent(e: Evidence) -> Finding:
    """Steps, gate questions and events of a resumed turn carry the same number."""
    in_steps = {name.split("/")[1] for name in _tool_steps(e, 1)}
    asked = {str(question.iter) for question in e.questions(1)}
    shown = {str(event.iter) for event in e.events("tool_result", 1)}
    seen = {"steps": sorted(in_steps), "gate": sorted(asked), "events": sorted(shown)}
    return equal({"steps": sorted(in_steps)[:1], "gate": sorted(in_steps)[:1], "events": sorted(in_steps)[:1]}, seen)


@TEST.check("replay/no-calls", "replay-calls-nothing", "replayed")
def replay_no_calls(e: Evidence) -> Finding:
    """Replayed from a journal the run asks no model and runs no tool, and yet ends with its answer."""
    seen = {"model calls": len(e.requests(1)), "tool runs": len(e.runs(1)), "ended": e.ending(1)}
    return equal({"model calls": 0, "tool runs": 0, "ended": "answered"}, seen)


@TEST.check("replay/same-run", "replay-reproduces", "replayed")
def replay_same_run(e: Evidence) -> Finding:
    """The replayed run has the answer, the transcript and the usage of the recorded one."""
    expected = {
        "answer": e.shown([e.reply(-1)]),
        "transcript": e.shown(e.transcript(3)),
        "usage": tokens(e.spent(3)),
    }
    again = e.invocation(1)
    seen = {
        "answer": e.shown([again.message]) if again.message is not None else None,
        "transcript": e.shown(again.transcript),
        "usage": tokens(again.usage),
    }
    return equal(expected, seen)


@TEST.check("replay/same-steps", "replay-reproduces", "replayed")
def replay_same_steps(e: Evidence) -> Finding:
    """The replayed run asks its runner for the steps of the recorded one."""
    recorded = sorted(step.name for step in e.steps(0))
    return equal(
        {"steps": True, "names": recorded}, {"steps": bool(recorded), "names": sorted(s.name for s in e.steps(1))}
    )
