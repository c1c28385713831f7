"""TestStepRunnerErrorEndsRun: a tool that fails is a result; a step that could not run ends the run (section 2.6)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from looptck.contract.ag03 import tool_step
from looptck.scenario import Call, Invocation, Said, Scenario, Tokens, Turn
from looptck.suite.ag03.scripted import ended_by
from looptck.suite.evidence import Evidence, call_lines, tokens
from looptck.suite.model import Finding, Test, equal, one_of

if TYPE_CHECKING:
    from looptck.suite.labels import Labels


def scenarios(labels: Labels) -> tuple[Scenario, ...]:
    """A runner that refuses a tool step, one of two, a model step, a later model step; and tools that fail."""
    one, two = _turn(labels, 1), _turn(labels, 2)
    answer = Turn(text=labels.pieces())
    user = Said(content=labels.text())
    refusals = {
        "tool-refused": ((one, answer), tool_step(1, 0, one.calls[0].name)),
        "sibling-refused": ((two, answer), tool_step(1, 1, two.calls[1].name)),
        "later-tool-refused": ((one, two, answer), tool_step(2, 0, two.calls[0].name)),
        "model-refused": ((one, answer), "llm/1"),
        "later-model-refused": ((one, answer), "llm/2"),
    }
    failing = one.calls[0].model_copy(update={"is_error": True})
    raising = one.calls[0].model_copy(update={"raises": labels.text()})
    return (
        *(
            Scenario(
                name=name,
                invocations=(Invocation(messages=(user,), turns=turns, runner="refuse", refuse=(step,)),),
            )
            for name, (turns, step) in refusals.items()
        ),
        *(
            Scenario(
                name=name,
                invocations=(Invocation(messages=(user,), turns=(Turn(calls=(call, two.calls[0])), answer)),),
            )
            for name, call in (("tool-fails", failing), ("tool-raises", raising))
        ),
    )


def _turn(labels: Labels, calls: int) -> Turn:
    proposed = tuple(
        Call(id=labels.call_id(), name=name, arguments=labels.arguments(), answer=labels.text())
        for name in labels.tools(calls)
    )
    return Turn(calls=proposed, usage=Tokens(input=labels.number(5, 50), output=labels.number(1, 9)))


TEST = Test("TestStepRunnerErrorEndsRun", "2.6", scenarios)

REFUSED_TOOL = ("tool-refused", "sibling-refused", "later-tool-refused")
REFUSED_MODEL = ("model-refused", "later-model-refused")


def _turns_before(e: Evidence) -> int:
    """How many whole turns precede the refused step."""
    return int(e.asked().refuse[0].split("/")[1]) - 1


@TEST.check("step-error/ends-run", "step-error-ends-run", *REFUSED_TOOL, *REFUSED_MODEL)
def ends_run(e: Evidence) -> Finding:
    """An error of the step runner ends the run: with that error, or with one that has it as its cause."""
    return ended_by(e, "the runner's error")


@TEST.check("step-error/model-not-asked", "step-error-not-shown", *REFUSED_TOOL)
def model_not_asked(e: Evidence) -> Finding:
    """The model is not asked again: it never reads of a refused step."""
    return equal(_turns_before(e) + 1, len(e.requests()))


@TEST.check("step-error/nothing-appended", "step-error-nothing-appended", *REFUSED_TOOL)
def nothing_appended(e: Evidence) -> Finding:
    """No tool message of that turn is appended, of its siblings neither; the proposing turn may stand or not."""
    before = e.transcript(_turns_before(e))
    kept = [*before, e.reply(_turns_before(e))]
    return one_of(e.shown(e.invocation().transcript), e.shown(kept), e.shown(before))


@TEST.check("step-error/refused-not-run", "step-error-ends-run", *REFUSED_TOOL)
def refused_not_run(e: Evidence) -> Finding:
    """The call whose step is refused does not run, and the steps before it do."""
    number, index = (int(part) for part in e.asked().refuse[0].split("/")[1:3])
    refused = e.asked().turns[number - 1].calls[index].id
    ran = [run.call.id for run in e.runs()]
    expected = {"refused ran": False, "earlier turns": [c.id for t in e.asked().turns[: number - 1] for c in t.calls]}
    return equal(expected, {"refused ran": refused in ran, "earlier turns": ran[: number - 1]})


@TEST.check("step-error/refused-once", "step-error-ends-run", *REFUSED_TOOL, *REFUSED_MODEL)
def refused_once(e: Evidence) -> Finding:
    """The runner is given a step that it refuses once: the loop does not try it again."""
    refused = e.asked().refuse[0]
    return equal(1, sum(step.name == refused for step in e.steps()))


@TEST.check("step-error/model-step", "step-error-ends-run", *REFUSED_MODEL)
def model_step(e: Evidence) -> Finding:
    """A refused model step ends the run: the model is not reached, and nothing more runs."""
    before = _turns_before(e)
    seen = {"model calls": len(e.requests()), "tool runs": len(e.runs())}
    return equal({"model calls": before, "tool runs": before}, seen)


@TEST.check("step-error/earlier-turns-kept", "step-error-nothing-appended", *REFUSED_MODEL)
def earlier_turns_kept(e: Evidence) -> Finding:
    """After a refused model step the transcript and usage are those of the turns before it."""
    before = _turns_before(e)
    expected = {"transcript": e.shown(e.transcript(before)), "usage": tokens(e.spent(before))}
    seen = e.invocation()
    return equal(expected, {"transcript": e.shown(seen.transcript), "usage": tokens(seen.usage)})


@TEST.check("tool-error/read-by-model", "tool-failure-is-result", "tool-fails")
def read_by_model(e: Evidence) -> Finding:
    """A tool that fails is a result: the model reads its text, bare or behind a prefix, under the call's id."""
    seen = e.shown(e.requests()[1].messages) if len(e.requests()) > 1 else None
    return equal(e.shown(e.transcript(1)), seen)


@TEST.check("tool-error/runs-once", "loop-runs-calls", "tool-fails", "tool-raises")
def runs_once(e: Evidence) -> Finding:
    """A call whose tool fails runs once: that it failed is for the model to read."""
    proposed = sorted(call_lines(e.reply(0).tool_calls))
    return equal(proposed, sorted(call_lines([run.call for run in e.runs()])))


@TEST.check("tool-error/goes-on", "tool-failure-is-result", "tool-fails")
def goes_on(e: Evidence) -> Finding:
    """A failing tool stops neither its siblings nor the run."""
    sibling = e.asked().turns[0].calls[1].id
    seen = {"sibling ran": sibling in [run.call.id for run in e.runs()], "ended": e.ending()}
    return equal({"sibling ran": True, "ended": "answered"}, seen)


@TEST.check("tool-error/raised", "tool-raise-is-result", "tool-raises")
def raised(e: Evidence) -> Finding:
    """Tools that break their promise and raise are no step error: the model reads the text and the run goes on."""
    expected = {"ended": "answered", "transcript": e.shown(e.transcript(2))}
    return equal(expected, {"ended": e.ending(), "transcript": e.shown(e.invocation().transcript)})
