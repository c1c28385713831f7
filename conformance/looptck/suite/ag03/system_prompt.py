"""TestSystemPrompt: the system prompt comes first, once (section 2.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from looptck.scenario import Call, Invocation, Options, Said, Scenario, Turn
from looptck.suite.evidence import Evidence
from looptck.suite.model import Finding, Test, equal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from looptck.contract.ag03 import Message
    from looptck.suite.labels import Labels


def scenarios(labels: Labels) -> tuple[Scenario, ...]:
    """Inputs without a system message, with one that leads, with one further on; a resumed run; no prompt at all."""
    options = Options(system=labels.text())
    call = Call(id=labels.call_id(), name=labels.tool(), arguments=labels.arguments(), answer=labels.text())
    turns = (Turn(calls=(call,)), Turn(text=labels.pieces()))
    user, own = Said(content=labels.text()), Said(role="system", content=labels.text())
    answered = Invocation(messages=(user,), turns=turns)
    return (
        Scenario(name="prompted", options=options, invocations=(answered,)),
        Scenario(name="led", options=options, invocations=(Invocation(messages=(own, user), turns=turns),)),
        Scenario(name="late", options=options, invocations=(Invocation(messages=(user, own, user), turns=turns),)),
        Scenario(name="unprompted", invocations=(answered,)),
        Scenario(
            name="resumed",
            options=options,
            invocations=(
                answered,
                Invocation(continues=0, messages=(Said(content=labels.text()),), turns=(Turn(text=labels.pieces()),)),
            ),
        ),
    )


TEST = Test("TestSystemPrompt", "2.1", scenarios)


@TEST.check("system/first", "system-prompt-first", "prompted")
def first(e: Evidence) -> Finding:
    """The first model call sees the system prompt before the input."""
    return equal(e.shown(e.transcript(0)), e.shown(e.requests()[0].messages) if e.requests() else None)


@TEST.check("system/every-request", "system-prompt-first", "prompted", "led")
def every_request(e: Evidence) -> Finding:
    """Every model call sees one system message, at the head."""
    places = [[n for n, m in enumerate(r.messages) if m.role == "system"] for r in e.requests()]
    return equal([[0], [0]], places)


@TEST.check("system/transcript", "system-prompt-first", "prompted")
def transcript(e: Evidence) -> Finding:
    """The transcript starts with the system prompt."""
    return equal(e.shown(e.transcript(2)), e.shown(e.invocation().transcript))


@TEST.check("system/own-kept", "system-prompt-once", "led")
def own_kept(e: Evidence) -> Finding:
    """An input that starts with a system message gets no second one."""
    return equal([_systems(e.transcript(n)) for n in range(2)], [_systems(r.messages) for r in e.requests()])


@TEST.check("system/late", "system-prompt-late", "late")
def late(e: Evidence) -> Finding:
    """An input with a system message further on does not start with one: the prompt is added."""
    return equal(e.shown(e.transcript(0)), e.shown(e.requests()[0].messages) if e.requests() else None)


@TEST.check("system/none", "system-prompt-none", "unprompted")
def none(e: Evidence) -> Finding:
    """Without a system prompt no system message is added."""
    return equal([[], []], [_systems(r.messages) for r in e.requests()])


@TEST.check("system/resumed", "system-prompt-once", "resumed")
def resumed(e: Evidence) -> Finding:
    """A transcript of an earlier run, which starts with the prompt, does not get it again."""
    return equal(_systems(e.transcript(0)), _systems(e.requests(1)[0].messages) if e.requests(1) else None)


def _systems(messages: Sequence[Message]) -> list[str]:
    """The system messages, with their places."""
    return [f"{place}: {m.content}" for place, m in enumerate(messages) if m.role == "system"]
