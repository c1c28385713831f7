"""TestProviderErrorEndsRun: a provider's error ends the run; it never becomes an answer (pitfall 8)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from looptck.scenario import Call, Invocation, Said, Scenario, Tokens, Turn
from looptck.suite.ag03.scripted import ended_by
from looptck.suite.evidence import Evidence, tokens
from looptck.suite.model import Finding, Test, equal, one_of

if TYPE_CHECKING:
    from looptck.suite.labels import Labels


def scenarios(labels: Labels) -> tuple[Scenario, ...]:
    """Errors before, in the middle of and after a reply that proposes calls, and in a later turn."""
    user = Said(content=labels.text())
    calls = tuple(
        Call(id=labels.call_id(), name=name, arguments=labels.arguments(), answer=labels.text())
        for name in labels.tools(2)
    )
    spent = Tokens(input=labels.number(10, 90), output=labels.number(1, 9))
    whole = Turn(text=labels.pieces(), calls=calls, fragments=2, usage=spent)
    failing = {
        at: whole.model_copy(update={"error": labels.text(), "error_at": at}) for at in ("before", "middle", "after")
    }
    answer = Turn(text=labels.pieces())
    return (
        *(
            Scenario(name=at, invocations=(Invocation(messages=(user,), turns=(turn, answer)),))
            for at, turn in failing.items()
        ),
        Scenario(
            name="later",
            invocations=(
                Invocation(
                    messages=(user,),
                    turns=(whole, Turn(text=labels.pieces(), error=labels.text(), error_at="middle"), answer),
                ),
            ),
        ),
    )


TEST = Test("TestProviderErrorEndsRun", "2.6", scenarios)
AT = ("before", "middle", "after")


@TEST.check("provider-error/ends-run", "provider-error-ends-run", *AT, "later")
def ends_run(e: Evidence) -> Finding:
    """The run ends with the provider's error, or with one that has it as its cause; there is no answer."""
    return ended_by(e, "the provider's error")


@TEST.check("provider-error/no-tool-runs", "provider-error-no-tools", *AT)
def no_tool_runs(e: Evidence) -> Finding:
    """No call of a reply that was cut off runs, even one that had arrived whole."""
    return equal({"model asked": True, "tool runs": 0}, {"model asked": bool(e.requests()), "tool runs": len(e.runs())})


@TEST.check("provider-error/not-asked-again", "provider-error-ends-run", *AT, "later")
def not_asked_again(e: Evidence) -> Finding:
    """The model is not asked again: the error ends the run."""
    failing = next(number for number, turn in enumerate(e.asked().turns) if turn.error is not None)
    return equal(failing + 1, len(e.requests()))


@TEST.check("provider-error/no-tool-messages", "provider-error-transcript", *AT)
def no_tool_messages(e: Evidence) -> Finding:
    """The transcript keeps its input and has no tool message without a call that ran."""
    seen = e.invocation().transcript
    if seen is None:
        return equal("a transcript", None)
    roles = [message.role for message in seen]
    return one_of(roles, ["user"], ["user", "assistant"])


@TEST.check("provider-error/earlier-turns-kept", "provider-error-keeps-run", "later")
def earlier_turns_kept(e: Evidence) -> Finding:
    """An error in a later turn leaves the turns before it in transcript and usage."""
    seen = e.invocation()
    kept = {"transcript": e.shown(e.transcript(1)), "usage": tokens(e.spent(1))}
    count = len(e.transcript(1))
    transcript = None if seen.transcript is None else seen.transcript[:count]
    return equal(kept, {"transcript": e.shown(transcript), "usage": tokens(seen.usage)})
