"""The scenarios of TestGateVerdicts: denials, approvals and resumed runs, and what makes a context tainted (2.5)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from looptck.scenario import Call, Invocation, Options, Said, Scenario, Tokens, Turn

if TYPE_CHECKING:
    from looptck.suite.labels import Labels

Verdict = Literal["allow", "deny", "need_approval", "raise"]


def scenarios(labels: Labels) -> tuple[Scenario, ...]:
    """All of them."""
    build = _Builder(labels)
    return (*_verdicts(build), *_approvals(build), *_taint(build), *_rare(build), _long_ago(build))


class _Builder:
    """Builds gated scenarios of seeded calls."""

    def __init__(self, labels: Labels) -> None:
        self.labels = labels

    def scenario(self, name: str, *runs: Invocation, options: Options | None = None) -> Scenario:
        """A scenario with a gate."""
        return Scenario(name=name, gate=True, options=options or Options(), invocations=runs)

    def run(self, *turns: Turn, before: tuple[Said, ...] = (), reuse: bool = False) -> Invocation:
        """A fresh run, after an earlier conversation where one is given."""
        return Invocation(messages=(*before, self.said()), turns=turns, reuse_agent=reuse)

    def resume(self, *approvals: str, given: bool = True) -> Invocation:
        """A run that starts from the transcript of the first, with approvals."""
        return Invocation(continues=0, approvals=approvals if given else None, turns=(self.answer(),))

    def open_turn(self, name: str, options: Options | None = None) -> Scenario:
        """A run without a gate whose input ends with a proposing turn that nobody has answered."""
        proposing = Said(role="assistant", calls=self.turn("allow", "allow", "allow").calls)
        run = Invocation(messages=(self.said(), proposing), turns=(self.answer(),))
        return Scenario(name=name, finish="last", options=options or Options(max_parallel_tools=2), invocations=(run,))

    def answered_turn(self, name: str) -> Scenario:
        """A run whose input ends with a turn that is answered: nothing of it is open."""
        call = self.call()
        before = (self.said(), Said(role="assistant", calls=(call,)))
        run = Invocation(
            messages=(*before, Said(role="tool", content=call.answer, tool_call_id=call.id)), turns=(self.answer(),)
        )
        return Scenario(name=name, invocations=(run,))

    def said(self) -> Said:
        """A user message."""
        return Said(content=self.labels.text())

    def paid_turn(self, *verdicts: Verdict) -> Turn:
        """A reply with a call for each verdict, and its usage."""
        spent = Tokens(input=self.labels.number(30, 90), output=self.labels.number(3, 29))
        return self.turn(*verdicts).model_copy(update={"usage": spent})

    def answer(self) -> Turn:
        """A reply without calls."""
        return Turn(text=self.labels.pieces())

    def turn(self, *verdicts: Verdict) -> Turn:
        """A reply with a call for each verdict."""
        return Turn(calls=tuple(self.call(verdict) for verdict in verdicts))

    def one_tool(self, *verdicts: Verdict) -> Turn:
        """A reply with a call of the same tool for each verdict."""
        calls = self.turn(*verdicts).calls
        return Turn(calls=tuple(call.model_copy(update={"name": calls[0].name}) for call in calls))

    def call(self, verdict: Verdict = "allow") -> Call:
        """A call that the gate gives this verdict."""
        labels = self.labels
        return Call(
            id=labels.call_id(),
            name=labels.tool(),
            arguments=labels.arguments(),
            answer=labels.text(),
            verdict=verdict,
            reason=labels.text() if verdict != "allow" else "",
            marker=labels.marker() if verdict == "need_approval" else "",
        )


def _verdicts(build: _Builder) -> tuple[Scenario, ...]:
    return (
        build.scenario(
            "allowed", build.run(build.turn("allow", "allow", "allow"), build.turn("allow"), build.answer())
        ),
        build.scenario("denied", build.run(build.one_tool("deny", "allow", "deny"), build.answer())),
        build.scenario("denied-read", _read(build.run(build.turn("deny", "allow"), build.answer()))),
        build.scenario("all-denied", build.run(build.turn("deny"), build.answer())),
        build.scenario("gate-raises", build.run(build.turn("raise"), build.answer())),
        build.scenario(
            "allowed-over-budget",
            build.run(build.turn("allow", "allow", "allow"), build.answer()),
            options=Options(max_tool_calls=2),
        ),
    )


def _read(run: Invocation) -> Invocation:
    return run.model_copy(update={"read": "all"})


def _approvals(build: _Builder) -> tuple[Scenario, ...]:
    mixed = build.turn("need_approval", "allow", "need_approval")
    first = build.run(mixed, build.answer())
    markers = [call.marker for call in mixed.calls if call.marker]
    waiting = mixed.calls[0]
    wrong = (waiting.id, waiting.name, waiting.reason, f"tool/1/0/{waiting.name}", build.labels.marker())
    with_denied = build.turn("need_approval", "deny", "allow")
    return (
        build.scenario("approved", first, build.resume(*markers)),
        build.scenario("waiting-paid", build.run(build.paid_turn("need_approval"))),
        build.scenario("unapproved", first, build.resume(given=False)),
        build.scenario("half-approved", first, build.resume(markers[1])),
        build.scenario("other-markers", first, build.resume(*wrong)),
        build.scenario("approved-beside-denied", build.run(with_denied), build.resume(with_denied.calls[0].marker)),
        build.scenario(
            "approved-at-cap", build.run(mixed, build.answer()), build.resume(*markers), options=Options(max_iter=1)
        ),
        build.open_turn("open-turn"),
        build.answered_turn("answered-turn"),
        build.open_turn("open-turn-over-budget", Options(max_tool_calls=2)),
        build.scenario("allowed-before-approval", build.run(build.turn("allow"), mixed), build.resume(*markers)),
        build.scenario("near-markers", first, build.resume(*_near(markers))),
    )


def _rare(build: _Builder) -> tuple[Scenario, ...]:
    waiting = build.turn("need_approval")
    call = build.call()
    said = Said(role="tool", content=call.answer, tool_call_id=call.id)
    answered = (build.said(), Said(role="assistant", calls=(call, call)), said, said)
    return (
        build.scenario("approved-read", build.run(waiting), _read(build.resume(waiting.calls[0].marker))),
        Scenario(name="answered-twice", invocations=(Invocation(messages=answered, turns=(build.answer(),)),)),
    )


def _near(markers: list[str]) -> list[str]:
    """What is almost a marker: cut, prolonged, in capitals, with white space around it, two of them in one."""
    first = markers[0]
    return [first[:-1], first[1:], f"{first}0", first.upper(), f" {first} ", "approve-", "", "*", ",".join(markers)]


def _taint(build: _Builder) -> tuple[Scenario, ...]:
    earlier = build.call()
    poisoned = (
        build.said(),
        Said(role="assistant", calls=(earlier,)),
        Said(role="tool", content=earlier.answer, tool_call_id=earlier.id),
        Said(role="assistant", content=build.labels.text()),
    )
    turns = (build.turn("allow", "allow"), build.turn("allow"), build.answer())
    return (
        build.scenario("tool-output", build.run(*turns)),
        build.scenario("denial-only", build.run(build.turn("deny"), build.turn("allow"), build.answer())),
        build.scenario("tainted-input", build.run(build.turn("allow"), build.answer(), before=poisoned)),
        build.scenario("next-run", build.run(*turns), build.run(build.turn("allow"), build.answer(), reuse=True)),
    )


def _long_ago(build: _Builder) -> Scenario:
    """A tool message behind which there was much talk, so that whoever looks at the end of the messages misses it."""
    earlier = build.call()
    talk = (Said(role="assistant", content=build.labels.text()), build.said())
    before = (
        build.said(),
        Said(role="assistant", calls=(earlier,)),
        Said(role="tool", content=earlier.answer, tool_call_id=earlier.id),
        *talk * 12,
        Said(role="assistant", content=build.labels.text()),
    )
    return build.scenario("tainted-long-ago", build.run(build.turn("allow"), build.answer(), before=before))
